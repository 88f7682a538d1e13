"""Play golden conversations through the real door: a socket, PostgreSQL, the graph with its checkpoints, a model behind HTTP.

All conversations take their n-th step at once, and then the clock, which they share, moves on by two seconds: so every one of them lives
at the written time of day, no two photos of a session come in one breath, and playing takes as long as the longest of them.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from domain.plan import INITIAL_PLAN, PPM
from domain.session import SessionState
from proxy.auth.api_key import new_key
from storage.clients import add_client
from storage.engine import open_pool
from storage.plans import PlanRows
from storage.turns import TurnRows
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.model_server import Asked, ModelServer, model_server
from tests.fakes.partner import Answer, Manner, Partner
from tests.fakes.served import served
from tests.golden.scenarios import Play, Step
from wiring.database import Database
from wiring.services import open_proxy
from wiring.settings import AuthSettings, FastGptSettings, LlmSettings, Settings

PEPPER, TENANT = "pepper-of-tests", "t-golden"
BETWEEN_STEPS = timedelta(seconds=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way to play: how answers are asked for, and whether steps carry an Idempotency-Key and are then asked for again."""

    name: str
    manner: Manner
    again: Manner | None = None


JSON = Way(name="json", manner=Manner(), again=Manner(stream=True))
SSE = Way(name="sse", manner=Manner(stream=True), again=Manner())
CHUNKS = Way(name="chunks", manner=Manner(stream=True, chunks=True))  # without keys, as a partner who never retries
WAYS = (JSON, SSE, CHUNKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """One step as it went: what the partner was told, what the model was asked, what is stored afterwards."""

    step: Step
    request_id: str
    version_before: int
    answer: Answer | None  # None: a write
    again: Answer | None
    write_body: bytes
    asked: tuple[Asked, ...]
    unsaid: int
    turn: Mapping[str, Any] | None  # the newest row of app.turns
    state: SessionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    play: Play
    took: tuple[Took, ...]
    form: dict[str, Any]  # what /get_info tells in the end


class Hall:
    """One process's worth of house. `played` plays everything once for each way and remembers how it went."""

    def __init__(self, *, partner: Partner, model: ModelServer, clock: FixedClock, pool: asyncpg.Pool) -> None:
        self._partner = partner
        self._model = model
        self._clock = clock
        self._pool = pool
        self._store = TurnRows(pool, lease_seconds=30, wait_seconds=0, keep_replies=timedelta(hours=1))
        self._played: dict[str, dict[str, Played | Exception]] = {}

    async def played(self, plays: Iterable[Play], way: Way) -> dict[str, Played | Exception]:
        if way.name not in self._played:
            ended: dict[str, Played | Exception] = {}
            for start, group in groupby(sorted(plays, key=_start), key=_start):
                self._clock.at = start
                ended |= await self._play_abreast(list(group), way)
            self._played[way.name] = ended
        return self._played[way.name]

    async def _play_abreast(self, plays: list[Play], way: Way) -> dict[str, Played | Exception]:
        performances = [_Performance(play, way, self._partner, self._model, self._store, self._pool) for play in plays]
        for number in range(max(len(play.steps) for play in plays)):
            await asyncio.gather(*(one.take(number) for one in performances))
            self._clock.advance(BETWEEN_STEPS)
        return {one.play.name: await one.ended() for one in performances}


class _Performance:
    """One conversation on its way. The first thing that goes wrong ends it, and is told under its name."""

    def __init__(self, play: Play, way: Way, partner: Partner, model: ModelServer, store: TurnRows, pool: asyncpg.Pool) -> None:
        self.play = play
        self._way = way
        self._partner = partner
        self._model = model
        self._store = store
        self._pool = pool
        self._session = f"{play.name}-{way.name}-{uuid.uuid4().hex[:8]}"
        self._took: list[Took] = []
        self._error: Exception | None = None

    async def take(self, number: int) -> None:
        if self._error is None and number < len(self.play.steps):
            try:
                self._took.append(await self._take(self.play.steps[number], f"{self._session}-{number}"))
            except Exception as error:
                error.add_note(f"{self.play.name}, step {number}, {self._way.name}")
                self._error = error

    async def ended(self) -> Played | Exception:
        if self._error is not None:
            return self._error
        groups = await self._partner.read(self._session, "all")
        form = {key: value for group in groups.values() for key, value in group.items()}
        return Played(play=self.play, took=tuple(self._took), form=form)

    async def _take(self, step: Step, request_id: str) -> Took:
        self._model.then(request_id, *step.replies)
        key = request_id if self._way.again else None
        answer = again = None
        write_body = b""
        if step.write:
            write_body = (await self._partner.write(self._session, step.write.key, step.write.value, request_id=request_id)).content
        else:
            answer = await self._partner.chat(self._session, step.said, manner=self._way.manner, request_id=request_id, key=key)
            if self._way.again and answer.code == "200":
                repeated = f"{request_id}-again"
                again = await self._partner.chat(self._session, step.said, manner=self._way.again, request_id=repeated, key=key)
        state = await self._store.read(TENANT, self._session)
        assert state is not None
        return Took(
            step=step,
            request_id=request_id,
            version_before=self._took[-1].state.version if self._took else 0,
            answer=answer,
            again=again,
            write_body=write_body,
            asked=(*self._model.asked_by(request_id), *self._model.asked_by(f"{request_id}-again")),
            unsaid=self._model.unsaid(request_id),
            turn=await self._newest_turn(request_id),
            state=state,
        )

    async def _newest_turn(self, request_id: str) -> Mapping[str, Any] | None:
        row = await self._pool.fetchrow("SELECT status, backend, output_text, outcome FROM app.turns WHERE request_id = $1", request_id)
        return None if row is None else {**row, "outcome": json.loads(row["outcome"])}


def _start(play: Play) -> datetime:
    return play.start


def settings_for(place: Path, model_url: str) -> Settings:
    return Settings(
        state_dir=place,
        auth=AuthSettings(key_pepper=PEPPER),
        fastgpt=FastGptSettings(base_url="http://127.0.0.1:9", api_key="k", app_id="a"),  # nobody lives there, and nobody is sent there
        llm=LlmSettings(base_url=model_url, api_key="k", model="scripted"),
    )


async def admit_caller(database: Database, pool: asyncpg.Pool) -> str:
    """A client's key; everything new goes to LangGraph."""
    made = new_key(PEPPER)
    await add_client(
        database.migrator_dsn, tenant_id=TENANT, client_id=f"golden-{made.key_id}", key_id=made.key_id, credential_hash=made.secret_hash,
        scopes=["chat:write", "session:read", "session:write"], profile={},
    )  # fmt: skip
    plans = PlanRows(pool)
    document = {**INITIAL_PLAN, "traffic": {"langgraph_ppm": PPM}}
    await plans.publish(document, author="test", reason="", based_on=(await plans.latest()).version)
    return made.key


@asynccontextmanager
async def open_hall(database: Database, place: Path) -> AsyncGenerator[Hall]:
    clock = FixedClock(datetime.fromisoformat("2026-07-27T15:20:00+08:00"))
    async with open_pool(database.app_dsn, name="test-golden", size=4) as pool, model_server() as model:
        api_key = await admit_caller(database, pool)
        async with (
            open_proxy(settings_for(place, model.url), database, clock) as proxy,
            served(proxy.app) as url,
            httpx.AsyncClient(base_url=url, timeout=30) as http,
        ):
            yield Hall(partner=Partner(http, api_key), model=model, clock=clock, pool=pool)
