"""P4: what a turn pays for being shadowed: latency of sampled turns against turns that aren't, the worker dead or busy with a slow model.

Both clients call the same process, block by block in turns. The worker is stopped and continued by signals, so nothing is started anew.
"""

import random
from collections.abc import Sequence
from functools import partial
from statistics import median

from bench.figures import Figure, of_rounds, percentile
from bench.load import Load, for_calls, side_by_side
from bench.measures.measure import Part, Seen, pooled, ratios
from bench.stand import Stand
from bench.upstream import SHORT

CALLS, TIMES = 50, 5
P50_GOAL, P99_GOAL = 1.02, 1.1
CASES = {"dead": "its worker dead", "slow": "its worker at a model that takes 1 s"}


class ShadowTax:
    name = "shadow"

    @property
    def parts(self) -> Sequence[Part]:
        return (_dead, _slow)

    def figures(self, seen: Seen) -> dict[str, Figure]:
        return {name: figure for case, told in CASES.items() for name, figure in _figures(seen, case, told).items()}


def _figures(seen: Seen, case: str, told: str) -> dict[str, Figure]:
    on, off = pooled(seen[case], _totals), pooled(seen[f"{case} off"], _totals)
    return {
        f"P4.{case}.p50": of_rounds(
            ratios(seen, case, f"{case} off", lambda load: median(load.total_ms)),
            what=f"JSON turn shadowed, {told}: latency ÷ shadow off, p50",
            unit="×",
            goal=P50_GOAL,
            detail={"off ms": median(off), "on ms": median(on)},
        ),
        f"P4.{case}.p99": Figure(
            what=f"JSON turn shadowed, {told}: latency ÷ shadow off, p99",
            measured=percentile(on, 0.99) / percentile(off, 0.99),
            unit="×",
            rounds=len(seen[case]),
            goal=P99_GOAL,
            detail={"off ms": percentile(off, 0.99), "on ms": percentile(on, 0.99)},
        ),
    }


def _totals(load: Load) -> list[float]:
    return load.total_ms


async def _dead(stand: Stand, order: random.Random) -> dict[str, Load]:
    on, off = partial(for_calls, stand.sampled, SHORT, CALLS), partial(for_calls, stand.proxy, SHORT, CALLS)
    return await side_by_side({"dead": on, "dead off": off}, times=TIMES, order=order)


async def _slow(stand: Stand, order: random.Random) -> dict[str, Load]:
    async def on() -> Load:
        stand.let_shadow_work()
        try:
            return await for_calls(stand.sampled, SHORT, CALLS)
        finally:
            stand.stop_shadow()

    return await side_by_side({"slow": on, "slow off": partial(for_calls, stand.proxy, SHORT, CALLS)}, times=TIMES, order=order)
