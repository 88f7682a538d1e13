"""A stored state comes back as it was, whatever it holds."""

import json

import orjson
import pytest

from domain.handoff_reason import HandoffReason
from domain.session import Dialogue, SessionState, patch_between
from domain.stages import StageCode

pytestmark = pytest.mark.unit

FULL = Dialogue(
    pending_question="CONFIRM_SJHM_1",
    clarification_counts={"SJHM_1": 2},
    no_response_count=1,
    photo_failures={StageCode.SINGLE_REAR: 2},
    partials={"sfzmhm1": "110105"},
    candidates={"sjhm1": "13800138000"},
    confirmed=("SUMMARY_1",),
    last_photo_at_ms=5,
    handoff_reason=HandoffReason.INJURY,
    secondary_reasons=(HandoffReason.FIRE,),
)


@pytest.mark.parametrize("encode", [json.dumps, lambda row: orjson.dumps(row).decode()])
@pytest.mark.parametrize("dialogue", [Dialogue(), FULL])
def test_a_state_survives_every_json_encoder(dialogue, encode):
    state = SessionState(stage=StageCode.SINGLE_REAR, form={"jdcsl": 1, "xm1": None}, dialogue=dialogue, version=4)
    assert SessionState.from_json(json.loads(encode(state.as_json())), version=4) == state


def test_a_fresh_dialogue_takes_no_room():
    assert Dialogue().as_json() == {}


def test_the_count_of_unusable_outputs_is_not_stored():
    assert Dialogue(invalid_turns=2).as_json() == {}


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({}, {"a": None}, {}),
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": None}, {"a": None}),
        ({}, {"b": 2, "a": False}, {"b": 2, "a": False}),
    ],
)
def test_a_patch_is_what_changed_and_nothing_is_the_same_as_unset(before, after, patch):
    assert patch_between(before, after) == patch
