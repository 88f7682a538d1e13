"""P1: a JSON turn served by FastGPT at full load, as CPU of the server process and as throughput."""

import random
from collections.abc import Sequence
from functools import partial
from statistics import median

from bench.figures import Figure, of_rounds
from bench.load import Load, Target, for_seconds, side_by_side
from bench.measures.measure import Part, Seen, ratios
from bench.stand import Stand
from bench.upstream import SHORT

CONNECTIONS = 16
SECONDS, TIMES = 0.7, 2
GOAL = 1.3
HEADROOM = 3.0  # the upstream must be this much faster than what is measured through it


class JsonTurn:
    name = "json"

    @property
    def parts(self) -> Sequence[Part]:
        return (_side_by_side,)

    def figures(self, seen: Seen) -> dict[str, Figure]:
        cpu = {name: median(load.cpu_ms_per_call for load in loads) for name, loads in seen.items()}
        rate = {name: median(load.calls_per_s for load in loads) for name, loads in seen.items()}
        return {
            "P1": of_rounds(
                ratios(seen, "proxy", "stored", _cpu),
                what="JSON turn: CPU of our turn ÷ bare pass-through + transactions",
                unit="×",
                goal=GOAL,
                detail={f"{name} ms": value for name, value in cpu.items()},
            ),
            "P1.throughput": of_rounds(
                ratios(seen, "stored", "proxy", _rate),
                what="JSON turn: turns/s of bare + transactions ÷ ours",
                unit="×",
                goal=GOAL,
                detail={f"{name}/s": value for name, value in rate.items()},
            ),
            "P1.bare": of_rounds(
                ratios(seen, "proxy", "httpx", _cpu), what="JSON turn: CPU ÷ bare pass-through that stores nothing", unit="×"
            ),
            "upstream": of_rounds(
                ratios(seen, "direct", "stored", _rate),
                what="the upstream called directly: calls/s ÷ the fastest stored turn",
                unit="×",
                goal=HEADROOM,
                sense="at_least",
            ),
        }


def _cpu(load: Load) -> float:
    return load.cpu_ms_per_call


def _rate(load: Load) -> float:
    return load.calls_per_s


async def _side_by_side(stand: Stand, order: random.Random) -> dict[str, Load]:
    doors = (stand.direct, stand.httpx, stand.aiohttp, stand.stored, stand.proxy)
    return await side_by_side({door.name: partial(_burst, door) for door in doors}, times=TIMES, order=order)


async def _burst(target: Target) -> Load:
    return await for_seconds(target, SHORT, SECONDS, connections=CONNECTIONS)
