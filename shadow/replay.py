"""Let a backend answer a turn again, from exactly the state the primary had before it (lockstep), and keep only the outcome."""

from contextlib import aclosing

from contract.ports import Backend, ShadowJob
from domain.errors import BackendFailure, FailureKind
from domain.outcome import Failed, Outcome, Replied

LOCKSTEP = "lockstep"


async def replay(backend: Backend, job: ShadowJob) -> Outcome:
    """Never raises for the backend's sake: a stream without an end is a failure of its own."""
    async with aclosing(backend.reply(job.turn, job.before)) as events:
        async for event in events:
            match event:
                case Replied(outcome, _) | Failed(outcome):
                    return outcome
                case _:
                    pass
    return Outcome(backend=backend.name, failure=BackendFailure(kind=FailureKind.INTERNAL, note="no_end"))
