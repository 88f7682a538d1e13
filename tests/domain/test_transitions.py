"""The whole matrix, computed from the table: every pair of stages and every trigger, and what a guard says on both sides."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from domain.guards import Situation, holds
from domain.session import Dialogue
from domain.stages import STAGES, Phase, StageCode
from domain.transitions import NON_TERMINAL, TERMINAL, TRANSITIONS, Guard, Trigger, edge_for, edges_between, next_photo_step
from tests.fakes.values import NOON

pytestmark = pytest.mark.unit

FACTS: dict[str, Any] = {
    "ywrysw": False,
    "ywfjdc": False,
    "ywmtc": False,
    "bjrjs": "当事人",
    "sgfssj": "2026-07-27 15:10:00",
    "sfsgxc": True,
    "jdcsl": 1,
    "sgyy": "倒车",
}
PARTY_1 = {"xm1": "张三", "hpzl1": "02", "hphm1": "京A12345", "sfzmhm1": "11010519491231002X", "sjhm1": "13800138000"}
PARTY_2 = {"xm2": "李四", "hpzl2": "52", "hphm2": "粤BD12345", "sfzmhm2": "34052419800101001X", "sjhm2": "13900139000"}
READY = Situation(stage=StageCode.COLLECTING, form=FACTS, dialogue=Dialogue(), now=NOON)


@pytest.mark.parametrize("source", [None, *StageCode])
@pytest.mark.parametrize("target", list(StageCode))
def test_every_pair_of_stages_is_decided_by_the_table(source: StageCode | None, target: StageCode):
    listed = {edge.trigger for edge in TRANSITIONS if edge.source is source and edge.target is target}
    assert {edge.trigger for edge in edges_between(source, target)} == listed
    for trigger in Trigger:
        assert (edge_for(source, target, trigger) is not None) == (trigger in listed)


@pytest.mark.parametrize("end", TERMINAL)
def test_an_end_leads_only_to_itself(end: StageCode):
    assert {edge.target for edge in TRANSITIONS if edge.source is end} == {end}


@pytest.mark.parametrize("source", NON_TERMINAL)
def test_a_person_can_be_reached_from_everywhere(source: StageCode | None):
    assert edge_for(source, StageCode.HANDOFF_REQUESTED, Trigger.NL) is not None
    assert edge_for(source, StageCode.HANDOFF_COMPLEX, Trigger.NL) is not None


def test_words_never_advance_a_photo():
    photo = {code for code, stage in STAGES.items() if stage.phase in (Phase.SINGLE_VEHICLE_PHOTO, Phase.TWO_VEHICLE_PHOTO)}
    guides = {StageCode.SINGLE_GUIDE, StageCode.DOUBLE_GUIDE}
    for edge in TRANSITIONS:
        if edge.source in photo - guides and edge.trigger is Trigger.NL:
            assert edge.target is edge.source or edge.target in TERMINAL


def test_photos_go_up_one_by_one_to_the_first_party():
    step, seen = StageCode.DOUBLE_GUIDE, []
    while (onward := next_photo_step(step)) is not None:
        seen.append(onward.value)
        step = onward
    assert seen == ["2011", "2012", "2013", "2014", "2015", "2016", "3001"]
    assert next_photo_step(StageCode.COLLECTING) is None


@pytest.mark.parametrize(
    "change",
    [
        *({key: None} for key in FACTS),
        {"ywrysw": True},
        {"ywfjdc": True},
        {"ywmtc": True},
        {"sfsgxc": False},
        {"jdcsl": 2},
        {"jdcsl": 0},
        {"sgfssj": "2026-07-26 15:19:00"},
    ],
)
def test_single_vehicle_photos_need_every_fact(change: dict[str, Any]):
    assert holds(Guard.SINGLE, READY)
    assert not holds(Guard.SINGLE, replace(READY, form=FACTS | change))


def test_twenty_four_hours_to_the_minute_are_still_fine():
    assert holds(Guard.SINGLE, replace(READY, form=FACTS | {"sgfssj": "2026-07-26 15:20:00"}))


@pytest.mark.parametrize(
    "change",
    [
        {"is_safety_open": True},
        {"dialogue": Dialogue(pending_question="CONFIRM_INJURY")},
        {"dialogue": Dialogue(pending_question="CONFIRM_FIRE")},
        {"dialogue": Dialogue(candidates={"jdcsl": 2})},
    ],
)
def test_nobody_goes_on_while_something_is_to_be_confirmed(change: dict[str, Any]):
    assert not holds(Guard.SINGLE, replace(READY, **change))


def test_two_vehicle_photos_need_exactly_two():
    assert holds(Guard.DOUBLE, replace(READY, form=FACTS | {"jdcsl": 2}))
    assert not holds(Guard.DOUBLE, READY)


@pytest.mark.parametrize("missing", [*PARTY_1, "SUMMARY_1"])
def test_a_party_is_done_with_all_fields_and_a_confirmed_summary(missing: str):
    done = replace(READY, form=FACTS | PARTY_1, dialogue=Dialogue(confirmed=("SUMMARY_1",)))
    assert holds(Guard.PARTY_1_DONE_ONE, done)
    assert not holds(Guard.PARTY_1_DONE_TWO, done)
    if missing == "SUMMARY_1":
        assert not holds(Guard.PARTY_1_DONE_ONE, replace(done, dialogue=Dialogue()))
    else:
        assert not holds(Guard.PARTY_1_DONE_ONE, replace(done, form=FACTS | PARTY_1 | {missing: None}))


def test_the_end_needs_both_parties_when_there_are_two():
    form = FACTS | {"jdcsl": 2} | PARTY_1 | PARTY_2
    both = replace(READY, form=form, dialogue=Dialogue(confirmed=("SUMMARY_1", "SUMMARY_2")))
    assert holds(Guard.ALL_DONE, both)
    assert not holds(Guard.ALL_DONE, replace(both, dialogue=Dialogue(confirmed=("SUMMARY_1",))))
    assert not holds(Guard.ALL_DONE, replace(both, form=form | {"sjhm2": None}))


@pytest.mark.parametrize(
    "guard, below, at",
    [
        (Guard.UNCLEAR_LIMIT, Dialogue(clarification_counts={"JDCSL": 2}), Dialogue(clarification_counts={"JDCSL": 3})),
        (Guard.NO_REPLY_LIMIT, Dialogue(no_response_count=2), Dialogue(no_response_count=3)),
        (Guard.PHOTO_FAIL_LIMIT, Dialogue(photo_failures={"1002": 2}), Dialogue(photo_failures={"1002": 3})),
    ],
)
def test_a_limit_is_reached_at_three(guard: Guard, below: Dialogue, at: Dialogue):
    assert not holds(guard, replace(READY, dialogue=below))
    assert holds(guard, replace(READY, dialogue=at))


@pytest.mark.parametrize("guard", [None, *Guard])
def test_every_guard_answers_for_an_empty_session(guard: Guard | None):
    empty = Situation(stage=None, form={}, dialogue=Dialogue(), now=NOON)
    assert holds(guard, empty) is (guard in (None, Guard.COLLECTION_INCOMPLETE))


def _written_down() -> set[tuple[str | None, str, str, str | None]]:
    """The edges of the second transcription, every shorthand spelled out."""
    edges: set[tuple[str | None, str, str, str | None]] = set()
    for row in yaml.safe_load((Path(__file__).parents[1] / "golden" / "transitions.yaml").read_text("utf-8")):
        named = row["from"] if isinstance(row["from"], list) else [row["from"]]
        sources = NON_TERMINAL if named == ["open"] else [None if name == "new" else StageCode(name) for name in named]
        triggers = list(Trigger) if row["triggers"] == "any" else [Trigger(trigger) for trigger in row["triggers"]]
        for source in sources:
            target = (source or StageCode.NOT_READY) if row["to"] == "self" else StageCode(row["to"])
            edges |= {(source, target, trigger, row.get("guard")) for trigger in triggers}
    return edges


def test_the_table_is_what_was_written_down_independently():
    table = {(edge.source, edge.target, edge.trigger, edge.guard) for edge in TRANSITIONS}
    assert table == _written_down()
    assert len(TRANSITIONS) == len(table)
