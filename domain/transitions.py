"""Which stage may follow which, and on what. Data first: TRANSITIONS is the whole machine; everything not listed is illegal.

Guards are named here and decided in domain/guards.py over the merged state. `NON_TERMINAL` expands to every stage that is not an end,
the implicit stage of a new session (None) included. A drawing and the full matrix are computed from this table.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from domain.stages import STAGES, Phase, StageCode


class Trigger(StrEnum):
    NL = "nl"  # a model's proposal that was validated, or its deterministic equivalent
    START = "start"
    PHOTO_DONE = "photo_done"
    PHOTO_FAIL = "photo_fail"
    NO_REPLY = "no_reply"
    FACT_CHANGED = "fact_changed"  # code, after a confirmed correction
    SET_INFO = "set_info"
    INVALID_OUTPUT = "invalid_output"  # code, after a model stayed unusable
    NOOP = "noop"  # an event out of phase or repeated


class Guard(StrEnum):
    SINGLE = "single"
    DOUBLE = "double"
    READY = "ready"
    PARTY_1_DONE_TWO = "party_1_done_two"
    PARTY_1_DONE_ONE = "party_1_done_one"
    ALL_DONE = "all_done"
    UNCLEAR_LIMIT = "unclear_limit"
    NO_REPLY_LIMIT = "no_reply_limit"
    PHOTO_FAIL_LIMIT = "photo_fail_limit"
    INELIGIBLE = "ineligible"
    COLLECTION_INCOMPLETE = "collection_incomplete"


@dataclass(frozen=True, slots=True)
class Edge:
    source: StageCode | None  # None: the session has no stage yet
    target: StageCode
    trigger: Trigger
    guard: Guard | None = None


NON_TERMINAL: tuple[StageCode | None, ...] = (None, *(code for code, stage in STAGES.items() if not stage.is_terminal))
TERMINAL: tuple[StageCode, ...] = tuple(code for code, stage in STAGES.items() if stage.is_terminal)
SINGLE_STEPS: tuple[StageCode, ...] = tuple(code for code, stage in STAGES.items() if stage.phase is Phase.SINGLE_VEHICLE_PHOTO)
DOUBLE_STEPS: tuple[StageCode, ...] = tuple(code for code, stage in STAGES.items() if stage.phase is Phase.TWO_VEHICLE_PHOTO)

_S, _T, _G = StageCode, Trigger, Guard


def _each(sources: Iterable[StageCode | None], target: StageCode | None, trigger: Trigger, guard: Guard | None = None) -> list[Edge]:
    """One edge a source; target None means the source itself (a session without a stage then enters 1001)."""
    return [Edge(source, target or source or _S.NOT_READY, trigger, guard) for source in sources]


def _ladder(steps: tuple[StageCode, ...]) -> list[Edge]:
    """guide → photo → … → verification, one rung a completed photo."""
    return [Edge(here, there, _T.PHOTO_DONE) for here, there in zip(steps, (*steps[1:], _S.VERIFY_PARTY_1), strict=True)]


TRANSITIONS: tuple[Edge, ...] = (
    Edge(None, _S.NOT_READY, _T.START),
    Edge(None, _S.NOT_READY, _T.NL),
    Edge(None, _S.COLLECTING, _T.NL),
    Edge(_S.NOT_READY, _S.NOT_READY, _T.NL),
    Edge(_S.NOT_READY, _S.COLLECTING, _T.NL),
    Edge(_S.COLLECTING, _S.NOT_READY, _T.NL),
    Edge(_S.COLLECTING, _S.COLLECTING, _T.NL),
    Edge(_S.COLLECTING, _S.SINGLE_GUIDE, _T.NL, _G.SINGLE),
    Edge(_S.COLLECTING, _S.DOUBLE_GUIDE, _T.NL, _G.DOUBLE),
    Edge(_S.SINGLE_GUIDE, _S.SINGLE_FRONT, _T.NL, _G.READY),
    Edge(_S.DOUBLE_GUIDE, _S.DOUBLE_FRONT, _T.NL, _G.READY),
    Edge(_S.SINGLE_GUIDE, _S.COLLECTING, _T.FACT_CHANGED, _G.COLLECTION_INCOMPLETE),
    Edge(_S.DOUBLE_GUIDE, _S.COLLECTING, _T.FACT_CHANGED, _G.COLLECTION_INCOMPLETE),
    *_each((*SINGLE_STEPS, *DOUBLE_STEPS), None, _T.NL),
    *_ladder(SINGLE_STEPS),
    *_ladder(DOUBLE_STEPS),
    *_each(SINGLE_STEPS, _S.DOUBLE_GUIDE, _T.FACT_CHANGED, _G.DOUBLE),
    *_each(DOUBLE_STEPS, _S.SINGLE_GUIDE, _T.FACT_CHANGED, _G.SINGLE),
    Edge(_S.VERIFY_PARTY_1, _S.VERIFY_PARTY_1, _T.NL),
    Edge(_S.VERIFY_PARTY_1, _S.VERIFY_PARTY_2, _T.NL, _G.PARTY_1_DONE_TWO),
    Edge(_S.VERIFY_PARTY_1, _S.COMPLETED, _T.NL, _G.PARTY_1_DONE_ONE),
    Edge(_S.VERIFY_PARTY_2, _S.VERIFY_PARTY_2, _T.NL),
    Edge(_S.VERIFY_PARTY_2, _S.VERIFY_PARTY_1, _T.NL),
    Edge(_S.VERIFY_PARTY_2, _S.COMPLETED, _T.NL, _G.ALL_DONE),
    *_each(NON_TERMINAL, _S.HANDOFF_REQUESTED, _T.NL),
    *_each(NON_TERMINAL, _S.HANDOFF_UNCLEAR, _T.NL, _G.UNCLEAR_LIMIT),
    *_each(NON_TERMINAL, _S.HANDOFF_UNCLEAR, _T.INVALID_OUTPUT),
    *_each(NON_TERMINAL, _S.HANDOFF_COMPLEX, _T.NL),
    *_each(NON_TERMINAL, _S.HANDOFF_COMPLEX, _T.SET_INFO, _G.INELIGIBLE),
    *_each(NON_TERMINAL, _S.HANDOFF_COMPLEX, _T.FACT_CHANGED, _G.INELIGIBLE),
    *_each(NON_TERMINAL, None, _T.SET_INFO),
    *_each(NON_TERMINAL, None, _T.NO_REPLY),
    *_each(NON_TERMINAL, None, _T.NOOP),
    *_each(NON_TERMINAL, _S.HANDOFF_NO_REPLY, _T.NO_REPLY, _G.NO_REPLY_LIMIT),
    *_each((*SINGLE_STEPS, *DOUBLE_STEPS), None, _T.PHOTO_FAIL),
    *_each((*SINGLE_STEPS, *DOUBLE_STEPS), _S.HANDOFF_PHOTO_FAILED, _T.PHOTO_FAIL, _G.PHOTO_FAIL_LIMIT),
    *(Edge(code, code, trigger) for code in TERMINAL for trigger in Trigger),
)

_EDGES: dict[tuple[StageCode | None, StageCode], tuple[Edge, ...]] = {}
for _edge in TRANSITIONS:
    _EDGES[_edge.source, _edge.target] = (*_EDGES.get((_edge.source, _edge.target), ()), _edge)


def edges_between(source: StageCode | None, target: StageCode) -> tuple[Edge, ...]:
    """All edges from one stage to another, whatever their trigger; empty when there is none."""
    return _EDGES.get((source, target), ())


def edge_for(source: StageCode | None, target: StageCode, trigger: Trigger) -> Edge | None:
    """The edge a trigger may take; its guard is still to be asked."""
    return next((edge for edge in edges_between(source, target) if edge.trigger is trigger), None)


def next_photo_step(stage: StageCode) -> StageCode | None:
    """Where a completed photo leads; None outside the photo phases."""
    onward = (edge.target for edge in TRANSITIONS if edge.source is stage and edge.trigger is Trigger.PHOTO_DONE)
    return next((target for target in onward if target is not stage), None)
