"""The rollout plan as this process knows it: read at start, re-read in the background, kept when the store is away.

Reading it costs a turn nothing. Until the first plan was read the process is not ready.
"""

import asyncio

import structlog

from contract.ports import PlanStore
from domain.errors import StoreUnavailable
from domain.plan import Plan

log = structlog.get_logger(__name__)


class PlanView:
    def __init__(self, store: PlanStore, *, poll_seconds: float) -> None:
        self._store = store
        self._poll_seconds = poll_seconds
        self._plan: Plan | None = None

    @property
    def is_known(self) -> bool:
        return self._plan is not None

    def current(self) -> Plan:
        """Raises StoreUnavailable when no plan was ever read."""
        if self._plan is None:
            raise StoreUnavailable("no rollout plan")
        return self._plan

    async def refresh(self) -> None:
        """Take the newest plan. One that cannot be read or is invalid changes nothing."""
        try:
            newest = await self._store.latest()
        except Exception as error:  # whatever it is, the poll must go on: this is how a kill switch arrives
            log.warning("plan_not_read", error_type=type(error).__name__, kept_version=self._plan and self._plan.version)
            return
        if self._plan is None or newest.version != self._plan.version:
            log.info("plan_taken", version=newest.version)
            self._plan = newest

    async def keep_fresh(self) -> None:
        """Runs until cancelled."""
        while True:
            await self.refresh()
            await asyncio.sleep(self._poll_seconds)
