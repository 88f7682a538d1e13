"""Choose the branch. The choice is stored, so that the edges of the graph only read it."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.judgement import route


async def route_phase(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    run = runtime.context
    return {"route": route(run.session, run.turn.event, run.finding, wants_person=state.get("wants_person", False))}
