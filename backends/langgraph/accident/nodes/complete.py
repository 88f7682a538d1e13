"""The conversation has ended well; it stays ended."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.announcement import announce
from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.decision import decide_terminal
from domain.stages import StageCode


async def complete(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    run = runtime.context
    run.decision = decide_terminal(run.session, StageCode.COMPLETED, run.finding)
    return await announce(run)
