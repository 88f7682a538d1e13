"""P7: what a session costs at about its 200th turn against its 5th: CPU of the server process, and bytes stored a turn.

The old sessions are played up to there before the run and go on in each round; the young ones are new each time.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from bench.figures import Figure, of_rounds
from bench.load import Load, in_sessions, side_by_side
from bench.measures.measure import Part, Seen, ratios
from bench.sessions import QUESTION, bytes_per_turn, names
from bench.stand import PLAIN, Stand

SESSIONS = 12
AGED_TURNS = 175  # before the first round; each of the five rounds adds ten
YOUNG_TURNS = 2  # before the measured ones
TURNS, TIMES = 5, 2
CPU_GOAL, BYTES_GOAL = 1.3, 1.1
_AGED = [f"aged-{number}" for number in range(SESSIONS)]
_young = names("young")


class LongSession:
    name = "long"

    @property
    def parts(self) -> Sequence[Part]:
        return (_side_by_side,)

    def figures(self, seen: Seen) -> dict[str, Figure]:
        return {
            "P7": of_rounds(
                ratios(seen, "aged", "young", lambda load: load.cpu_ms_per_call),
                what="LangGraph: CPU of a turn near the 200th of its session ÷ near the 5th",
                unit="×",
                goal=CPU_GOAL,
                detail={f"{name} ms": median(load.cpu_ms_per_call for load in loads) for name, loads in seen.items()},
            ),
            "P7.bytes": of_rounds(
                ratios(seen, "aged", "young", lambda load: load.stored_bytes[-1]),
                what="LangGraph: bytes stored a turn, session of some 200 turns ÷ of 7",
                unit="×",
                goal=BYTES_GOAL,
                detail={f"{name} bytes": median(load.stored_bytes[-1] for load in loads) for name, loads in seen.items()},
            ),
        }


async def age(stand: Stand) -> None:
    """Raises WrongAnswer."""
    await in_sessions(stand.talk, QUESTION, _AGED, AGED_TURNS)


async def _side_by_side(stand: Stand, order: random.Random) -> dict[str, Load]:
    async def aged() -> Load:
        return await _measured(stand, _AGED)

    async def young() -> Load:
        fresh = [_young() for _ in range(SESSIONS)]
        await in_sessions(stand.talk, QUESTION, fresh, YOUNG_TURNS)
        return await _measured(stand, fresh)

    return await side_by_side({"aged": aged, "young": young}, times=TIMES, order=order)


async def _measured(stand: Stand, sessions: list[str]) -> Load:
    load = await in_sessions(stand.talk, QUESTION, sessions, TURNS)
    return replace(load, stored_bytes=[await bytes_per_turn(stand.app_dsn, PLAIN, sessions)])
