"""Every node by itself, with a scripted model and the in-memory saver; and that a node which is run once more has no second effect."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backends.langgraph.accident import nodes
from backends.langgraph.accident.graph import NODES
from backends.langgraph.accident.nodes.accident_collection import accident_collection
from backends.langgraph.accident.nodes.apply_external_update import apply_external_update
from backends.langgraph.accident.nodes.apply_form_patch import apply_form_patch
from backends.langgraph.accident.nodes.complete import complete
from backends.langgraph.accident.nodes.compose_response import compose_response
from backends.langgraph.accident.nodes.global_handoff_gate import global_handoff_gate
from backends.langgraph.accident.nodes.handoff import handoff
from backends.langgraph.accident.nodes.hydrate_state import hydrate_state
from backends.langgraph.accident.nodes.normalize_input import normalize_input
from backends.langgraph.accident.nodes.party_verification import party_verification
from backends.langgraph.accident.nodes.route_phase import route_phase
from backends.langgraph.accident.nodes.safety_precheck import safety_precheck
from backends.langgraph.accident.nodes.single_vehicle_photo import single_vehicle_photo
from backends.langgraph.accident.nodes.two_vehicle_photo import two_vehicle_photo
from backends.langgraph.accident.nodes.validate_fields import validate_fields
from domain.decision import decide_event
from domain.errors import BackendError, FailureKind
from domain.handoff_reason import HandoffReason
from domain.outcome import FormChanged, StageDecided, TextPiece
from domain.session import SessionState
from domain.stages import StageCode
from domain.turn import SetInfo
from tests.backends.langgraph.one_node import Stage
from tests.fakes.values import a_state, a_turn

pytestmark = pytest.mark.graph

PARTY: dict[str, Any] = {"xm1": "张三", "hpzl1": "02", "hphm1": "京A12345", "sfzmhm1": "11010519491231002X", "sjhm1": "13800138000"}
ASKING = a_state().with_dialogue(pending_question="YWRYSW")
GOOD = '<state>1002</state><form>{"fields":{"sgyy":"倒车"},"safety":"none"}</form>好的，您还在现场吗？'
TALKS: list[tuple[Callable[..., Any], StageCode]] = [
    (accident_collection, StageCode.COLLECTING),
    (single_vehicle_photo, StageCode.SINGLE_FRONT),
    (two_vehicle_photo, StageCode.DOUBLE_FRONT),
    (party_verification, StageCode.VERIFY_PARTY_1),
]


def test_every_file_of_the_nodes_is_a_node_of_the_graph():
    files = {path.stem for path in Path(nodes.__path__[0]).glob("*.py")} - {"__init__"}
    assert files == {node.__name__ for node in NODES}


async def test_normalize_input_forgets_the_turn_before():
    stage = Stage(ASKING, "【拍摄完成】")
    left = await stage.play(
        normalize_input, route="handoff", attempts=2, rejection="guard", missing=["sgyy"], alarms=["injury"], changed=["jdcsl"]
    )
    assert left["turn_id"] == stage.run.turn.turn_id
    assert left["event"] == "photo_completed"
    assert (left["attempts"], left["rejection"], left["missing"], left["alarms"], left["changed"]) == (0, None, [], [], [])


async def test_hydrate_state_overwrites_what_the_checkpoint_held_and_keeps_no_value():
    session = a_state(StageCode.VERIFY_PARTY_1, jdcsl=2, sgyy=None, **PARTY).with_dialogue(
        pending_question="SUMMARY_1", clarification_counts={"XM_1": 1}, no_response_count=1
    )
    left = await Stage(session).play(hydrate_state, stage="1002", version=99, known=["old"], no_response_count=7)
    assert left["stage"] == "3001"
    assert left["version"] == session.version
    assert left["known"] == ["jdcsl", *PARTY]
    assert left["clarification_counts"] == {"XM_1": 1}
    assert left["no_response_count"] == 1
    assert not set(PARTY.values()) & set(map(str, left.values()))


@pytest.mark.parametrize(("text", "wants"), [("转人工", True), ("我要找真人客服", True), ("没有人受伤", False), ("【拍摄完成】", False)])
async def test_global_handoff_gate_hears_the_wish_for_a_person(text: str, wants: bool):
    assert (await Stage(ASKING, text).play(global_handoff_gate))["wants_person"] is wants


async def test_safety_precheck_finds_an_alarm_without_a_model_and_passes_it_on():
    stage = Stage(ASKING, "有人流血了")
    assert (await stage.play(safety_precheck))["alarms"] == [HandoffReason.INJURY]
    assert stage.run.finding.reasons == (HandoffReason.INJURY,)
    assert stage.model.sent == []


async def test_safety_precheck_looks_at_what_people_say_and_not_at_events():
    assert (await Stage(ASKING, "【拍摄完成】").play(safety_precheck))["alarms"] == []


@pytest.mark.parametrize(
    ("session", "text", "route"),
    [
        (SessionState(), "【会话开始】", "accident_collection"),
        (ASKING, "没有", "accident_collection"),
        (a_state(StageCode.SINGLE_FRONT, ywrysw=False), "【拍摄完成】", "single_vehicle_photo"),
        (a_state(StageCode.DOUBLE_FRONT, ywrysw=False), "【拍摄完成】", "two_vehicle_photo"),
        (a_state(StageCode.VERIFY_PARTY_2, ywrysw=False), "张三", "party_verification"),
        (a_state(StageCode.HANDOFF_COMPLEX), "在吗", "handoff"),
        (a_state(StageCode.COMPLETED), "在吗", "complete"),
        (ASKING, "有人流血了", "handoff"),
    ],
)
async def test_route_phase_chooses_by_stage_and_alarm(session: SessionState, text: str, route: str):
    assert (await Stage(session, text).play(safety_precheck, route_phase))["route"] == route


async def test_route_phase_sends_an_outside_write_to_its_own_branch():
    stage = Stage(ASKING, turn=a_turn("", SetInfo("jdcsl", 2)))
    assert (await stage.play(route_phase))["route"] == "apply_external_update"


async def test_route_phase_sends_a_wish_for_a_person_to_handoff():
    assert (await Stage(ASKING, "转人工").play(route_phase, wants_person=True))["route"] == "handoff"


@pytest.mark.parametrize(("node", "code"), TALKS)
async def test_a_phase_settles_an_event_without_the_model(node: Callable[..., Any], code: StageCode):
    stage = Stage(a_state(code, ywrysw=False), "【用户无回复】")
    await stage.play(node)
    assert stage.run.decision is not None
    assert stage.run.model_calls == 0
    assert stage.said == []


@pytest.mark.parametrize(("node", "code"), TALKS)
async def test_a_phase_asks_the_model_once_and_says_nothing_yet(node: Callable[..., Any], code: StageCode):
    stage = Stage(a_state(code, ywrysw=False), "这个我不太懂怎么弄", f"<state>{code}</state>请您看一下。")
    left = await stage.play(node, attempts=0)
    assert (left["attempts"], left["proposed"]) == (1, code)
    assert stage.run.model_calls == len(stage.model.sent) == 1
    assert stage.said == []


async def test_a_phase_keeps_a_head_that_cannot_be_read_as_a_rejection():
    stage = Stage(ASKING, "没有人受伤", "没有标签")
    left = await stage.play(accident_collection)
    assert left["proposed"] is None
    assert stage.run.rejection is not None
    assert stage.run.rejection.reason == "missing"


async def test_apply_external_update_merges_a_value_and_has_no_words():
    stage = Stage(ASKING, turn=a_turn("", SetInfo("jdcsl", 2)))
    await stage.play(apply_external_update, apply_form_patch, compose_response)
    assert stage.said == [StageDecided(StageCode.COLLECTING), FormChanged({"jdcsl": 2})]


async def test_handoff_hands_over_with_the_emergency_text():
    stage = Stage(ASKING, "有人流血了")
    left = await stage.play(safety_precheck, handoff, compose_response)
    assert (left["next_stage"], left["handoff_reason"]) == ("0003", HandoffReason.INJURY)
    assert stage.said[0] == StageDecided(StageCode.HANDOFF_COMPLEX)
    assert "120" in stage.text


async def test_complete_stays_complete():
    stage = Stage(a_state(StageCode.COMPLETED, ywrysw=False), "还有什么要做的吗")
    assert (await stage.play(complete))["next_stage"] == "0000"
    assert stage.said == [StageDecided(StageCode.COMPLETED)]


async def test_validate_fields_accepts_what_rules_and_guards_allow():
    stage = Stage(ASKING, "没有人受伤，我倒车撞的", GOOD)
    left = await stage.play(safety_precheck, accident_collection, validate_fields)
    assert left["rejection"] is None
    assert stage.run.decided().patch(ASKING) == {"ywrysw": False, "sgyy": "倒车"}
    assert stage.said == []


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("<state>9999</state>x", "unknown"),
        ("<state>3002</state>x", "illegal"),
        ("<state>2000</state>x", "guard"),
        ("<state>1002</state><form>{", "form_unclosed"),
        ("没有标签", "missing"),
    ],
)
async def test_validate_fields_rejects_the_first_answer_and_closes_it(reply: str, reason: str):
    stage = Stage(ASKING, "没有人受伤", reply)
    left = await stage.play(accident_collection, validate_fields)
    assert stage.model.closed == 1
    assert stage.run.decision is None
    assert stage.said == []
    assert left["rejection"] == reason


async def test_validate_fields_gives_up_after_the_second_answer():
    stage = Stage(ASKING, "没有人受伤", "x", "x")
    left = await stage.play(accident_collection, validate_fields)
    with pytest.raises(BackendError) as failed:
        await stage.play(accident_collection, validate_fields, **left)
    assert len(stage.model.sent) == 2
    assert failed.value.failure.kind is FailureKind.MALFORMED


async def test_apply_form_patch_tells_stage_and_then_fields():
    stage = Stage(ASKING, "没有人受伤，我倒车撞的", GOOD)
    left = await stage.play(safety_precheck, accident_collection, validate_fields, apply_form_patch)
    assert stage.said == [StageDecided(StageCode.COLLECTING), FormChanged({"ywrysw": False, "sgyy": "倒车"})]
    assert left["changed"] == ["ywrysw", "sgyy"]


async def test_compose_response_says_the_body_of_the_reply_that_was_accepted():
    stage = Stage(ASKING, "没有人受伤，我倒车撞的", GOOD)
    await stage.play(accident_collection, validate_fields, compose_response)
    assert stage.text == "好的，您还在现场吗？"
    assert stage.model.closed == 1


async def test_compose_response_says_the_fixed_text_of_a_decision_of_code():
    stage = Stage(SessionState(), "【会话开始】")
    stage.run.decision = decide_event(stage.run.session, stage.run.turn)
    await stage.play(compose_response)
    assert "三角" in stage.text


# --- once more ----------------------------------------------------------------------------------------------------------------------------

WAYS: list[tuple[tuple[Callable[..., Any], ...], SessionState, str]] = [
    ((accident_collection, validate_fields, apply_form_patch, compose_response), ASKING, "没有人受伤，我倒车撞的"),
    ((safety_precheck, accident_collection, validate_fields, apply_form_patch, compose_response), ASKING, "没有人受伤，在高速公路上追尾了"),
    ((safety_precheck, handoff, compose_response), ASKING, "有人流血了"),
    ((complete, compose_response), a_state(StageCode.COMPLETED, ywrysw=False), "在吗"),
    ((single_vehicle_photo, apply_form_patch, compose_response), a_state(StageCode.SINGLE_FRONT, ywrysw=False), "【拍摄完成】"),
    ((normalize_input, hydrate_state, global_handoff_gate, safety_precheck, route_phase), ASKING, "没有人受伤"),
]


def _cases() -> list[Any]:
    return [
        pytest.param(way, position, session, text, id=f"{way[position].__name__}-{way[-2].__name__}")
        for way, session, text in WAYS
        for position in range(len(way))
    ]


@pytest.mark.parametrize(("way", "position", "session", "text"), _cases())
async def test_a_node_that_is_run_twice_has_one_effect(way: tuple[Any, ...], position: int, session: SessionState, text: str):
    """As after a step whose record in the state was lost: the same run, the state of before."""
    once = Stage(session, text, GOOD)
    left_once = await once.play(*way)
    twice = Stage(session, text, GOOD, turn=once.run.turn)
    state: dict[str, Any] = await twice.play(*way[:position]) if position else {}
    await twice.play(way[position], **state)
    left_twice = await twice.play(*way[position:], **state)
    assert twice.said == once.said
    assert twice.run.model_calls == once.run.model_calls == len(twice.model.sent)
    assert twice.run.decision == once.run.decision
    assert twice.run.violations == once.run.violations
    assert left_twice == left_once


async def test_an_outside_write_that_is_run_twice_is_merged_once():
    stage = Stage(ASKING, turn=a_turn("", SetInfo("jdcsl", 2)))
    await stage.play(apply_external_update)
    await stage.play(apply_external_update, apply_form_patch)
    await stage.play(apply_form_patch)
    assert [event for event in stage.said if isinstance(event, FormChanged)] == [FormChanged({"jdcsl": 2})]
    assert not [event for event in stage.said if isinstance(event, TextPiece)]
