"""Many cases on a few lanes: who plays which, what came of it. A case that could not be played is a finding like any other."""

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from tests.chaos.case import Case, NotReached
from tests.chaos.cells import Cell
from tests.chaos.evidence import Evidence
from tests.chaos.invariants import Violation, violations
from tests.chaos.lane import Lane, open_lane
from tests.chaos.shadow_case import ShadowCase
from tests.chaos.stand import Stand

CASE_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    cell: Cell
    seed: int
    seconds: float
    found: tuple[Violation, ...]
    evidence: Evidence | None  # None: the case broke


def cells_like(cells: Iterable[Cell], pattern: str) -> tuple[Cell, ...]:
    """Those whose name holds every word of the pattern."""
    return tuple(cell for cell in cells if all(word in cell.name for word in pattern.split()))


async def play(stand: Stand, cells: Sequence[Cell], seeds: Sequence[int], *, lanes: int, design: str = "") -> AsyncGenerator[Played]:
    """Every cell with every seed, as they end. The seeds go round the cells, so that a run that is cut short has seen all of them; the
    cells are mixed, because some can only be played one at a time."""
    mixed = random.Random(0).sample(cells, len(cells))
    waiting = deque((cell, seed) for seed in seeds for cell in mixed)
    done: asyncio.Queue[Played | None] = asyncio.Queue()

    async def work() -> None:
        async with open_lane(stand, design=design) as lane:
            while waiting:
                await done.put(await _played(lane, *waiting.popleft()))

    async with asyncio.TaskGroup() as group:
        working = [group.create_task(work()) for _ in range(min(lanes, len(waiting)))]
        ending = group.create_task(_end(working, done))
        while (one := await done.get()) is not None:
            yield one
        await ending


async def _end(working: list[asyncio.Task[None]], done: asyncio.Queue[Played | None]) -> None:
    await asyncio.wait(working)
    await done.put(None)


def case_of(lane: Lane, cell: Cell, seed: int) -> Case:
    return (ShadowCase if cell.kind == "shadow" else Case)(lane, cell, seed)


async def _played(lane: Lane, cell: Cell, seed: int) -> Played:
    began = time.monotonic()
    evidence: Evidence | None = None
    try:
        async with asyncio.timeout(CASE_SECONDS):
            evidence = await case_of(lane, cell, seed).played()
        found = violations(evidence)
    except NotReached as error:
        found = (Violation("unreached", f"the turn never came to {error}"),)
    except Exception as error:
        found = (Violation("broken", f"{type(error).__name__}: {error}"),)
    return Played(cell=cell, seed=seed, seconds=time.monotonic() - began, found=found, evidence=evidence)


async def all_played(stand: Stand, cells: Sequence[Cell], seeds: Sequence[int], *, lanes: int, design: str = "") -> list[Played]:
    async with aclosing(play(stand, cells, seeds, lanes=lanes, design=design)) as played:
        return [one async for one in played]
