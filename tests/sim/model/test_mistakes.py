"""A worse model on purpose: each mistake spoils what it names, at its rate, the same way each time."""

import json
import re
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from sim.chance import rates_from_text
from sim.model.answer import answer_to
from sim.model.mistakes import MISTAKES, Mood
from sim.model.prompt import AgentPrompt
from sim.model.server import Behaviour, ModelServer

pytestmark = pytest.mark.unit

ALLOWED = {"1002": "继续采集", "0001": "人工", "0003": "人伤"}


def said(user: str, asking: str, *mistakes: str, rate: float = 1.0, subject: str = "") -> str:
    prompt = AgentPrompt(user=user, stage="1002", allowed_next=ALLOWED, asking=asking)
    return answer_to(prompt, mood=Mood(rates=dict.fromkeys(mistakes, rate), subject=subject))


def form_of(text: str) -> dict[str, Any]:
    match = re.search(r"<form>(.*)</form>", text)
    return json.loads(match.group(1)) if match else {}


@pytest.mark.parametrize(
    ("mistake", "user", "asking", "sound", "spoiled"),
    [
        ("missed_injury", "对方脖子疼", "YWRYSW", "present", "none"),
        ("wrong_answer_class", "今天天气不错", "YWRYSW", "irrelevant", "refused"),
        ("wrong_field", "追尾", "SGYY", "追尾", "变道"),
        ("wrong_time", "十分钟前", "SGFSSJ", "十分钟前", "三天前"),
        ("wrong_count", "两辆车", "JDCSL", 2, 3),
    ],
)
def test_a_mistake_changes_the_value_it_names(mistake: str, user: str, asking: str, sound: Any, spoiled: Any):
    def values(text: str) -> list[Any]:
        form = form_of(text)
        return [form.get("safety"), form.get("answer"), *form.get("fields", {}).values()]

    assert sound in values(said(user, asking))
    assert spoiled in values(said(user, asking, mistake))
    assert sound not in values(said(user, asking, mistake))


def test_a_missed_wish_for_a_person_leaves_the_stage():
    assert said("转人工", "YWRYSW").startswith("<state>0001</state>")
    assert said("转人工", "YWRYSW", "missed_handoff").startswith("<state>1002</state>")


def test_the_form_of_the_reply_can_be_spoiled_without_its_words():
    assert not said("两辆车", "JDCSL", "bad_prefix").startswith("<state>")
    assert said("两辆车", "JDCSL", "illegal_jump")[7:11] not in ALLOWED
    with pytest.raises(ValueError, match="Expecting"):
        form_of(said("两辆车", "JDCSL", "bad_form"))


def test_the_same_prompt_is_misread_in_the_same_way_and_others_at_the_rate():
    draws = [said("两辆车", "JDCSL", "wrong_count", rate=0.3, subject=str(n)) for n in range(300)]
    assert draws == [said("两辆车", "JDCSL", "wrong_count", rate=0.3, subject=str(n)) for n in range(300)]
    assert 60 < sum('"jdcsl":3' in text for text in draws) < 120


@pytest.mark.parametrize("text", ["nonsense=1", "bad_form=2", "bad_form=x"])
def test_wrong_rates_in_the_environment_are_refused(text: str):
    with pytest.raises(ValueError):
        rates_from_text(text, MISTAKES)


def test_rates_are_read_from_one_line():
    assert rates_from_text("bad_form=0.5, wrong_time", MISTAKES) == {"bad_form": 0.5, "wrong_time": 1.0}
    assert rates_from_text("", MISTAKES) == {}


async def test_rates_can_be_changed_while_it_runs():
    async with TestClient(TestServer(ModelServer(Behaviour(mistakes={"bad_form": 0.2})).app())) as client:
        changed = await client.post("/sim/mistakes", json={"wrong_time": 0.5})
        assert await changed.json() == {"mistakes": {"bad_form": 0.2, "wrong_time": 0.5}}
        for wrong in ({"wrong_time": 7}, {"nothing": 1}, [1]):
            assert (await client.post("/sim/mistakes", json=wrong)).status == 400
