"""Tell the caller what was decided: stage first, then the changed fields. Called once a turn, before any text."""

from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.decision import tags_of, warned
from domain.outcome import FormChanged, StageDecided


async def announce(run: TurnRun) -> AccidentState:
    """Emit the decision; return what the checkpoint remembers of it."""
    decision = run.decision = warned(run.decided(), run.session, run.turn)
    patch = decision.patch(run.session)
    run.violations += decision.notes
    run.tags = tags_of(run.session, run.turn)
    await run.emit(StageDecided(decision.stage))
    if patch:
        await run.emit(FormChanged(patch))
    reason = decision.dialogue.handoff_reason
    return {"next_stage": decision.stage.value, "changed": list(patch), "handoff_reason": reason.value if reason else None}
