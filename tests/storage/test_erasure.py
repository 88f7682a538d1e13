"""Erasing a session: what was said leaves every table, checkpoint and chat; a retry of any kind answers 410; numbers of turns stay."""

import json
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from domain.backend_name import BackendName
from domain.errors import SessionErased
from storage.sessions import SessionRows
from storage.tables import metadata
from tests.fakes.both_sides import Upstreams, both_backends, said_in, upstreams
from tests.fakes.house import House, open_house
from wiring.clock import SystemClock
from wiring.database import Database

pytestmark = [pytest.mark.integration, pytest.mark.security]

F, L = BackendName.FASTGPT, BackendName.LANGGRAPH
SAID = said_in("single_normal")
SECRETS = ("张三", "A12345", "11010519491231002X", "11010519491231002x", "13800138000", "13900139000", "138 0013 8000")


@dataclass(slots=True)
class World:
    house: House
    up: Upstreams
    rows: SessionRows

    async def finished(self, session: str, on: BackendName) -> None:
        await self.house.publish(override=on)
        for number, text in enumerate(SAID):
            answer = await self.house.chat(session, text, Idempotency_Key=f"{session}-{number}")
            assert answer.json()["code"] == "200"
        for key in ("w", "same"):
            body = {"sessionId": session, "key": "sjhm1", "value": "13900139000"}
            await self.house.call("/set_info", body, Idempotency_Key=f"{session}-{key}")

    async def erase(self, session: str) -> None:
        held = await self.rows.hold("t1", session)
        assert held is not None
        await self.rows.erase(held)
        for backend in self.house.backends.values():
            await backend.forget("t1", session, await self.rows.memories("t1", session))

    async def everything(self, admin_dsn: str) -> str:
        """Every row of every table of ours and of LangGraph's, as text."""
        connection = await asyncpg.connect(admin_dsn)
        try:
            tables = [table.fullname for table in metadata.tables.values()]
            tables += [f"{schema}.{name}" for schema in ("langgraph",) for name in ("checkpoints", "checkpoint_blobs", "checkpoint_writes")]
            rows = [row for table in tables for row in await connection.fetch(f"SELECT t::text AS row FROM {table} t")]
            return "\n".join(row["row"] for row in rows)
        finally:
            await connection.close()


@pytest_asyncio.fixture
async def world(database: Database) -> AsyncGenerator[World]:
    async with (
        upstreams() as up,
        both_backends(database, up) as backends,
        open_house(database, backends, SystemClock(), default=F) as house,
    ):
        yield World(house, up, SessionRows(house.pool, house.store))


@pytest.mark.parametrize("on", [F, L])
async def test_nothing_of_what_was_said_is_left_and_the_count_of_turns_is(world: World, database: Database, on):
    session = f"erase-{on}-{uuid.uuid4().hex[:6]}"
    await world.finished(session, on)
    before = await world.everything(database.admin_dsn)
    assert all(secret in before for secret in ("张三", "A12345", "11010519491231002X", "13800138000", "13900139000"))
    turns = await world.house.pool.fetchval("SELECT count(*) FROM app.turns WHERE session_id = $1", session)
    await world.erase(session)
    after = await world.everything(database.admin_dsn)
    assert [secret for secret in SECRETS if secret in after] == []
    assert "撞到柱子" not in after
    assert await world.house.pool.fetchval("SELECT count(*) FROM app.turns WHERE session_id = $1", session) == turns == len(SAID) + 1
    assert await world.house.pool.fetchval("SELECT status FROM app.accident_sessions WHERE session_id = $1", session) == "erased"
    chats = {call["chatId"] for call in world.up.calls}
    for chat in chats:
        deleted = [path for method, path in world.up.reads if method == "DELETE"]
        assert len(deleted) >= len(chats), chat


@pytest.mark.parametrize("on", [F, L])
async def test_every_call_of_an_erased_session_answers_410_and_a_neighbour_s_does_not(world: World, on):
    session, neighbour = f"gone-{on}", f"neighbour-{on}"
    await world.finished(session, on)
    await world.finished(neighbour, on)
    await world.erase(session)
    calls: list[tuple[str, dict[str, Any], str | None]] = [
        ("/chat", {"text": SAID[3], "needFormUpdate": True, "useTextChunk": False}, f"{session}-3"),  # a retry with its stored key
        ("/chat?stream=true", {"text": SAID[3], "needFormUpdate": True, "useTextChunk": False}, f"{session}-3"),
        ("/chat", {"text": "还在吗"}, None),
        ("/set_info", {"key": "sjhm1", "value": "13900139000"}, f"{session}-w"),
        ("/set_info", {"key": "sjhm1", "value": "13900139000"}, f"{session}-same"),  # it had changed nothing, so no turn knows of it
        ("/set_info", {"key": "sjhm1", "value": "13700137000"}, None),
        ("/get_info", {"key": "sjhm1"}, None),
    ]
    for path, body, key in calls:
        headers = {"Idempotency_Key": key} if key else {}
        answer = await world.house.call(path, {"sessionId": session, **body}, **headers)
        assert (answer.json()["code"], answer.headers["X-Error-Type"]) == ("410", "SESSION_ERASED"), path
    again = await world.house.chat(neighbour, SAID[3], Idempotency_Key=f"{neighbour}-3")
    assert again.headers["Idempotency-Replayed"] == "true"
    assert json.loads((await world.house.call("/get_info", {"sessionId": neighbour, "key": "sjhm1"})).json()["value"]) == "13900139000"
    assert await world.house.pool.fetchval("SELECT count(*) FROM app.session_leases") == 0


async def test_a_retry_by_event_id_answers_410_too(world: World):
    body = {"sessionId": "by-event", "text": SAID[0], "eventId": "E-77"}
    await world.house.publish(override=L)
    assert (await world.house.call("/chat", body)).json()["code"] == "200"
    await world.erase("by-event")
    assert (await world.house.call("/chat", body)).json()["code"] == "410"


async def test_an_erased_session_is_held_no_more_and_its_memories_can_be_asked_for_again(world: World):
    await world.finished("twice", F)
    await world.erase("twice")
    with pytest.raises(SessionErased):
        await world.rows.hold("t1", "twice")
    assert await world.rows.memories("t1", "twice") != []
