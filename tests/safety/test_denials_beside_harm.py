"""Every sentence about somebody who is hurt, beside every kind of denial and harmless remark: no model can clear such a pair."""

from pathlib import Path

import pytest

from domain.injury import Verdict
from domain.safety import detect
from tests.safety.sentences import load

pytestmark = [pytest.mark.unit, pytest.mark.security]

DENIALS = ("没有人受伤", "人都没事", "没有", "都没受伤，就是", "没人受伤，不过", "大家都没事，但是", "没有受伤，只是")
REMARKS = ("车", "我的车", "保险杠", "处理的时候", "报警的时候", "需要处理一下", "刚才", "在路口")
HURT = [sentence.text for name in ("injury", "second", "held_out") for sentence in load(f"{name}.jsonl") if sentence.truth == "hurt"]
# What bodies do, said without a person and without a word for being hurt.
BODIES = (Path(__file__).parent / "bodies.txt").read_text("utf-8").split()


def is_clearable(text: str) -> bool:
    return any(detect(text, pending).is_explained for pending in ("YWRYSW", None))


@pytest.mark.parametrize("denial", DENIALS)
def test_a_denial_does_not_clear_who_is_hurt_in_the_same_breath(denial: str):
    beside = [f"{denial}，{hurt}" for hurt in (*HURT, *BODIES)] + [f"{hurt}，{denial}" for hurt in (*HURT, *BODIES)]
    assert [text for text in beside if is_clearable(text)] == []


@pytest.mark.parametrize("denial", DENIALS[:4])
@pytest.mark.parametrize("remark", REMARKS)
def test_harmless_company_does_not_hide_what_bodies_do(denial: str, remark: str):
    beside = [
        text for body in BODIES for text in (f"{denial}，{remark}{body}", f"{denial}，{remark}，{body}", f"{denial}，{body}，{remark}")
    ]
    assert [text for text in beside if is_clearable(text)] == []


def test_the_denials_alone_are_not_the_reason():
    assert all(detect(denial.split("，")[0], "YWRYSW").injury is Verdict.ABSENT for denial in DENIALS)
