"""What code reads out of an utterance by itself, and what it leaves for the model or for a question."""

from typing import Any

import pytest

from domain.extraction import extract
from domain.session import SessionState
from domain.stages import StageCode
from tests.fakes.values import NOON, a_state

pytestmark = pytest.mark.unit


def asked(question: str | None, stage: StageCode = StageCode.COLLECTING, **form: Any) -> SessionState:
    return a_state(stage, **form).with_dialogue(pending_question=question)


@pytest.mark.parametrize(
    "question, text, values",
    [
        ("YWRYSW", "没有人受伤，我自己倒车撞到柱子了", {"jdcsl": 1, "sgyy": "倒车"}),
        ("READY", "好了，我跟前面一辆车追尾了，人都没事", {"sgyy": "追尾"}),
        ("SFSGXC", "还在现场，十分钟前发生的", {"sfsgxc": True, "sgfssj": "2026-07-27 15:10:00"}),
        ("SFSGXC", "在的", {"sfsgxc": True}),
        ("SFSGXC", "在现场，就两辆小车，没有电动车摩托车", {"ywfjdc": False, "ywmtc": False, "sfsgxc": True, "jdcsl": 2}),
        ("FJDC_MTC", "都没有", {"ywfjdc": False, "ywmtc": False}),
        ("FJDC_MTC", "没有电动车也没有摩托车", {"ywfjdc": False, "ywmtc": False}),
        ("FJDC_MTC", "没注意有没有电动车", {}),
        (None, "我跟一辆电动车碰了", {"ywfjdc": True}),
        (None, "对方是电动汽车", {}),
        (None, "司机车速太快", {}),
        ("JDCSL", "两", {"jdcsl": 2}),
        ("JDCSL", "就我自己", {"jdcsl": 1}),
        (None, "前面一辆车", {}),
        ("SGFSSJ", "刚刚", {"sgfssj": "2026-07-27 15:20:00"}),
        ("SFSGXC", "刚才我没听清", {}),
        ("SGFSSJ", "前天早上", {}),
        ("BJRJS", "我是司机", {"bjrjs": "当事人"}),
    ],
)
def test_facts_are_read_only_when_they_are_said(question: str | None, text: str, values: dict[str, Any]):
    assert dict(extract(text, asked(question), NOON).values) == values


@pytest.mark.parametrize(
    "text, values",
    [
        ("张三", {"xm1": "张三"}),
        ("李小明。", {"xm1": "李小明"}),
        ("我叫欧阳修", {"xm1": "欧阳修"}),
        ("马上", {}),
        ("好的", {}),
        ("姓王", {}),
        ("什么意思", {}),
    ],
)
def test_bare_name_is_taken_when_it_is_asked(text: str, values: dict[str, Any]):
    assert dict(extract(text, asked("XM_1", StageCode.VERIFY_PARTY_1), NOON).values) == values
    assert "xm1" not in extract(text.replace("我叫", ""), asked("HPHM_1", StageCode.VERIFY_PARTY_1), NOON).values


@pytest.mark.parametrize(
    "text, candidates",
    [
        ("四点", {"sgfssj": "2026-07-27 04:00:00"}),
        ("已经离开了现场", {"sfsgxc": False}),
        ("13800138000", {"sjhm1": "13800138000"}),
    ],
)
def test_what_is_doubtful_waits_for_a_yes(text: str, candidates: dict[str, Any]):
    assert dict(extract(text, asked("SGFSSJ"), NOON).candidates) == candidates


def test_a_time_to_come_is_refused():
    assert extract("明天下午三点", asked("SGFSSJ"), NOON).refusal == "事故发生时间不能晚于当前时间"


def test_a_number_of_the_other_party_is_refused():
    session = asked("HPHM_2", StageCode.VERIFY_PARTY_2, hphm1="京A12345")
    assert extract("京A12345", session, NOON).refusal == "车牌号与另一方相同，请核对"


@pytest.mark.parametrize(
    "known, text, partial, candidate",
    [
        ("", "一一零一零五", "110105", None),
        ("110105", "一九四九一二三一", "11010519491231", None),
        ("11010519491231", "零零二叉", "", "11010519491231002X"),
        ("11010519491231", "0021", "", None),
        ("11010519491231", "00212345", "", None),
    ],
)
def test_identity_number_is_collected_in_pieces(known: str, text: str, partial: str, candidate: str | None):
    session = asked("SFZMHM_1", StageCode.VERIFY_PARTY_1)
    session = session.with_dialogue(partials={"sfzmhm1": known} if known else {})
    found = extract(text, session, NOON)
    assert found.partials == {"sfzmhm1": partial}
    assert found.candidates.get("sfzmhm1") == candidate
    assert (found.refusal is None) == (bool(partial) or candidate is not None)


def test_the_tail_of_a_number_can_be_replaced():
    session = asked("CONFIRM_SJHM_1", StageCode.VERIFY_PARTY_1).with_dialogue(candidates={"sjhm1": "13800138000"})
    assert extract("不对，后面四位是八零零一", session, NOON).candidates == {"sjhm1": "13800138001"}


def test_nothing_is_read_out_of_nothing():
    assert extract("今天天气不错", asked("SFSGXC"), NOON).is_empty
