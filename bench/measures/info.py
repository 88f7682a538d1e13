"""P8: /get_info and /set_info as CPU of the server process at full load, against the same statements behind bare FastAPI; and their latency
at one connection."""

import random
from collections.abc import Sequence
from functools import partial

from bench.figures import Figure, of_rounds, percentile
from bench.load import Load, Target, for_calls, for_seconds, side_by_side
from bench.measures.measure import Part, Seen, pooled, ratios
from bench.stand import Stand

CONNECTIONS = 16
SECONDS, TIMES = 0.5, 2
QUIET_CALLS = 40
GOAL = 1.3
SHARES = {"p50 ms": 0.5, "p95 ms": 0.95, "p99 ms": 0.99}


class Info:
    name = "info"

    @property
    def parts(self) -> Sequence[Part]:
        return (_busy, _quiet)

    def figures(self, seen: Seen) -> dict[str, Figure]:
        return {
            "P8.get": _figure(seen, "get_info", "get_info", GOAL, "/get_info: CPU ÷ bare + one select"),
            "P8.set": _figure(seen, "set_info", "set_info", GOAL, "/set_info, session of FastGPT: CPU ÷ bare + one transaction"),
            "P8.set.graph": _figure(
                seen, "graph set_info", "set_info", None, "/set_info, session of LangGraph: CPU ÷ bare + one transaction"
            ),
        }


def _figure(seen: Seen, name: str, bare: str, goal: float | None, what: str) -> Figure:
    waited = pooled(seen[f"quiet {name}"], lambda load: load.total_ms)
    detail = {label: percentile(waited, share) for label, share in SHARES.items()}
    over, under = f"busy {name}", f"busy bare {bare}"
    detail |= {"ours CPU ms": _cpu(seen[over][-1]), "bare CPU ms": _cpu(seen[under][-1])}
    return of_rounds(ratios(seen, over, under, _cpu), what=what, unit="×", goal=goal, detail=detail)


def _cpu(load: Load) -> float:
    return load.cpu_ms_per_call


def _doors(stand: Stand) -> dict[str, tuple[Target, str]]:
    return {
        "get_info": (stand.get_info, "all"),
        "bare get_info": (stand.bare_get_info, "all"),
        "set_info": (stand.set_info, "倒车"),
        "bare set_info": (stand.bare_set_info, "倒车"),
        "graph set_info": (stand.graph_set_info, "倒车"),
    }


async def _busy(stand: Stand, order: random.Random) -> dict[str, Load]:
    parts = {
        f"busy {name}": partial(for_seconds, door, text, SECONDS, connections=CONNECTIONS) for name, (door, text) in _doors(stand).items()
    }
    return await side_by_side(parts, times=TIMES, order=order)


async def _quiet(stand: Stand, order: random.Random) -> dict[str, Load]:
    parts = {f"quiet {name}": partial(for_calls, door, text, QUIET_CALLS) for name, (door, text) in _doors(stand).items()}
    return await side_by_side(parts, times=TIMES, order=order)
