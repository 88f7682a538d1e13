"""A turn that was never committed is void: whatever it did upstream, the conversation goes on as that of a twin it never happened to.
Played against the emulated FastGPT, whose own memory has moved each time."""

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from domain.backend_name import BackendName
from domain.errors import StoreUnavailable
from tests.fakes.both_sides import Upstreams, both_backends, said_in, upstreams
from tests.fakes.house import House, open_house
from tests.fakes.values import a_turn
from wiring.clock import SystemClock
from wiring.database import Database

pytestmark = [pytest.mark.contract, pytest.mark.integration]

F = BackendName.FASTGPT
SAID = said_in("double_normal")


@dataclass(slots=True)
class World:
    house: House
    up: Upstreams

    async def say(self, session: str, text: str, **headers: str) -> dict[str, Any]:
        return (await self.house.chat(session, text, **({"Idempotency_Key": uuid.uuid4().hex} | headers))).json()

    async def play(self, session: str, said: list[str]) -> list[tuple[str, str, dict[str, Any]]]:
        told: list[tuple[str, str, dict[str, Any]]] = []
        for text in said:
            answer = await self.say(session, text)
            assert answer["code"] == "200", (text, answer)
            told.append((answer["nextStageCode"], answer["outputText"], _timeless(answer["formUpdate"])))
        return told

    async def rows(self, session: str) -> list[tuple[str, int, str | None]]:
        rows = await self.house.pool.fetch(
            "SELECT status, version, outcome FROM app.turns WHERE session_id = $1 AND status <> 'committed' ORDER BY committed_at", session
        )
        return [(row["status"], row["version"], (json.loads(row["outcome"])["failure"] or {}).get("note")) for row in rows]


def _timeless(patch: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in patch.items() if key != "sgfssj"}  # "just now" is another minute for the twin


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(database: Database) -> AsyncGenerator[World]:
    async with (
        upstreams() as up,
        both_backends(database, up) as backends,
        open_house(database, backends, SystemClock(), default=F) as house,
    ):
        yield World(house, up)


async def fails_upstream(world: World, session: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.up.plant(html_504=1.0)
    assert (await world.say(session, text))["code"] in ("200", "500")  # an answer that was stored upstream may be read back
    await world.up.plant(html_504=0.0)


async def breaks_off(world: World, session: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.up.plant(drop_mid_stream=1.0)
    assert (await world.say(session, text))["code"] in ("200", "500")
    await world.up.plant(drop_mid_stream=0.0)


async def is_not_committed(world: World, session: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuses(record: object) -> int:
        raise StoreUnavailable("commit")

    with monkeypatch.context() as broken:
        broken.setattr(world.house.store, "commit", refuses)
        assert (await world.say(session, text))["code"] == "500"


async def loses_its_owner(world: World, session: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed behind the answer: FastGPT has moved, nothing of ours was written, and the lease has run out by now."""

    async def dies(*_: object, **__: object) -> None:
        raise StoreUnavailable("dead")

    with monkeypatch.context() as broken:
        broken.setattr(world.house.store, "commit", dies)
        broken.setattr(world.house.store, "fail", dies)
        assert (await world.say(session, text))["code"] == "500"
    await world.house.pool.execute("UPDATE app.session_leases SET until = now() - interval '1 s' WHERE session_id = $1", session)


async def is_not_even_recorded(world: World, session: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is away from the commit on, and back for the next turn, while the lease is still held."""
    pool = world.house.store._pool

    class Away:
        def __getattr__(self, name: str) -> Any:
            return getattr(pool, name)

        async def fetchval(self, *_: object) -> None:
            raise asyncpg.ConnectionDoesNotExistError

        async def execute(self, *_: object) -> None:
            raise asyncpg.ConnectionDoesNotExistError

    with monkeypatch.context() as broken:
        broken.setattr(world.house.store, "_pool", Away())
        assert (await world.say(session, text))["code"] == "500"
    assert await world.rows(session) == []


WAYS = (fails_upstream, breaks_off, is_not_committed, loses_its_owner, is_not_even_recorded)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("cut", [2, 3, 6, len(SAID) - 6, len(SAID) - 1])
@pytest.mark.parametrize("happens", WAYS)
async def test_the_conversation_goes_on_as_its_twin_to_whom_nothing_happened(world: World, monkeypatch, happens, cut):
    twin, session = (f"{name}-{happens.__name__}-{cut}" for name in ("twin", "void"))
    expected = await world.play(twin, SAID)
    told = await world.play(session, SAID[:cut])
    await happens(world, session, SAID[cut], monkeypatch)
    stored = await world.house.store.read("t1", session)
    assert stored is not None
    if stored.version == cut:  # void, as it must be unless the answer was read back
        told += await world.play(session, SAID[cut:])
    else:
        told += [expected[cut], *await world.play(session, SAID[cut + 1 :])]
    assert told == expected


@pytest.mark.asyncio(loop_scope="module")
async def test_a_field_written_after_a_void_turn_does_not_make_its_chat_trusted_again(world: World, monkeypatch):
    session = "void-then-written"
    await world.play(session, SAID[:3])
    await is_not_committed(world, session, SAID[3], monkeypatch)
    await world.house.call("/set_info", {"sessionId": session, "key": "sjhm1", "value": "13800138000"})
    before = len(world.up.calls)
    await world.play(session, SAID[3:4])
    chats = [call["chatId"] for call in world.up.calls]
    assert chats[before] not in chats[:before]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_field_whose_write_failed_leaves_the_chat_trusted(world: World, monkeypatch):
    session = "written-in-vain"
    await world.play(session, SAID[:3])
    with monkeypatch.context() as broken:

        async def refuses(record: object) -> int:
            raise StoreUnavailable("commit")

        broken.setattr(world.house.store, "commit", refuses)
        assert (await world.house.call("/set_info", {"sessionId": session, "key": "sjhm1", "value": "13800138000"})).json()["code"] == "500"
    before = len(world.up.calls)
    await world.play(session, SAID[3:4])
    assert world.up.calls[before]["chatId"] == world.up.calls[before - 1]["chatId"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_turn_whose_owner_died_is_on_record_and_in_the_shadow_ledger(world: World, monkeypatch):
    session = "died"
    await world.play(session, SAID[:2])
    await loses_its_owner(world, session, SAID[2], monkeypatch)
    await world.play(session, SAID[2:3])
    assert await world.rows(session) == [("cancelled", 2, "owner_gone")]
    kinds = await world.house.pool.fetch("SELECT kind FROM app.turn_outbox WHERE session_id = $1 ORDER BY outbox_id", session)
    assert [row["kind"] for row in kinds] == ["committed", "committed", "cancelled", "committed"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_session_whose_very_first_turn_lost_its_owner_begins_in_a_chat_of_its_own(world: World, monkeypatch):
    session = "died-at-once"
    await loses_its_owner(world, session, SAID[0], monkeypatch)
    lost = world.up.calls[-1]["chatId"]
    await world.play(session, SAID[:2])
    assert lost not in [call["chatId"] for call in world.up.calls[-2:]]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_failure_nobody_could_write_is_written_before_the_next_turn_here(world: World, monkeypatch):
    session = "late"
    await world.play(session, SAID[:2])
    await is_not_even_recorded(world, session, SAID[2], monkeypatch)
    await world.play(session, SAID[2:3])  # at once: nobody waits for the lease of the lost turn
    ((status, version, note),) = await world.rows(session)
    assert (status, version) == ("failed", 2)
    assert note == "not_stored:StoreUnavailable"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_caller_who_leaves_while_the_session_opens_leaves_no_lease_behind(world: World):
    store, turn = world.house.store, replace(a_turn(), session_id="left")
    for delay in (0, 0.0005, 0.001, 0.002, 0.004):
        opening = asyncio.create_task(store.open(turn, idempotency_key=None))
        await asyncio.sleep(delay)
        if opening.done():
            await store.release(turn, opening.result().lease)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        assert await world.house.pool.fetchval("SELECT count(*) FROM app.session_leases WHERE session_id = 'left'") == 0
