"""P4: what a turn pays for being shadowed: latency of sampled turns against turns that aren't, the worker dead or busy with a slow model.

Both clients call the same process in the same round; the worker is stopped and continued by signals, so nothing is started anew.
"""

from collections.abc import Mapping
from statistics import median

from bench.figures import Figure, of_rounds, percentile
from bench.load import Load, Target, for_calls
from bench.measures.measure import Cell, Seen, pooled, ratios
from bench.stand import Stand
from bench.upstream import SHORT

CALLS = 250
P50_GOAL, P99_GOAL = 1.02, 1.1
CASES = {"dead": "the shadow at 100 %, its worker dead", "slow": "the shadow at 100 %, its worker at a model that takes 1 s"}


class ShadowTax:
    name = "shadow"

    @property
    def cells(self) -> Mapping[str, Cell]:
        return {"off": _off, "dead": _dead, "slow": _slow}

    def figures(self, seen: Seen) -> dict[str, Figure]:
        figures: dict[str, Figure] = {}
        off = pooled(seen["off"], _totals)
        for case, told in CASES.items():
            on = pooled(seen[case], _totals)
            figures[f"P4.{case}.p50"] = of_rounds(
                ratios(seen, case, "off", lambda load: median(load.total_ms)),
                what=f"turn's latency with {told} ÷ off, p50",
                unit="×",
                goal=P50_GOAL,
                detail={"off ms": median(off), "on ms": median(on)},
            )
            figures[f"P4.{case}.p99"] = Figure(
                what=f"turn's latency with {told} ÷ off, p99",
                measured=percentile(on, 0.99) / percentile(off, 0.99),
                unit="×",
                rounds=len(seen[case]),
                goal=P99_GOAL,
                detail={"off ms": percentile(off, 0.99), "on ms": percentile(on, 0.99)},
            )
        return figures


def _totals(load: Load) -> list[float]:
    return load.total_ms


async def _off(stand: Stand) -> Load:
    return await _latency(stand.proxy)


async def _dead(stand: Stand) -> Load:
    return await _latency(stand.sampled)


async def _slow(stand: Stand) -> Load:
    stand.let_shadow_work()
    try:
        return await _latency(stand.sampled)
    finally:
        stand.stop_shadow()


async def _latency(target: Target) -> Load:
    return await for_calls(target, SHORT, CALLS)
