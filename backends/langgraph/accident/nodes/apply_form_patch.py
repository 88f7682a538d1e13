"""Yield the validated patch: stage and fields go out, text may follow. The commit that makes them true is the proxy's."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.announcement import announce
from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState


async def apply_form_patch(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    return await announce(runtime.context)
