"""The deterministic safety detectors, on every message of every stage, before any model."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.safety import detect


async def safety_precheck(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    run = runtime.context
    if run.text is not None:
        run.finding = detect(run.text, run.session.dialogue.pending_question)
    return {"alarms": [reason.value for reason in run.finding.reasons]}
