"""The deterministic safety detectors, on every message of every stage, before any model."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.safety import detect, under, with_alarms


async def safety_precheck(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    run = runtime.context
    dialogue = run.session.dialogue
    finding = run.finding
    if run.text is not None:
        finding = under(run.turn.policy, detect(run.text, dialogue.pending_question), run.text)
    run.finding = with_alarms(finding, dialogue.alarms)
    return {"alarms": [reason.value for reason in run.finding.reasons]}
