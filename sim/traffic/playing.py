"""Plays many conversations at once, at a chosen pace, and adds up what happened."""

import asyncio
import random
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import aiohttp

from sim.traffic.partner import CallReport, Partner
from sim.traffic.scenario import Scenario, cast_of

MAX_ERRORS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """`rate_per_s` limits all calls together (0: as fast as answers come), `at_once` the conversations under way."""

    base_url: str
    callers: Sequence[tuple[str, str]]
    scenarios: Sequence[Scenario]
    sessions: int
    stream_share: float = 0.5
    rate_per_s: float = 0.0
    at_once: int = 8
    seed: int = 0


@dataclass(slots=True, kw_only=True)
class Tally:
    turns: int = 0
    answered: int = 0
    errors: Counter[str] = field(default_factory=Counter[str])

    def add(self, report: CallReport) -> None:
        self.turns += 1
        self.answered += report.ok
        if report.error:
            self.errors[f"{report.call}:{report.error}"] += 1

    @property
    def is_clean(self) -> bool:
        return self.turns > 0 and self.turns == self.answered

    def summary(self) -> dict[str, object]:
        shown = [f"{error} x{count}" for error, count in self.errors.most_common(MAX_ERRORS_SHOWN)]
        return {"done": True, "turns": self.turns, "answered": self.answered, "errors": shown}


class Pace:
    """Hands out moments, evenly spaced; a rate of 0 never waits."""

    def __init__(self, rate_per_s: float) -> None:
        self._gap_s = 1 / rate_per_s if rate_per_s > 0 else 0.0
        self._next_s = 0.0

    async def wait(self) -> None:
        if not self._gap_s:
            return
        now = asyncio.get_running_loop().time()
        at = max(now, self._next_s)
        self._next_s = at + self._gap_s
        await asyncio.sleep(at - now)


async def play(plan: Play, tell: Callable[[CallReport], None]) -> Tally:
    """Every report goes to `tell` as it happens."""
    tally, pace = Tally(), Pace(plan.rate_per_s)
    chance, run_id = random.Random(plan.seed), secrets.token_hex(4)
    gate = asyncio.Semaphore(max(1, plan.at_once))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        partners = [Partner(http, plan.base_url, name=name, key=key) for name, key in plan.callers]

        async def one(index: int, scenario: Scenario, *, stream: bool) -> None:
            async with gate:
                await pace.wait()
                async for report in partners[index % len(partners)].play(scenario, f"sim-{run_id}-{index}", stream=stream):
                    tally.add(report)
                    tell(report)
                    await pace.wait()

        async with asyncio.TaskGroup() as group:
            for index, scenario in enumerate(cast_of(plan.scenarios, plan.sessions, plan.seed)):
                group.create_task(one(index, scenario, stream=chance.random() < plan.stream_share))
    return tally
