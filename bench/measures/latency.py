"""P3: what a caller waits longer for at one connection, the durable commit included. Percentiles are of all rounds together, and the
upstream's own median is taken off all of them: its tail is not credited to us."""

import random
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median

from bench.figures import Figure, percentile
from bench.load import Load, for_calls, side_by_side
from bench.measures.measure import Part, Seen, pooled
from bench.stand import Stand
from bench.upstream import SHORT

CALLS, TIMES = 50, 4
GOALS_MS: Mapping[str, float | None] = {"p50": 3.0, "p95": None, "p99": 8.0}


class Latency:
    name = "latency"

    @property
    def parts(self) -> Sequence[Part]:
        return (_side_by_side,)

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
        detail={f"{door} ms": percentile(_totals(seen, door), share) for door in seen},
    )


def _totals(seen: Seen, door: str) -> list[float]:
    return pooled(seen[door], lambda load: load.total_ms)


async def _side_by_side(stand: Stand, order: random.Random) -> dict[str, Load]:
    doors = (stand.direct, stand.stored, stand.proxy)
    return await side_by_side({door.name: partial(for_calls, door, SHORT, CALLS) for door in doors}, times=TIMES, order=order)
