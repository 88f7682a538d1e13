"""Take the session from the business row. What the checkpoint held is overwritten: ahead of the row it is dropped, behind it rebuilt."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState


async def hydrate_state(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    session = runtime.context.session
    return {
        "version": session.version,
        "stage": session.stage.value if session.stage else None,
        "pending_question": session.dialogue.pending_question,
        "known": [key for key, value in session.form.items() if value is not None],
        "no_response_count": session.dialogue.no_response_count,
        "clarification_counts": {str(name): count for name, count in session.dialogue.clarification_counts.items()},
        "photo_failures": {str(step): count for step, count in session.dialogue.photo_failures.items()},
    }
