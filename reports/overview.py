"""The overview: how far the two backends agree, where they part, and whether every turn is accounted for. Pure: counts in, a report out."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from domain.evidence import Cluster, DiffLine, KindAgreement, Ledger, Overview, StagePair
from domain.stages import STAGES, StageCode
from reports.table import Cell, Report, Table, Tone

NAME = "overview"
SCHEMA_VERSION = 1
_TONES: Mapping[str, Tone] = {"critical": "bad", "major": "warn", "minor": "plain", "info": "muted"}


def overview_report(overview: Overview, now: datetime) -> Report:
    headline, tone = _headline(overview)
    return Report(
        title="Shadow overview",
        headline=headline,
        headline_tone=tone,
        tables=(
            _agreement(overview.kinds),
            _ledger(overview.ledger),
            _confusion(overview.stages),
            _clusters(overview.clusters),
            _latest(overview.latest),
        ),
        facts=_facts(overview, now),
    )


def _headline(overview: Overview) -> tuple[str, Tone]:
    """The sentence somebody reads at three in the morning. Too little data and a ledger that does not add up come before any rate."""
    ledger = overview.ledger
    if ledger.unaccounted:
        return f"{ledger.unaccounted} eligible turns are not accounted for: trust none of the numbers below", "bad"
    if overview.comparisons == 0:
        waiting = f", {ledger.pending} waiting" if ledger.pending else ""
        return f"Not enough data: nothing compared yet{waiting}", "muted"
    critical = sum(cluster.count for cluster in overview.clusters if cluster.severity == "critical")
    told = f"{overview.comparisons} turns of {overview.sessions} sessions compared"
    if ledger.pending:
        told += f", {ledger.pending} waiting"
    if critical:
        return f"{told}: {critical} critical differences", "bad"
    differing = sum(kind.differing for kind in overview.kinds if kind.kind != "text")
    return (f"{told}: no critical difference, {differing} others", "warn") if differing else (f"{told}: both backends agree", "good")


def _percent(share: float | None) -> str:
    return "no data" if share is None else f"{share:.1%}"


def _agreement(kinds: Sequence[KindAgreement]) -> Table:
    def tone(kind: KindAgreement) -> Tone:
        if kind.agreement is None:
            return "muted"
        return "good" if kind.differing == 0 else "warn"

    return Table(
        title="Agreement by kind",
        columns=("kind", "agreement", "compared", "differing"),
        rows=[
            [Cell(kind.kind), Cell(_percent(kind.agreement), tone(kind)), Cell(str(kind.compared)), Cell(str(kind.differing))]
            for kind in kinds
        ],
        note="Share of compared turns without a difference of that kind. Wording alone (text) decides nothing.",
    )


def _ledger(ledger: Ledger) -> Table:
    def row(name: str, count: int, tone: Tone = "plain") -> list[Cell]:
        return [Cell(name, tone), Cell(str(count), tone)]

    parts = [("dropped", ledger.dropped), ("failed", ledger.failed), ("unreplayable", ledger.unreplayable)]
    return Table(
        title="Ledger",
        columns=("state", "turns"),
        rows=[
            row("eligible", ledger.eligible),
            row("compared", ledger.compared),
            row("pending", ledger.pending, "warn" if ledger.pending else "plain"),
            *(row(f"{state} · {reason or 'no reason'}", count) for state, reasons in parts for reason, count in sorted(reasons.items())),
            row("unaccounted", ledger.unaccounted, "bad" if ledger.unaccounted else "good"),
        ],
        note="Every turn of a sampled session is in exactly one state.",
    )


def _confusion(pairs: Sequence[StagePair]) -> Table:
    """Rows: what the caller got; columns: what the other backend would have said. Off the diagonal the two part."""
    order = [str(code) for code in StageCode]

    def place(code: str | None) -> int:
        return order.index(code) if code in order else len(order)

    rows_of = sorted({pair.primary for pair in pairs}, key=place)
    columns = sorted({pair.shadow for pair in pairs}, key=place)
    counts = {(pair.primary, pair.shadow): pair.count for pair in pairs}
    largest_off = max((count for (left, right), count in counts.items() if left != right), default=1)

    def cell(row: str | None, column: str | None) -> Cell:
        count = counts.get((row, column), 0)
        same = row == column
        if not count:
            return Cell("·", "muted", on_diagonal=same)
        return Cell(str(count), "good" if same else "warn", weight=None if same else count / largest_off, on_diagonal=same)

    return Table(
        title="Stage confusion matrix",
        columns=("served ↓ · shadow →", *(column or "failed" for column in columns)),
        rows=[[Cell(_stage_name(row)), *(cell(row, column) for column in columns)] for row in rows_of],
        note="Only the cells off the diagonal are shaded, by count.",
        is_heat_map=True,
        narrow=_confusion_as_list(pairs),
    )


def _confusion_as_list(pairs: Sequence[StagePair]) -> Table:
    apart = sorted((pair for pair in pairs if pair.primary != pair.shadow), key=lambda pair: -pair.count)
    together = sum(pair.count for pair in pairs if pair.primary == pair.shadow)
    return Table(
        title="Stages where the two part",
        columns=("served", "shadow", "turns"),
        rows=[[Cell(_stage_name(pair.primary)), Cell(_stage_name(pair.shadow)), Cell(str(pair.count), "warn")] for pair in apart],
        numeric_from=2,
        note=f"{together} turns on the same stage. The whole matrix needs a wider window, or --html.",
    )


def _stage_name(code: str | None) -> str:
    return f"{code} {STAGES[StageCode(code)].label}" if code else "failed"


def _clusters(clusters: Sequence[Cluster]) -> Table:
    return Table(
        title="Differences by signature",
        columns=("signature", "severity", "turns"),
        rows=[[Cell(one.signature), Cell(one.severity, _TONES[one.severity]), Cell(str(one.count))] for one in clusters],
        numeric_from=2,
    )


def _latest(lines: Sequence[DiffLine]) -> Table:
    return Table(
        title="Latest differences",
        columns=("when (UTC)", "served → shadow", "signature", "severity", "detail", "turn"),
        rows=[
            [
                Cell(f"{line.created_at.astimezone(UTC):%m-%d %H:%M:%S}", "muted"),
                Cell(f"{line.primary_backend} → {line.shadow_backend}"),
                Cell(line.signature),
                Cell(line.severity, _TONES[line.severity]),
                Cell(", ".join(f"{key} {value}" for key, value in line.detail.items())),
                Cell(line.turn_id[:8], "muted"),
            ]
            for line in lines
        ],
        numeric_from=9,
        note="Without differences in wording alone; those are counted above.",
    )


def _facts(overview: Overview, now: datetime) -> dict[str, Any]:
    ledger = overview.ledger
    return {
        "schema_version": SCHEMA_VERSION,
        "report": NAME,
        "made_at": now,
        "turns": dict(overview.turns_by_backend),
        "errors": overview.failed_turns,
        "sessions": overview.sessions,
        "comparisons": overview.comparisons,
        "agreement": {kind.kind: kind.agreement for kind in overview.kinds},
        "kinds": {kind.kind: {"compared": kind.compared, "differing": kind.differing} for kind in overview.kinds},
        "ledger": {
            "eligible": ledger.eligible,
            "compared": ledger.compared,
            "pending": ledger.pending,
            "dropped": dict(ledger.dropped),
            "failed": dict(ledger.failed),
            "unreplayable": dict(ledger.unreplayable),
            "unaccounted": ledger.unaccounted,
        },
        "stages": [{"primary": pair.primary, "shadow": pair.shadow, "count": pair.count} for pair in overview.stages],
        "clusters": [
            {"kind": one.kind, "signature": one.signature, "severity": one.severity, "count": one.count} for one in overview.clusters
        ],
        "latest": [
            {
                "kind": line.kind,
                "signature": line.signature,
                "severity": line.severity,
                "primary": line.primary_backend,
                "shadow": line.shadow_backend,
                "from_stage": line.from_stage,
                "turn_id": line.turn_id,
                "created_at": line.created_at,
                "detail": dict(line.detail),
            }
            for line in overview.latest
        ],
    }
