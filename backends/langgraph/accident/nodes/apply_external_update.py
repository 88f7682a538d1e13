"""A field written from outside: validated and merged, no model, no words."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.decision import decide_outside_write


async def apply_external_update(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    run = runtime.context
    run.decision = decide_outside_write(run.session, run.turn)
    return {}
