"""Six photos of two vehicles (2010-2016)."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.conversation import converse
from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState


async def two_vehicle_photo(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    return await converse(state, runtime.context)
