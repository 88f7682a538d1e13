"""The rollout plans: numbered, immutable, hash-chained. Implements ports.PlanStore."""

from collections.abc import Mapping
from typing import Any

import asyncpg

from domain.plan import Plan, PlanConflict, chain_hash, plan_from_document
from storage import json
from storage.engine import database_failures

_LATEST = "SELECT version, document, author, reason, hash FROM app.rollout_plans ORDER BY version DESC LIMIT 1"

_PUBLISH = """
INSERT INTO app.rollout_plans (version, document, author, reason, prev_hash, hash) VALUES ($1, $2, $3, $4, $5, $6)
"""


class PlanRows:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def latest(self) -> Plan:
        return _plan(await self._latest_row())

    async def publish(self, document: Mapping[str, Any], *, author: str, reason: str, based_on: int) -> Plan:
        newest = await self._latest_row()
        if newest["version"] != based_on:
            raise PlanConflict(newest["version"])
        version = based_on + 1
        plan = plan_from_document(document, version=version, author=author, reason=reason)
        try:
            with database_failures("publish_plan"):
                await self._insert(plan, document, newest["hash"])
        except asyncpg.UniqueViolationError:
            raise PlanConflict((await self.latest()).version) from None
        return plan

    async def _insert(self, plan: Plan, document: Mapping[str, Any], previous: str) -> None:
        await self._pool.execute(
            _PUBLISH,
            plan.version,
            json.dumps(document),
            plan.author,
            plan.reason,
            previous,
            chain_hash(previous, document, plan.author, plan.reason),
        )

    async def _latest_row(self) -> Mapping[str, Any]:
        with database_failures("read_plan"):
            row = await self._pool.fetchrow(_LATEST)
        if row is None:
            raise RuntimeError("there is no rollout plan: run `crossfade migrate`")
        return row


def _plan(row: Mapping[str, Any]) -> Plan:
    return plan_from_document(json.loads(row["document"]), version=row["version"], author=row["author"], reason=row["reason"])
