"""Tell the caller what was decided: stage first, then the changed fields. Once a turn, before any text, however often a node is run."""

from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.decision import Decision, tags_of, warned
from domain.outcome import FormChanged, StageDecided
from domain.session import Form


async def announce(run: TurnRun) -> AccidentState:
    """Emit the decision; return what the checkpoint remembers of it."""
    is_first = not run.is_announced
    run.is_announced = True
    if is_first:
        run.decision = warned(run.decided(), run.session, run.turn)
    decision = run.decided()
    patch = decision.patch(run.session)
    if is_first:
        await _tell(run, decision, patch)
    reason = decision.dialogue.handoff_reason
    return {"next_stage": decision.stage.value, "changed": list(patch), "handoff_reason": reason.value if reason else None}


async def _tell(run: TurnRun, decision: Decision, patch: Form) -> None:
    run.violations += decision.notes
    run.tags = tags_of(run.session, run.turn)
    await run.emit(StageDecided(decision.stage))
    if patch:
        await run.emit(FormChanged(patch))
