"""Start a turn's record afresh: nothing of the turn before may leak into this one."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.turn import EVENT_TYPES


async def normalize_input(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    turn = runtime.context.turn
    return {
        "turn_id": turn.turn_id,
        "event": EVENT_TYPES[type(turn.event)],
        "wants_person": False,
        "alarms": [],
        "attempts": 0,
        "proposed": None,
        "rejection": None,
        "missing": [],
        "next_stage": None,
        "changed": [],
        "handoff_reason": None,
    }
