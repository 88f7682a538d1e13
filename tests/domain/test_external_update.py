"""A field written from outside: what it moves, what it drops, and when it is no change at all."""

from typing import Any

import pytest

from domain.external_update import external_update
from domain.fields import FieldError, UnknownField
from domain.handoff_reason import HandoffReason
from domain.policy import CAREFUL, Policy
from domain.session import SessionState
from domain.stages import StageCode
from tests.fakes.values import NOON, a_state

pytestmark = pytest.mark.unit


def test_plate_brings_its_type_and_waits_to_be_read_back():
    after = external_update(a_state(StageCode.SINGLE_PLATE), "hphm1", "粤b·d12345", NOON)
    assert list(after.form.items()) == [("hpzl1", "52"), ("hphm1", "粤BD12345")]
    assert after.dialogue.candidates == {"hphm1": "粤BD12345"}
    assert after.stage is StageCode.SINGLE_PLATE


def test_the_same_value_again_is_the_same_session():
    session = a_state(hphm1="粤BD12345", hpzl1="52")
    assert external_update(session, "hphm1", "粤bd12345", NOON) is session
    assert external_update(session, "xm1", None, NOON) is session


def test_null_clears():
    assert external_update(a_state(xm1="张三"), "xm1", None, NOON).form["xm1"] is None


@pytest.mark.parametrize(
    "key, value, reason",
    [
        ("ywrysw", "true", HandoffReason.INJURY),
        ("ywfjdc", True, HandoffReason.NON_MOTOR),
        ("ywmtc", True, HandoffReason.MOTORCYCLE),
        ("jdcsl", 3, HandoffReason.MULTI_VEHICLE),
        ("jdcsl", 0, HandoffReason.ZERO_VEHICLE),
        ("sfsgxc", False, HandoffReason.NOT_AT_SCENE),
        ("sgfssj", "三天前", HandoffReason.STALE_ACCIDENT),
        ("hphm1", "京A1234警", HandoffReason.SPECIAL_VEHICLE),
        ("hpzl1", "41", HandoffReason.NO_PLATE),
        ("hpzl1", "07", HandoffReason.MOTORCYCLE),
    ],
)
def test_a_fact_that_rules_the_case_out_hands_it_over(key: str, value: Any, reason: HandoffReason):
    after = external_update(a_state(), key, value, NOON)
    assert after.stage is StageCode.HANDOFF_COMPLEX
    assert after.dialogue.handoff_reason is reason
    assert after.dialogue.pending_question is None


def test_an_old_fact_does_not_move_the_session_again():
    session = a_state(sgfssj="2026-07-20 10:00:00")
    assert external_update(session, "xm1", "张三", NOON).stage is StageCode.COLLECTING


def test_an_ended_session_takes_the_value_and_stays():
    session = a_state(StageCode.COMPLETED)
    after = external_update(session, "ywrysw", True, NOON)
    assert after.form == {"ywrysw": True}
    assert after.stage is StageCode.COMPLETED
    assert after.dialogue.handoff_reason is None


def test_what_was_being_dictated_about_the_field_is_dropped():
    session = a_state(StageCode.VERIFY_PARTY_1).with_dialogue(
        pending_question="CONFIRM_SJHM_1",
        partials={"sjhm1": "138", "sfzmhm1": "1101"},
        candidates={"sjhm1": "13800138000"},
        confirmed=("SUMMARY_1",),
        clarification_counts={"SJHM_1": 2, "XM_1": 1},
    )
    dialogue = external_update(session, "sjhm1", "13900139000", NOON).dialogue
    assert dialogue.pending_question is None
    assert dialogue.partials == {"sfzmhm1": "1101"}
    assert dialogue.candidates == {}
    assert dialogue.confirmed == ()
    assert dialogue.clarification_counts == {"XM_1": 1}


def test_another_question_stays_open():
    session = a_state().with_dialogue(pending_question="JDCSL")
    assert external_update(session, "sgyy", "倒车", NOON).dialogue.pending_question == "JDCSL"


@pytest.mark.parametrize(
    "session, key, value, refusal",
    [
        (a_state(), "stage_code", "0000", UnknownField),
        (a_state(), "sfzmhm1", "110105194912310021", FieldError),
        (a_state(sjhm1="13800138000"), "sjhm2", "13800138000", FieldError),
        (a_state(hphm1="粤BD12345", hpzl1="52"), "hpzl1", "02", FieldError),
    ],
)
def test_a_refused_value_raises(session: SessionState, key: str, value: Any, refusal: type[Exception]):
    with pytest.raises(refusal):
        external_update(session, key, value, NOON)


@pytest.mark.parametrize(
    "stored, written, policy, alarms",
    [
        (None, "追尾", CAREFUL, ()),
        (None, "追尾，对方司机昏迷了", CAREFUL, ("INJURY",)),
        ("追尾", "追尾，对方司机昏迷了", CAREFUL, ("INJURY",)),  # the label stays what it was, the danger is new
        ("追尾", "追尾，车头起火", CAREFUL, ("FIRE",)),
        (None, "追尾，双方有争议", CAREFUL, ("DISPUTE",)),
        (None, "追尾，双方有争议", Policy(admits=frozenset({HandoffReason.DISPUTE})), ()),
        (None, "追尾，有争议，有人流血", Policy(admits=frozenset({HandoffReason.DISPUTE})), ("INJURY",)),
    ],
)
def test_a_danger_in_a_written_cause_waits_for_the_next_turn(stored: str | None, written: str, policy: Policy, alarms: tuple[str, ...]):
    session = a_state(sgyy=stored) if stored else a_state()
    after = external_update(session, "sgyy", written, NOON, policy)
    assert after.dialogue.alarms == alarms
    assert after.stage is session.stage


def test_another_wording_takes_no_alarm_back():
    hurt = external_update(a_state(), "sgyy", "追尾，对方司机昏迷了", NOON)
    for written in ("追尾", "倒车", None):
        assert external_update(hurt, "sgyy", written, NOON).dialogue.alarms == ("INJURY",)
