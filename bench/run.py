"""The run: warm up, then rounds in which every part of every measure is visited once, in an order drawn anew."""

import os
import platform
import random
from collections.abc import Callable, Mapping
from typing import Any

from bench.figures import Figure
from bench.load import Load, for_seconds
from bench.measures.json_turn import JsonTurn
from bench.measures.latency import Latency
from bench.measures.measure import Measure
from bench.measures.shadow_tax import ShadowTax
from bench.measures.streamed_turn import StreamedTurn
from bench.stand import Stand, streamed
from bench.upstream import BURST, SHORT

MEASURES: tuple[Measure, ...] = (JsonTurn(), StreamedTurn(), Latency(), ShadowTax())
WARM_UP_SECONDS = 0.7
WARM_UP_CONNECTIONS = 16


async def measure(stand: Stand, *, rounds: int, seed: int, tell: Callable[[str], None]) -> dict[str, Figure]:
    """Raises WrongAnswer."""
    await warm_up(stand)
    stand.stop_shadow()
    seen: dict[str, dict[str, list[Load]]] = {one.name: {} for one in MEASURES}
    visits = [(one.name, part) for one in MEASURES for part in one.parts]
    order = random.Random(seed)  # noqa: S311 - an order of visits, not a secret
    for number in range(1, rounds + 1):
        for name, part in order.sample(visits, len(visits)):
            for door, load in (await part(stand, order)).items():
                seen[name].setdefault(door, []).append(load)
        tell(f"round {number} of {rounds}")
    return {name: figure for one in MEASURES for name, figure in one.figures(seen[one.name]).items()}


async def warm_up(stand: Stand) -> None:
    """Every door, both ways: connections, prepared statements and caches are there before anything counts."""
    for target in (stand.direct, stand.httpx, stand.aiohttp, stand.stored, stand.proxy, stand.sampled):
        await for_seconds(target, SHORT, WARM_UP_SECONDS, connections=WARM_UP_CONNECTIONS)
        if target is not stand.direct:
            await for_seconds(streamed(target), BURST, WARM_UP_SECONDS, connections=WARM_UP_CONNECTIONS)


def document(figures: Mapping[str, Figure], *, seed: int, load_before: float) -> dict[str, Any]:
    """The shape of build/bench.json. `load_before`: the machine's load average when the run began, to tell a busy machine from a slow
    turn."""
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_average_before": round(load_before, 2),
    }
    return {"schema_version": 1, "machine": machine, "seed": seed, "figures": {name: figure.as_json() for name, figure in figures.items()}}
