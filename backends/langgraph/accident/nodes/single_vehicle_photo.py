"""Five photos of one vehicle (2000-2005)."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.conversation import converse
from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState


async def single_vehicle_photo(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    return await converse(state, runtime.context)
