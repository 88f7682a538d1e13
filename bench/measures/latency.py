"""P3: what a caller waits longer for at one connection, the durable commit included. Percentiles are of all rounds together, and the
upstream's own median is taken off all of them: its tail is not credited to us."""

from collections.abc import Mapping
from statistics import median

from bench.figures import Figure, percentile
from bench.load import Load, Target, for_calls
from bench.measures.measure import Cell, Seen, pooled
from bench.stand import Stand
from bench.upstream import SHORT

CALLS = 200
GOALS_MS: Mapping[str, float | None] = {"p50": 3.0, "p95": None, "p99": 8.0}


class Latency:
    name = "latency"

    @property
    def cells(self) -> Mapping[str, Cell]:
        return {name: _cell(name) for name in ("direct", "stored", "proxy")}

    def figures(self, seen: Seen) -> dict[str, Figure]:
        base = median(_totals(seen, "direct"))
        return {f"P3.{name}": _figure(seen, name, base, goal) for name, goal in GOALS_MS.items()}


def _figure(seen: Seen, name: str, base: float, goal: float | None) -> Figure:
    share = int(name[1:]) / 100
    return Figure(
        what=f"JSON turn at 1 connection: latency added to the upstream's own, {name}",
        measured=percentile(_totals(seen, "proxy"), share) - base,
        unit="ms",
        rounds=len(seen["proxy"]),
        goal=goal,
        detail={f"{cell} ms": percentile(_totals(seen, cell), share) for cell in seen},
    )


def _totals(seen: Seen, cell: str) -> list[float]:
    return pooled(seen[cell], lambda load: load.total_ms)


def _cell(name: str) -> Cell:
    async def visit(stand: Stand) -> Load:
        target: Target = getattr(stand, name)
        return await for_calls(target, SHORT, CALLS)

    return visit
