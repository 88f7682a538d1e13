"""Names, plates, identity and phone numbers, read back and confirmed (3001, 3002)."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.conversation import converse
from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState


async def party_verification(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    return await converse(state, runtime.context)
