"""Safety first, then the facts of the accident (1001, 1002)."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.conversation import converse
from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState


async def accident_collection(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    return await converse(state, runtime.context)
