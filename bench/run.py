"""The run: warm up, then rounds in which every part of every measure is visited once, in an order drawn anew."""

import os
import platform
import random
from collections.abc import Callable, Collection, Mapping
from typing import Any

from bench.figures import Figure
from bench.load import Load, Target, for_seconds
from bench.measures.graph_turn import GraphTurn
from bench.measures.info import Info
from bench.measures.json_turn import JsonTurn
from bench.measures.latency import Latency
from bench.measures.long_session import LongSession, age
from bench.measures.measure import Measure
from bench.measures.shadow_tax import ShadowTax
from bench.measures.streamed_turn import StreamedTurn
from bench.sessions import PHOTO, QUESTION
from bench.stand import Stand, streamed
from bench.upstream import BURST, SHORT

MEASURES: tuple[Measure, ...] = (JsonTurn(), StreamedTurn(), Latency(), ShadowTax(), GraphTurn(), LongSession(), Info())
WARM_UP_SECONDS = 0.7
WARM_UP_CONNECTIONS = 16


async def measure(stand: Stand, *, rounds: int, seed: int, tell: Callable[[str], None], only: Collection[str] = ()) -> dict[str, Figure]:
    """`only`: names of measures; empty means all. Raises WrongAnswer."""
    measures = [one for one in MEASURES if not only or one.name in only]
    await warm_up(stand)
    stand.stop_shadow()
    await age(stand)
    seen: dict[str, dict[str, list[Load]]] = {one.name: {} for one in measures}
    visits = [(one.name, part) for one in measures for part in one.parts]
    order = random.Random(seed)  # noqa: S311 - an order of visits, not a secret
    for number in range(1, rounds + 1):
        for name, part in order.sample(visits, len(visits)):
            for door, load in (await part(stand, order)).items():
                seen[name].setdefault(door, []).append(load)
        tell(f"round {number} of {rounds}")
    return {name: figure for one in measures for name, figure in one.figures(seen[one.name]).items()}


async def warm_up(stand: Stand) -> None:
    """Every door, both ways: connections, prepared statements and caches are there before anything counts."""
    for target in (stand.direct, stand.httpx, stand.aiohttp, stand.stored, stand.proxy, stand.sampled):
        await for_seconds(target, SHORT, WARM_UP_SECONDS, connections=WARM_UP_CONNECTIONS)
        if target is not stand.direct:
            await for_seconds(streamed(target), BURST, WARM_UP_SECONDS, connections=WARM_UP_CONNECTIONS)
    for target, text in local_doors(stand):
        await for_seconds(target, text, WARM_UP_SECONDS, connections=WARM_UP_CONNECTIONS)


def local_doors(stand: Stand) -> tuple[tuple[Target, str], ...]:
    """Doors that ask no FastGPT, each with what is said there."""
    return (
        (stand.photo, PHOTO),
        (stand.bare_photo, PHOTO),
        (stand.saved_photo, PHOTO),
        (stand.stock_photo, PHOTO),
        (stand.talk, QUESTION),
        (stand.bare_talk, QUESTION),
        (stand.get_info, "all"),
        (stand.bare_get_info, "all"),
        (stand.set_info, "倒车"),
        (stand.bare_set_info, "倒车"),
        (stand.graph_set_info, "倒车"),
    )


def document(figures: Mapping[str, Figure], *, seed: int, load_before: float) -> dict[str, Any]:
    """The shape of build/bench.json. `load_before`: the machine's load average when the run began, to tell a busy machine from a slow
    turn."""
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_average_before": round(load_before, 2),
    }
    return {"schema_version": 1, "machine": machine, "seed": seed, "figures": {name: figure.as_json() for name, figure in figures.items()}}
