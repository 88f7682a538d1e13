"""What the four phase nodes share: settle the turn in code, or open the model's reply and read no further than its head."""

from backends.langgraph.accident.briefing import briefing
from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from backends.langgraph.model.live_reply import LiveReply
from contract.state_prefix import MalformedReply
from domain.decision import Rejection, decide_event
from domain.draft import Draft, prepare
from domain.proposal import proposal


async def converse(state: AccidentState, run: TurnRun) -> AccidentState:
    """One attempt. Leaves a decision (no model needed), a proposal, or the rejection of a head that could not be read."""
    if run.text is None:
        run.decision = decide_event(run.session, run.turn)
        return {}
    if run.draft is None:
        run.draft = prepare(run.session, run.turn, run.finding)
        run.decision = run.draft.decision
    if run.decision is not None:
        return {}
    if run.model_calls <= state.get("attempts", 0):  # more: this attempt was made, only its record in the state was lost
        await _ask(run, run.draft)
    return {"attempts": run.model_calls, "proposed": run.said.code if run.said else None}


async def _ask(run: TurnRun, draft: Draft) -> None:
    messages = briefing(draft, run.prompts, run.rejection)
    run.said, run.rejection = None, None
    run.model_calls += 1
    run.live = LiveReply(run.model.stream(messages, request_id=run.turn.request_id or run.turn.turn_id))
    try:
        head = await run.live.head()
    except MalformedReply as error:
        run.rejection = Rejection(reason=error.reason)
        return
    run.violations += [f"prefix:{name}" for name in head.irregularities]
    run.said = proposal(head.code, head.form_text)
