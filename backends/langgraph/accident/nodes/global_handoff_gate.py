"""An explicit wish for a person, by lexicon."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.handoff import asks_for_person


async def global_handoff_gate(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    text = runtime.context.text
    return {"wants_person": text is not None and asks_for_person(text)}
