"""Following another backend: counters, the open question, numbers that wait for a yes, and why a conversation was handed over."""

from typing import Any

import pytest

from domain.events import event_from_text
from domain.follow import follow
from domain.handoff_reason import HandoffReason
from domain.session import SessionState
from domain.stages import StageCode
from tests.fakes.values import a_state, a_turn

pytestmark = pytest.mark.unit


def told(session: SessionState, text: str, stage: str, reason: HandoffReason | None = None, **patch: Any) -> SessionState:
    return follow(session, a_turn(text, event_from_text(text)), StageCode(stage), patch, reason)


def test_open_question_follows_stage_and_form():
    session = told(SessionState(), "【会话开始】", "1001")
    assert session.dialogue.pending_question == "READY"
    session = told(session, "准备好了", "1002")
    assert session.dialogue.pending_question == "YWRYSW"
    session = told(session, "没有人受伤，我倒车", "1002", ywrysw=False, sgyy="倒车")
    assert session.dialogue.pending_question == "SFSGXC"
    assert list(session.form) == ["ywrysw", "sgyy"]


def test_no_replies_count_and_a_message_resets_them():
    session = told(a_state(), "【用户无回复】", "1002")
    session = told(session, "【用户连续2次无回复】", "1002")
    assert session.dialogue.no_response_count == 2
    assert told(session, "【用户无回复】", "0004").dialogue.no_response_count == 3
    assert told(session, "在", "1002").dialogue.no_response_count == 0


def test_photo_failures_count_by_step_and_an_advance_forgets_them():
    session = told(a_state(StageCode.SINGLE_FRONT), "【客户端连续2次拍摄识别失败：反光】", "2001")
    session = told(session, "【拍摄识别失败】", "2001")
    assert session.dialogue.photo_failures == {"2001": 3}
    assert told(session, "【拍摄完成】", "2001").dialogue.photo_failures == {"2001": 3}
    after = told(session, "【拍摄完成】", "2002")
    assert after.dialogue.photo_failures == {}
    assert after.dialogue.last_photo_at_ms is not None


def test_the_same_question_again_is_an_unclear_answer_and_progress_forgets_it():
    session = told(told(a_state(ywrysw=False), "好", "1002"), "今天天气不错", "1002")
    assert session.dialogue.clarification_counts == {"SFSGXC": 1}
    assert told(session, "在", "1002", sfsgxc=True).dialogue.clarification_counts == {}


@pytest.mark.parametrize(
    "text, key, value",
    [("11010519491231002x", "sfzmhm1", "11010519491231002X"), ("我的手机138 0013 8000", "sjhm1", "13800138000")],
)
def test_number_said_and_not_stored_waits_for_its_yes(text: str, key: str, value: str):
    filled = {"xm1": "张三", "hpzl1": "02", "hphm1": "京A12345", "sfzmhm1": "x", "sjhm1": "x"}
    session = a_state(StageCode.VERIFY_PARTY_1, **{name: known for name, known in filled.items() if name != key})
    after = told(session, text, "3001")
    assert after.dialogue.candidates == {key: value}
    assert after.dialogue.pending_question == f"CONFIRM_{key[:-1].upper()}_1"
    assert told(after, "对", "3001", **{key: value}).dialogue.candidates == {}
    assert told(session, text, "3001", **{key: value}).dialogue.candidates == {}


def test_leaving_a_party_confirms_its_summary_and_coming_back_withdraws_it():
    session = told(a_state(StageCode.VERIFY_PARTY_1), "都对", "3002")
    assert session.dialogue.confirmed == ("SUMMARY_1",)
    assert session.dialogue.pending_question == "XM_2"
    assert told(session, "我的信息错了", "3001").dialogue.confirmed == ()


@pytest.mark.parametrize(
    "stage, given, stored",
    [
        ("0001", None, HandoffReason.EXPLICIT_REQUEST),
        ("0003", None, HandoffReason.OTHER_COMPLEX),
        ("0003", HandoffReason.INJURY, HandoffReason.INJURY),
        ("0004", None, HandoffReason.NO_RESPONSE),
        ("0000", None, None),
    ],
)
def test_an_end_keeps_its_reason_and_asks_nothing(stage: str, given: HandoffReason | None, stored: HandoffReason | None):
    after = told(a_state().with_dialogue(pending_question="JDCSL"), "x", stage, given)
    assert after.dialogue.handoff_reason is stored
    assert after.dialogue.pending_question is None
    assert told(after, "喂", stage).dialogue.handoff_reason is stored


def test_a_doubt_about_injuries_stays_open_until_it_is_answered():
    session = told(a_state().with_dialogue(pending_question="YWRYSW"), "应该没受伤吧", "1002")
    assert session.dialogue.pending_question == "CONFIRM_INJURY"
    assert told(session, "【用户无回复】", "1002").dialogue.pending_question == "CONFIRM_INJURY"
    assert told(session, "都没有", "1002", ywrysw=False).dialogue.pending_question == "SFSGXC"


def test_what_follows_is_plain_json():
    row = told(a_state(StageCode.VERIFY_PARTY_1), "都对", "3002").as_json()
    assert type(row["dialogue"]["pending_question"]) is str
    assert all(type(one) is str for one in row["dialogue"]["confirmed"])
