"""Say it: the fixed text of a decision of code, or the body of the very reply whose head was accepted, as it is being written."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.outcome import TextPiece
from domain.turn import SetInfo


async def compose_response(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    run, decision = runtime.context, runtime.context.decided()
    if run.is_said or isinstance(run.turn.event, SetInfo):
        return {}
    run.is_said = True
    if decision.lead:
        await run.emit(TextPiece(run.prompts.render(decision.lead)))
    if decision.speech or run.live is None or not await _say_body(run):
        if not decision.speech:
            run.violations.append("empty_body")
        await run.emit(TextPiece(run.prompts.render(decision.speech or decision.fallback)))
    await run.close_reply()
    return {}


async def _say_body(run: TurnRun) -> bool:
    """True when the model said something."""
    assert run.live is not None
    has_spoken = False
    async for text in run.live.body():
        has_spoken = True
        await run.emit(TextPiece(text))
    run.violations += [f"prefix:{name}" for name in run.live.late_irregularities]
    return has_spoken
