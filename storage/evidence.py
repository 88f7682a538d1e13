"""Counts for reports, read with the reader role. Implements ports.OverviewSource.

One repeatable-read transaction: the numbers of one report agree with one another while workers go on writing.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, case, func, select, true
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from domain.evidence import Cluster, DiffLine, KindAgreement, Ledger, Overview, StagePair
from storage.engine import database_failures
from storage.tables import comparisons, diffs, ledger, turn_outbox, turns

# Worst first: a signature is as severe as its most severe diff.
_SEVERITY_RANK = case((diffs.c.severity == "critical", 0), (diffs.c.severity == "major", 1), (diffs.c.severity == "minor", 2), else_=3)
_SEVERITIES = ("critical", "major", "minor", "info")
CLUSTERS_SHOWN = 50


class EvidenceRows:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def overview(self, *, since: datetime | None, latest: int) -> Overview:
        with database_failures("read_overview"):
            async with self._engine.connect() as plain:
                connection = await plain.execution_options(isolation_level="REPEATABLE READ")
                turns_by_backend, failed_turns = await _turn_counts(connection, since)
                compared, sessions = await _comparison_counts(connection, since)
                return Overview(
                    turns_by_backend=turns_by_backend,
                    failed_turns=failed_turns,
                    ledger=await _ledger(connection, since),
                    sessions=sessions,
                    comparisons=compared,
                    kinds=await _kinds(connection, since),
                    stages=await _stages(connection, since),
                    clusters=await _clusters(connection, since),
                    latest=await _latest(connection, since, latest),
                )


def _received_since(since: datetime | None) -> ColumnElement[bool]:
    """Every number is about the same turns: those received since then, whenever they were compared."""
    return true() if since is None else turns.c.received_at >= since


async def _turn_counts(connection: AsyncConnection, since: datetime | None) -> tuple[dict[str, int], int]:
    rows = await connection.execute(
        select(turns.c.backend, turns.c.status, func.count())
        .where(_received_since(since), turns.c.event_type != "set_info")
        .group_by(turns.c.backend, turns.c.status)
    )
    by_backend: dict[str, int] = {}
    failed = 0
    for backend, status, count in rows:
        if status == "committed":
            by_backend[backend] = count
        else:
            failed += count
    return by_backend, failed


async def _ledger(connection: AsyncConnection, since: datetime | None) -> Ledger:
    rows = await connection.execute(
        select(ledger.c.state, ledger.c.reason, func.count())
        .select_from(turn_outbox.join(turns).outerjoin(ledger, ledger.c.outbox_id == turn_outbox.c.outbox_id))
        .where(_received_since(since))
        .group_by(ledger.c.state, ledger.c.reason)
    )
    reasons: dict[str | None, dict[str, int]] = {}
    for state, reason, count in rows:
        reasons.setdefault(state, {})[reason or ""] = count
    eligible = await connection.scalar(select(func.count()).select_from(turn_outbox.join(turns)).where(_received_since(since)))
    return Ledger(
        eligible=eligible or 0,
        compared=sum(reasons.get("compared", {}).values()),
        pending=sum(reasons.get(None, {}).values()),
        dropped=reasons.get("dropped", {}),
        failed=reasons.get("failed", {}),
        unreplayable=reasons.get("unreplayable", {}),
    )


def _compared_turns(since: datetime | None) -> Any:
    return comparisons.join(turns, turns.c.turn_id == comparisons.c.turn_id), _received_since(since)


async def _comparison_counts(connection: AsyncConnection, since: datetime | None) -> tuple[int, int]:
    source, condition = _compared_turns(since)
    row = (
        await connection.execute(
            select(func.count(), func.count(func.distinct(comparisons.c.tenant_id + "\n" + comparisons.c.session_id)))
            .select_from(source)
            .where(condition)
        )
    ).one()
    return row[0], row[1]


async def _kinds(connection: AsyncConnection, since: datetime | None) -> tuple[KindAgreement, ...]:
    source, condition = _compared_turns(since)
    kind = func.unnest(comparisons.c.compared).label("kind")
    compared = select(comparisons.c.comparison_id, kind).select_from(source).where(condition).subquery()
    differing = select(diffs.c.comparison_id, diffs.c.kind).distinct().subquery()
    rows = await connection.execute(
        select(compared.c.kind, func.count(), func.count(differing.c.comparison_id))
        .select_from(
            compared.outerjoin(differing, (differing.c.comparison_id == compared.c.comparison_id) & (differing.c.kind == compared.c.kind))
        )
        .group_by(compared.c.kind)
        .order_by(compared.c.kind)
    )
    return tuple(KindAgreement(kind=name, compared=total, differing=differ) for name, total, differ in rows)


async def _stages(connection: AsyncConnection, since: datetime | None) -> tuple[StagePair, ...]:
    source, condition = _compared_turns(since)
    rows = await connection.execute(
        select(comparisons.c.primary_stage, comparisons.c.shadow_stage, func.count())
        .select_from(source)
        .where(condition)
        .group_by(comparisons.c.primary_stage, comparisons.c.shadow_stage)
        .order_by(comparisons.c.primary_stage, comparisons.c.shadow_stage)
    )
    return tuple(StagePair(primary=primary, shadow=shadow, count=count) for primary, shadow, count in rows)


async def _clusters(connection: AsyncConnection, since: datetime | None) -> tuple[Cluster, ...]:
    source, condition = _compared_turns(since)
    total = func.count().label("total")
    rows = await connection.execute(
        select(diffs.c.kind, diffs.c.signature, func.min(_SEVERITY_RANK), total)
        .select_from(diffs.join(source, diffs.c.comparison_id == comparisons.c.comparison_id))
        .where(condition)
        .group_by(diffs.c.kind, diffs.c.signature)
        .order_by(func.min(_SEVERITY_RANK), total.desc(), diffs.c.kind, diffs.c.signature)
        .limit(CLUSTERS_SHOWN)
    )
    return tuple(Cluster(kind=kind, signature=signature, severity=_SEVERITIES[rank], count=count) for kind, signature, rank, count in rows)


async def _latest(connection: AsyncConnection, since: datetime | None, limit: int) -> tuple[DiffLine, ...]:
    source, condition = _compared_turns(since)
    rows = await connection.execute(
        select(
            diffs.c.kind,
            diffs.c.signature,
            diffs.c.severity,
            comparisons.c.primary_backend,
            comparisons.c.shadow_backend,
            comparisons.c.from_stage,
            comparisons.c.turn_id,
            diffs.c.created_at,
            diffs.c.detail,
        )
        .select_from(diffs.join(source, diffs.c.comparison_id == comparisons.c.comparison_id))
        .where(condition, diffs.c.severity != "info")
        .order_by(diffs.c.diff_id.desc())
        .limit(limit)
    )
    return tuple(_diff_line(dict(row)) for row in rows.mappings())


def _diff_line(row: Any) -> DiffLine:
    return DiffLine(**row | {"turn_id": str(row["turn_id"])})
