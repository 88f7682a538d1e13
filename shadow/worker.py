"""The shadow worker: take a session's pending turns, replay each on the other backend, compare, settle. The only I/O of this room.

Any number of workers may run on any host. A shadow backend that is out of order makes jobs wait, never fail: they stay pending, counted in
the ledger, until it is back. What the shadow backend answers wrongly is a finding and is settled as one.
"""

import asyncio
from collections.abc import Mapping

import structlog
from opentelemetry import trace

from contract.ports import Backend, ShadowJob, ShadowQueue
from domain.backend_name import BackendName
from domain.errors import StoreUnavailable
from shadow.compare import compare
from shadow.replay import LOCKSTEP, replay
from telemetry.instruments import SHADOW_SPAN

log = structlog.get_logger(__name__)
tracer = trace.get_tracer("crossfade.shadow")

JOBS_AT_ONCE = 50
OUTAGE_SECONDS = 5.0  # how long a session rests when its shadow backend is out of order
STORE_OUTAGE_SECONDS = 2.0


class ShadowWorker:
    def __init__(self, queue: ShadowQueue, backends: Mapping[BackendName, Backend], *, idle_seconds: float) -> None:
        self._queue = queue
        self._backends = backends
        self._idle_seconds = idle_seconds

    async def run(self, *, lanes: int) -> None:
        """Work until cancelled; `lanes` sessions side by side, each session's turns in order."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._settle_failures())
            for _ in range(lanes):
                group.create_task(self._lane())

    async def _lane(self) -> None:
        while True:
            try:
                if not await self.work_once():
                    await asyncio.sleep(self._idle_seconds)
            except StoreUnavailable:
                await asyncio.sleep(STORE_OUTAGE_SECONDS)

    async def work_once(self) -> int:
        """One session's pending jobs; how many were taken."""
        jobs = await self._queue.take_session(limit=JOBS_AT_ONCE)
        has_to_wait = False
        try:
            for job in jobs:
                if not await self._work(job):
                    has_to_wait = True
                    break
        finally:
            if jobs and not has_to_wait:  # a worker that is stopped in the middle gives its session back too
                await self._queue.give_back(jobs[-1])
        return len(jobs)

    async def _work(self, job: ShadowJob) -> bool:
        """False when the session has to wait. A job that breaks us is accounted as unreplayable and does not come back."""
        try:
            return await self._replay_and_compare(job)
        except StoreUnavailable:
            raise
        except Exception as error:
            log.exception("replay_broke", turn_id=job.turn.turn_id)
            await self._queue.give_up(job, reason=type(error).__name__)
            return True

    async def _replay_and_compare(self, job: ShadowJob) -> bool:
        backend = self._backends.get(job.primary.backend.other)
        if backend is None:  # one backend was taken out; what waited for it can never be compared
            await self._queue.give_up(job, reason="no_other_backend")
            return True
        with tracer.start_as_current_span(SHADOW_SPAN, attributes={"backend": backend.name}):
            outcome = await replay(backend, job)
            if outcome.failure is not None and outcome.failure.kind.is_outage:
                log.warning("shadow_postponed", backend=backend.name, failure=outcome.failure.kind, note=outcome.failure.note)
                await self._queue.postpone(job, note=outcome.failure.kind, seconds=OUTAGE_SECONDS)
                return False
            comparison = compare(job.turn, job.before, job.primary, outcome, mode=LOCKSTEP)
            is_first = await self._queue.settle(job, comparison)
            log.info(
                "turn_compared",
                turn_id=job.turn.turn_id,
                backend=backend.name,
                diffs=[diff.signature for diff in comparison.diffs],
                is_first=is_first,
                shadow_ms=round(outcome.total_ms, 1),
            )
        return True

    async def _settle_failures(self) -> None:
        while True:
            try:
                if settled := await self._queue.settle_failures():
                    log.info("failed_turns_settled", count=settled)
            except StoreUnavailable:
                log.warning("failed_turns_not_settled")
            await asyncio.sleep(STORE_OUTAGE_SECONDS)
