"""What a photo event may do: one photo, one step; wrong, repeated and misplaced events change nothing and ask again."""

from typing import Any

import pytest

from domain.decision import Decision, decide_event
from domain.questions import QuestionId
from domain.session import Dialogue, SessionState
from domain.stages import STAGES, Phase, StageCode
from domain.transitions import NON_TERMINAL
from domain.turn import InputEvent, NoResponse, PhotoCompleted, PhotoRecognitionFailed, SessionStarted
from tests.fakes.values import NOON, a_state, a_turn

pytestmark = pytest.mark.unit

PHOTOS = [code for code, stage in STAGES.items() if stage.phase in (Phase.SINGLE_VEHICLE_PHOTO, Phase.TWO_VEHICLE_PHOTO)]
NOW_MS = int(NOON.timestamp() * 1000)


def at(stage: StageCode | None, **dialogue: Any) -> SessionState:
    return SessionState(stage=stage, form=a_state(ywrysw=False).form, version=3, dialogue=Dialogue(**dialogue))


def decided(session: SessionState, event: InputEvent, **turn: Any) -> Decision:
    return decide_event(session, a_turn("", event, **turn))


def _onward(stage: StageCode) -> str:
    return "3001" if stage in ("2005", "2016") else str(int(stage) + 1)


@pytest.mark.parametrize("stage", PHOTOS)
@pytest.mark.parametrize("names_its_step", [True, False])
def test_a_photo_goes_one_step_on(stage: StageCode, names_its_step: bool):
    after = decided(at(stage), PhotoCompleted(stage if names_its_step else None))
    assert after.stage == _onward(stage)
    assert after.dialogue.last_photo_at_ms == NOW_MS


@pytest.mark.parametrize("stage", PHOTOS)
@pytest.mark.parametrize("named", PHOTOS)
def test_a_photo_of_another_step_is_not_this_one(stage: StageCode, named: StageCode):
    after = decided(at(stage, photo_failures={stage: 1}), PhotoCompleted(named))
    if named is stage:
        assert after.stage == _onward(stage)
    else:
        assert after.stage is stage
        assert after.dialogue.photo_failures == {stage: 1}
        assert after.notes == ("event_out_of_phase",)


@pytest.mark.parametrize(
    "later_ms, turn, is_duplicate",
    [
        (0, {}, True),
        (1, {}, True),
        (1499, {}, True),
        (1500, {}, False),
        (-1, {}, False),  # the clock was set back: better a photo too many than a caller who is stuck
        (200, {"event_id": "e-2"}, False),
    ],
)
def test_two_taps_of_one_finger_are_one_photo(later_ms: int, turn: dict[str, Any], is_duplicate: bool):
    session = at(StageCode.SINGLE_REAR, last_photo_at_ms=NOW_MS - later_ms, photo_failures={StageCode.SINGLE_REAR: 2})
    after = decided(session, PhotoCompleted(), **turn)
    assert after.stage is (StageCode.SINGLE_REAR if is_duplicate else StageCode.SINGLE_IMPACT)
    if is_duplicate:
        assert after.notes == ("photo_double_tap",)
        assert after.dialogue.last_photo_at_ms == NOW_MS - later_ms, "a burst of taps must not shut the door for ever"
        assert after.dialogue.photo_failures == {StageCode.SINGLE_REAR: 2}


def test_a_second_tap_that_names_the_next_step_is_the_next_photo():
    session = at(StageCode.SINGLE_REAR, last_photo_at_ms=NOW_MS - 100)
    assert decided(session, PhotoCompleted(StageCode.SINGLE_REAR)).stage is StageCode.SINGLE_IMPACT


@pytest.mark.parametrize("stage", [stage for stage in NON_TERMINAL if stage not in PHOTOS])
@pytest.mark.parametrize("event", [PhotoCompleted(), PhotoCompleted(StageCode.SINGLE_FRONT), PhotoRecognitionFailed(3, "模糊")])
def test_photos_outside_their_phase_change_nothing_and_the_question_is_asked_again(stage: StageCode | None, event: InputEvent):
    session = at(stage, pending_question=QuestionId.YWRYSW if stage is StageCode.COLLECTING else None, no_response_count=2)
    after = decided(session, event)
    assert after.stage is (stage or StageCode.NOT_READY)
    assert not after.patch(session)
    assert after.speech
    assert after.dialogue.photo_failures == {}
    if stage is not None:
        assert after.dialogue.no_response_count == 0, "somebody is there"


@pytest.mark.parametrize(
    "before, counts, stage, failures",
    [
        ({}, [None], "2002", 1),
        ({}, [None, None], "2002", 2),
        ({}, [None, None, None], "0005", 3),
        ({}, [2], "2002", 2),
        ({}, [2, None], "0005", 3),
        ({}, [2, 1], "2002", 2),
        ({}, [3], "0005", 3),
        ({}, [99], "0005", 99),
        ({StageCode.SINGLE_FRONT: 2}, [None], "2002", 1),
    ],
)
def test_failures_of_one_step_add_up_to_a_person(before: dict[StageCode, int], counts: list[int | None], stage: str, failures: int):
    session = at(StageCode.SINGLE_REAR, photo_failures=before)
    for count in counts:
        decision = decided(session, PhotoRecognitionFailed(count, "反光"))
        session = decision.after(session)
    assert session.stage == stage
    assert session.dialogue.photo_failures[StageCode.SINGLE_REAR] == failures


def test_a_photo_that_is_taken_forgets_the_failures():
    session = at(StageCode.SINGLE_REAR, photo_failures={StageCode.SINGLE_REAR: 2})
    assert decided(session, PhotoCompleted()).dialogue.photo_failures == {}


@pytest.mark.parametrize(
    "before, counts, stage, silent",
    [(0, [None], "1002", 1), (0, [None] * 3, "0004", 3), (0, [2], "1002", 2), (1, [3], "0004", 3), (0, [1, 1], "1002", 1)],
)
def test_silence_adds_up_to_a_person(before: int, counts: list[int | None], stage: str, silent: int):
    session = at(StageCode.COLLECTING, no_response_count=before, pending_question=QuestionId.YWRYSW)
    for count in counts:
        session = decided(session, NoResponse(count)).after(session)
    assert (session.stage, session.dialogue.no_response_count) == (stage, silent)


@pytest.mark.parametrize("event", [PhotoCompleted(), PhotoRecognitionFailed(9, ""), NoResponse(9), SessionStarted()])
def test_the_first_event_of_a_session_only_greets(event: InputEvent):
    after = decided(at(None), event)
    assert (after.stage, after.dialogue.no_response_count, after.dialogue.photo_failures) == (StageCode.NOT_READY, 0, {})
    assert after.speech[0].key == "greeting"


@pytest.mark.parametrize("stage", NON_TERMINAL)
def test_a_second_start_asks_again(stage: StageCode | None):
    after = decided(at(stage), SessionStarted())
    assert after.stage is (stage or StageCode.NOT_READY)
    assert after.notes == ()


def test_a_named_turn_is_one_with_an_id_of_its_callers():
    assert not a_turn("").is_named
    assert a_turn("", event_id="e-1").is_named
