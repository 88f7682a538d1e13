"""Every copy of a session against the session: what is found, what is left alone, and that a mended conversation goes on as its twin."""

import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio

from domain.backend_name import BackendName
from domain.thread_id import thread_id
from rollout.reconcile import Examined, reconcile
from storage.sessions import SessionRows
from tests.fakes.both_sides import KEY, Upstreams, both_backends, said_in, upstreams
from tests.fakes.house import House, open_house
from wiring.clock import SystemClock
from wiring.database import Database

pytestmark = [pytest.mark.contract, pytest.mark.integration]

F, L = BackendName.FASTGPT, BackendName.LANGGRAPH
SAID = said_in("single_normal")


@dataclass(slots=True)
class World:
    house: House
    up: Upstreams
    upstream: httpx.AsyncClient

    async def play(self, session: str, said: list[str], on: BackendName = F) -> list[str]:
        await self.house.publish(override=on)
        stages: list[str] = []
        for text in said:
            answer = (await self.house.chat(session, text, Idempotency_Key=uuid.uuid4().hex)).json()
            assert answer["code"] == "200"
            stages.append(answer["nextStageCode"])
        return stages

    async def examined(self, session: str | None = None, *, mend: bool = False) -> list[Examined]:
        rows = SessionRows(self.house.pool, self.house.store)
        tenant = "t1" if session else None
        return [one async for one in reconcile(rows, self.house.backends, tenant_id=tenant, session_id=session, mend=mend)]

    async def differences(self, session: str) -> dict[BackendName, tuple[str, ...]]:
        (found,) = await self.examined(session)
        return dict(found.differences)

    async def talk_behind_our_back(self, chat_id: str, text: str, **variables: Any) -> None:
        body = {
            "chatId": chat_id,
            "stream": False,
            "detail": False,
            "variables": variables,
            "messages": [{"role": "user", "content": text}],
        }
        assert (await self.upstream.post("/api/v1/chat/completions", json=body)).status_code == 200


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(database: Database) -> AsyncGenerator[World]:
    async with (
        upstreams() as up,
        both_backends(database, up) as backends,
        open_house(database, backends, SystemClock(), default=F) as house,
        httpx.AsyncClient(base_url=up.fastgpt_url, headers={"authorization": f"Bearer {KEY}"}) as upstream,
    ):
        yield World(house, up, upstream)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("on", [F, L])
async def test_a_conversation_that_went_well_differs_at_no_turn_of_its_life(world: World, on):
    session = f"well-{on}"
    for number, text in enumerate(SAID):
        await world.play(session, [text], on)
        if number == 4:
            await world.house.call("/set_info", {"sessionId": session, "key": "sjhm1", "value": "13900139000"})
        assert await world.differences(session) == {}, (number, text)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_chat_that_was_talked_to_behind_our_back_is_found_given_up_and_the_twin_s_way_gone(world: World):
    session = "behind"
    expected = await world.play("behind-twin", SAID)
    told = await world.play(session, SAID[:8])
    chat_id = world.up.calls[-1]["chatId"]
    await world.talk_behind_our_back(chat_id, "【拍摄完成】", sgyy="追尾")
    assert await world.differences(session) == {F: ("chat_stage", "chat_answer", "field:sgyy")}
    (found,) = await world.examined(session, mend=True)
    assert found.is_mended
    assert await world.differences(session) == {}  # the old chat is no copy any more
    told += await world.play(session, SAID[8:])
    assert told == expected
    assert world.up.calls[-1]["chatId"] != chat_id
    assert await world.differences(session) == {}


@pytest.mark.asyncio(loop_scope="module")
async def test_a_chat_that_is_gone_is_found_and_mended(world: World):
    session = "gone"
    await world.play(session, SAID[:6])
    chat_id = world.up.calls[-1]["chatId"]
    await world.upstream.delete("/api/core/chat/delHistory", params={"chatId": chat_id, "appId": "a"})
    assert await world.differences(session) == {F: ("chat_missing",)}
    await world.examined(session, mend=True)
    assert (await world.play(session, SAID[6:8]))[-1] == "2003"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("change", "name"),
    [("'{channel_values,version}', '9'", "checkpoint_ahead"), ("'{channel_values,next_stage}', '\"2005\"'", "checkpoint_stage")],
)
async def test_a_checkpoint_that_says_otherwise_is_found_and_dropped(world: World, change, name):
    session = f"kept-{name}"
    await world.play(session, SAID[:5], L)
    thread = thread_id("t1", session)
    await world.house.pool.execute(
        f"UPDATE langgraph.checkpoints SET checkpoint = jsonb_set(checkpoint, {change}) WHERE thread_id = $1", thread
    )
    assert await world.differences(session) == {L: (name,)}
    (found,) = await world.examined(session, mend=True)
    assert found.is_mended
    assert await world.house.pool.fetchval("SELECT count(*) FROM langgraph.checkpoints WHERE thread_id = $1", thread) == 0
    assert (await world.play(session, SAID[5:7], L))[-1] == "2002"
    assert await world.differences(session) == {}


@pytest.mark.asyncio(loop_scope="module")
async def test_a_session_in_the_middle_of_a_turn_is_left_alone_and_said_to_be(world: World):
    session = "busy"
    await world.play(session, SAID[:2])
    rows = SessionRows(world.house.pool, world.house.store)
    held = await rows.hold("t1", session)
    assert held is not None
    (found,) = await world.examined(session, mend=True)
    assert (dict(found.differences), set(found.unknown.values())) == ({}, {"busy"})
    await rows.release(held)
    assert await world.differences(session) == {}


@pytest.mark.asyncio(loop_scope="module")
async def test_all_sessions_are_looked_at_and_each_gets_its_lease_back(world: World):
    await world.play("one-of-many", SAID[:1])
    found = await world.examined()
    count = await world.house.pool.fetchval("SELECT count(*) FROM app.accident_sessions WHERE status <> 'erased'")
    assert len({(one.tenant_id, one.session_id) for one in found}) == len(found) == count
    assert await world.house.pool.fetchval("SELECT count(*) FROM app.session_leases") == 0


@pytest.mark.asyncio(loop_scope="module")
async def test_an_upstream_that_is_away_makes_a_copy_unknown_and_not_equal(world: World):
    session = "away"
    await world.play(session, SAID[:2])
    async with both_backends(world.house.database, Upstreams(fastgpt_url="http://127.0.0.1:9", model_url="http://x")) as away:
        rows = SessionRows(world.house.pool, world.house.store)
        (found,) = [one async for one in reconcile(rows, {F: away[F]}, tenant_id="t1", session_id=session, mend=True)]
    assert (dict(found.differences), dict(found.unknown), found.is_mended) == ({}, {F: "unreachable"}, False)
