"""P2: a streamed turn of 60 chunks: CPU for each chunk at load, and at one connection the first byte and the gaps.

Chunks come 2 ms apart, so that each is handled by itself as a model's tokens are; `burst` is the same answer in one go, for orientation.
"""

import random
from collections.abc import Sequence
from functools import partial
from statistics import median

from bench.figures import Figure, of_rounds
from bench.load import Load, Target, for_calls, for_seconds, side_by_side
from bench.measures.measure import Part, Seen, ratios
from bench.stand import Stand, streamed
from bench.upstream import BURST, CHUNKS, PACED

CONNECTIONS = 6
SECONDS, TIMES = 0.7, 2
QUIET_CALLS = 8
GOAL, TTFB_GOAL_MS, GAP_GOAL_MS = 1.3, 3.0, 0.1
PEERS = ("httpx", "aiohttp", "stored", "proxy")


class StreamedTurn:
    name = "sse"

    @property
    def parts(self) -> Sequence[Part]:
        return (_paced, _burst, _quiet)

    def figures(self, seen: Seen) -> dict[str, Figure]:
        paced = {f"{name} µs": median(_chunk_us(load) for load in seen[f"paced {name}"]) for name in PEERS}
        return {
            "P2": of_rounds(
                ratios(seen, "paced proxy", "paced aiohttp", _chunk_us),
                what="SSE turn: CPU per chunk ÷ bare FastAPI + aiohttp, the tag parsed",
                unit="×",
                goal=GOAL,
                detail=paced,
            ),
            "P2.stored": of_rounds(
                ratios(seen, "paced proxy", "paced stored", _chunk_us), what="SSE turn: CPU per chunk ÷ bare + transactions", unit="×"
            ),
            "P2.burst": of_rounds(
                ratios(seen, "burst proxy", "burst stored", _chunk_us), what="SSE turn in one go: CPU ÷ bare + transactions", unit="×"
            ),
            "P2.ttfb": of_rounds(
                _added(seen, "first_byte_ms"),
                what="SSE turn: first byte, added to the upstream's own, p50",
                unit="ms",
                goal=TTFB_GOAL_MS,
                detail={name: median(_medians(seen, f"quiet {name}", "first_byte_ms")) for name in ("direct", "aiohttp", "proxy")},
            ),
            "P2.gap": of_rounds(
                _added(seen, "gap_ms"),
                what="SSE turn: gap between chunks, added to the upstream's own, p50",
                unit="ms",
                goal=GAP_GOAL_MS,
                detail={name: median(_medians(seen, f"quiet {name}", "gap_ms")) for name in ("direct", "aiohttp", "proxy")},
            ),
        }


def _chunk_us(load: Load) -> float:
    return load.cpu_ms_per_call * 1000 / CHUNKS


def _medians(seen: Seen, name: str, values: str) -> list[float]:
    return [median(getattr(load, values)) for load in seen[name]]


def _added(seen: Seen, values: str) -> list[float]:
    return [
        ours - theirs for ours, theirs in zip(_medians(seen, "quiet proxy", values), _medians(seen, "quiet direct", values), strict=True)
    ]


def _doors(stand: Stand, *names: str) -> dict[str, Target]:
    return {name: stand.direct if name == "direct" else streamed(getattr(stand, name)) for name in names}


async def _paced(stand: Stand, order: random.Random) -> dict[str, Load]:
    doors = _doors(stand, *PEERS)
    return await side_by_side(
        {f"paced {name}": partial(for_seconds, door, PACED, SECONDS, connections=CONNECTIONS) for name, door in doors.items()},
        times=TIMES,
        order=order,
    )


async def _burst(stand: Stand, order: random.Random) -> dict[str, Load]:
    doors = _doors(stand, "stored", "proxy")
    return await side_by_side(
        {f"burst {name}": partial(for_seconds, door, BURST, SECONDS, connections=CONNECTIONS) for name, door in doors.items()},
        times=TIMES,
        order=order,
    )


async def _quiet(stand: Stand, order: random.Random) -> dict[str, Load]:
    doors = _doors(stand, "direct", "aiohttp", "proxy")
    return await side_by_side(
        {f"quiet {name}": partial(for_calls, door, PACED, QUIET_CALLS) for name, door in doors.items()}, times=TIMES, order=order
    )
