"""A person takes over now, or has taken over before."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.announcement import announce
from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.decision import decide_handoff, decide_terminal


async def handoff(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    run = runtime.context
    if run.session.stage is not None and run.session.is_terminal:
        run.decision = decide_terminal(run.session, run.session.stage, run.finding)
    else:
        run.decision = decide_handoff(run.session, run.turn, run.finding, wants_person=state.get("wants_person", False))
    return await announce(run)
