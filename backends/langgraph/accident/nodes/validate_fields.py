"""Judge the model's proposal: values, safety, stage, guard. What a second unusable answer means is a policy."""

from langgraph.runtime import Runtime

from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.decision import Decision, Rejection, decide_unusable
from domain.errors import BackendError
from domain.judgement import judge

MAX_ATTEMPTS = 2
INVALID_TURNS_LIMIT = 2  # error_then_handoff: the second unusable turn running is handed over


async def validate_fields(state: AccidentState, runtime: Runtime[TurnRun]) -> AccidentState:
    run = runtime.context
    if run.decision is not None:
        return {"rejection": None, "missing": []}
    verdict = _verdict(run)
    if isinstance(verdict, Decision):
        run.decision = verdict
        return {"rejection": None, "missing": []}
    run.rejection = verdict
    run.violations.append(f"prefix:{verdict.reason}")
    await run.close_reply()
    if state.get("attempts", 0) >= MAX_ATTEMPTS:
        _give_up(run, verdict)
        return {"rejection": None, "missing": []}
    return {"rejection": verdict.reason, "missing": list(verdict.missing)}


def _verdict(run: TurnRun) -> Decision | Rejection:
    if run.rejection is not None:
        return run.rejection
    assert run.draft is not None
    assert run.said is not None
    return judge(run.draft, run.said)


def _give_up(run: TurnRun, rejection: Rejection) -> None:
    run.violations.append("prefix:exhausted")
    is_first = run.invalid_turns + 1 < INVALID_TURNS_LIMIT
    if run.on_invalid == "error" or (run.on_invalid == "error_then_handoff" and is_first):
        raise BackendError(rejection.failure, f"model output: {rejection.reason}")
    run.decision = decide_unusable(run.session, run.turn)
