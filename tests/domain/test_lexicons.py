"""Hazards, wishes for a person, yes and no, ready and not: what the small lexicons say."""

import pytest

from domain.answers import is_correction, is_ready, yes_or_no
from domain.handoff import asks_for_person
from domain.handoff_reason import HandoffReason
from domain.hazards import HAZARDS, hazards
from domain.injury import Verdict
from domain.questions import QuestionId
from domain.safety import detect
from domain.thread_id import thread_id

pytestmark = pytest.mark.unit

INNOCENT = ("没有冒烟", "我没喝酒", "在酒店门口", "没有争议", "还在现场，十分钟前发生的", "把驾驶证和行驶证放好了")
YES = ("对", "没错", "都对", "对，两辆", "是的", "没问题", "没有问题", "嗯嗯", "OK", "👍")
NO = ("不对", "不对，是京A12345", "不是", "错了", "号码有误")
NEITHER = ("138", "张三")
READY = ("好了", "可以了", "准备好了", "嗯嗯搞好咯")
NOT_READY = ("等等", "还没好", "好了，先等一下")


@pytest.mark.parametrize(
    "text, reason",
    [
        ("人没事，对方撞了我就跑了", HandoffReason.HIT_AND_RUN),
        ("对方身上有酒味", HandoffReason.DRUNK_DRIVING),
        ("我喝了点酒", HandoffReason.DRUNK_DRIVING),
        ("前面是辆油罐车，好像漏油了", HandoffReason.HAZMAT),
        ("车头冒烟了", HandoffReason.FIRE),
        ("司机卡住出不来", HandoffReason.ENTRAPMENT),
        ("我没驾照", HandoffReason.NO_LICENCE),
        ("我的车没上牌", HandoffReason.NO_PLATE),
        ("对方不认账，非说是我的责任", HandoffReason.DISPUTE),
        ("他动手打我", HandoffReason.VIOLENCE),
        ("车动不了", HandoffReason.VEHICLE_IMMOBILE),
        ("撞到公交车了", HandoffReason.SPECIAL_VEHICLE),
        ("我没有身份证，只有护照", HandoffReason.NON_ID_DOCUMENT),
        ("我不想活了", HandoffReason.OTHER_COMPLEX),
    ],
)
def test_hazard_is_raised(text: str, reason: HandoffReason):
    assert hazards(text)[reason] is Verdict.PRESENT


@pytest.mark.parametrize("text", INNOCENT)
def test_denied_or_innocent_words_raise_nothing(text: str):
    assert detect(text, None).hazards == {}


def test_doubtful_words_ask_the_question_of_their_hazard():
    assert detect("驾照没带", None).question is QuestionId.CONFIRM_LICENCE
    assert detect("有糊味", None).question is QuestionId.CONFIRM_FIRE


@pytest.mark.parametrize(
    "text, pending, verdict",
    [
        ("没带", "CONFIRM_LICENCE", None),
        ("没有", "CONFIRM_LICENCE", Verdict.PRESENT),
        ("没有", "CONFIRM_FIRE", None),
        ("有", "CONFIRM_FIRE", Verdict.PRESENT),
        ("这个嘛", "CONFIRM_FIRE", Verdict.UNCERTAIN),
    ],
)
def test_answer_to_a_hazards_question_is_a_verdict_on_it(text: str, pending: str, verdict: Verdict | None):
    reason = next(hazard.reason for hazard in HAZARDS if hazard.question == pending)
    assert detect(text, pending).hazards.get(reason) is verdict


@pytest.mark.parametrize("text", ["太麻烦了，转人工", "人工", "帮我接客服", "我要报警", "找个真人", "不想跟机器人说", "叫交警来"])
def test_wish_for_a_person_is_heard(text: str):
    assert asks_for_person(text)


@pytest.mark.parametrize("text", ["不用转人工", "先别转人工", "会转人工吗", "喂", "人都没事", "我自己处理"])
def test_no_wish_is_made_up(text: str):
    assert not asks_for_person(text)


@pytest.mark.parametrize(
    "text, verdict",
    [*((text, True) for text in YES), *((text, False) for text in NO), *((text, None) for text in NEITHER)],
)
def test_yes_or_no(text: str, verdict: bool | None):
    assert yes_or_no(text) is verdict


@pytest.mark.parametrize(
    "text, ready",
    [
        *((text, True) for text in READY),
        *((text, False) for text in NOT_READY),
        ("我都拍完了，直接下一步", None),
        ("我在", None),
    ],
)
def test_ready(text: str, ready: bool | None):
    assert is_ready(text) is ready


def test_correction_takes_something_back():
    assert is_correction("不对，是京A12345")
    assert not is_correction("其实是两辆车")


@pytest.mark.parametrize("one, other", [(("a:b", "c"), ("a", "b:c")), (("a%3Ab", "c"), ("a:b", "c")), (("a", ""), ("", "a"))])
def test_no_two_sessions_share_a_thread(one: tuple[str, str], other: tuple[str, str]):
    assert thread_id(*one) != thread_id(*other)
