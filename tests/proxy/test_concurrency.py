"""Many turns of one session, many sessions, several replicas: one order, no hole, nothing held while a model thinks, nothing left."""

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from domain.backend_name import BackendName
from storage.sessions import SessionRows
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.house import House, open_house
from tests.fakes.scripted_backend import ScriptedBackend, good_reply
from tests.fakes.values import NOON, a_turn
from tests.fakes.waiting import until
from wiring.database import Database

pytestmark = [pytest.mark.contract, pytest.mark.integration]

F, L = BackendName.FASTGPT, BackendName.LANGGRAPH


@dataclass(slots=True)
class Fleet:
    houses: list[House]
    backend: ScriptedBackend
    other: ScriptedBackend
    clock: FixedClock

    async def chat(self, at: int, session: str, text: str = "你好") -> dict[str, Any]:
        return (await self.houses[at % len(self.houses)].chat(session, text)).json()

    async def versions(self, session: str) -> list[int]:
        rows = await self.houses[0].pool.fetch("SELECT new_version FROM app.accident_events WHERE session_id = $1 ORDER BY 1", session)
        return [row["new_version"] for row in rows]

    async def write(self, at: int, session: str, value: str) -> str:
        body = {"sessionId": session, "key": "sgyy", "value": value}
        return (await self.houses[at % len(self.houses)].call("/set_info", body)).json()["code"]

    async def read(self, at: int, session: str) -> Any:
        body = {"sessionId": session, "key": "sgyy"}
        return json.loads((await self.houses[at % len(self.houses)].call("/get_info", body)).json()["value"])


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(database: Database) -> AsyncGenerator[Fleet]:
    backend, other, clock = ScriptedBackend(), ScriptedBackend(name=F, finishes_when_abandoned=True), FixedClock(NOON)
    async with AsyncExitStack() as stack:
        opened = [open_house(database, {L: backend, F: other}, clock, wait_seconds=20) for _ in range(3)]
        yield Fleet([await stack.enter_async_context(house) for house in opened], backend, other, clock)


@pytest_asyncio.fixture(loop_scope="module")
async def fleet(shared: Fleet) -> Fleet:
    shared.backend.script = good_reply
    return shared


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("count", [2, 10, 50])
async def test_c1_turns_of_one_session_at_once_get_one_order_without_a_hole(fleet: Fleet, session, count):
    answers = await asyncio.gather(*(fleet.chat(at, session, f"第{at}句") for at in range(count)))
    assert {answer["code"] for answer in answers} == {"200"}
    assert sorted(answer["stateVersion"] for answer in answers) == list(range(1, count + 1)) == await fleet.versions(session)
    seen = [state.version for turn, state in zip(fleet.backend.turns, fleet.backend.sessions, strict=True) if turn.session_id == session]
    assert seen == list(range(count))  # each started from what the one before it had left


@pytest.mark.asyncio(loop_scope="module")
async def test_c1_who_waited_too_long_is_told_and_changes_nothing(fleet: Fleet, session, monkeypatch):
    thinking = asyncio.Event()
    fleet.backend.script = lambda turn, state: good_reply(turn, state, waiting=thinking)
    first = asyncio.create_task(fleet.chat(0, session))
    await until(lambda: any(turn.session_id == session for turn in fleet.backend.turns))
    monkeypatch.setattr(fleet.houses[1].store, "_wait_seconds", 0.05)
    answer = await fleet.houses[1].chat(session, "急")
    assert (answer.json()["code"], answer.headers["X-Error-Type"]) == ("409", "SESSION_CONFLICT")
    thinking.set()
    assert (await first)["code"] == "200"
    assert await fleet.versions(session) == [1]


@pytest.mark.asyncio(loop_scope="module")
async def test_c2_a_client_reads_what_it_wrote_whoever_else_talks_and_writes(fleet: Fleet, session):
    await fleet.chat(0, session)
    causes = ("追尾", "倒车", "变道")

    async def writer() -> None:
        for number in range(12):
            cause = causes[number % 3]
            assert await fleet.write(number, session, cause) == "200"
            assert await fleet.read(number + 1, session) == cause  # at another replica, at once

    async def talker() -> None:
        for number in range(12):
            assert (await fleet.chat(number, session))["code"] == "200"

    await asyncio.gather(writer(), talker(), talker())
    versions = await fleet.versions(session)
    assert versions == list(range(1, len(versions) + 1))
    assert len(versions) == 1 + 24 + 12


@pytest.mark.asyncio(loop_scope="module")
async def test_c3_nothing_is_held_in_the_database_while_a_model_thinks(fleet: Fleet, session):
    thinking = asyncio.Event()
    fleet.backend.script = lambda turn, state: good_reply(turn, state, waiting=thinking)
    turns = [asyncio.create_task(fleet.chat(at, f"{session}-{at}")) for at in range(20)]
    await until(lambda: sum(turn.session_id.startswith(session) for turn in fleet.backend.turns) == 20)
    house = fleet.houses[0]
    busy = await house.pool.fetch(
        "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND application_name = 'test-house' AND state <> 'idle'"
    )
    locks = await house.pool.fetchval(
        "SELECT count(*) FROM pg_locks JOIN pg_stat_activity a USING (pid)"
        " WHERE a.datname = current_database() AND pid <> pg_backend_pid() AND locktype IN ('tuple', 'advisory', 'transactionid')"
    )
    pools = [(one.pool.get_size() - one.pool.get_idle_size()) for one in fleet.houses]
    assert ([row["state"] for row in busy], locks, pools) == ([], 0, [0, 0, 0])
    thinking.set()
    assert {answer["code"] for answer in await asyncio.gather(*turns)} == {"200"}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("stream", [False, True])
async def test_c4_a_turn_cancelled_at_any_await_leaves_no_lease_no_connection_and_no_half_turn(fleet: Fleet, session, stream):
    """Cancelled after n steps of the loop, for every n until the turn gets through."""
    house = fleet.houses[0]
    for steps in range(200):
        here, key = f"{session}-{steps}", uuid.uuid4().hex
        turn = asyncio.create_task(house.chat(here, "你好", stream=stream, Idempotency_Key=key))
        for _ in range(steps):
            await asyncio.sleep(0)
        was_done = turn.done()
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)
        await until(lambda: not house.doors.tasks)
        retry = (await house.chat(here, "你好", Idempotency_Key=key)).json()  # meets no lease of the cancelled one
        assert (retry["code"], retry["stateVersion"]) == ("200", 1), steps
        assert await fleet.versions(here) == [1]
        if was_done:
            break
    await until(lambda: house.pool.get_size() == house.pool.get_idle_size())
    assert await house.pool.fetchval("SELECT count(*) FROM app.session_leases WHERE session_id LIKE $1 || '%'", session) == 0


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("stream", [False, True])
async def test_c4_a_commit_that_has_begun_is_brought_to_its_end_by_whoever_is_cancelled(fleet: Fleet, session, stream, monkeypatch):
    house, real = fleet.houses[0], fleet.houses[0].store.commit
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(record: Any) -> int:
        begun.set()
        await goes_on.wait()
        return await real(record)

    monkeypatch.setattr(house.store, "commit", slow)
    turn = asyncio.create_task(house.chat(session, "你好", stream=stream))
    await begun.wait()
    for task in (turn, *house.doors.tasks):
        task.cancel()
    await asyncio.sleep(0)
    goes_on.set()
    await asyncio.gather(turn, *house.doors.tasks, return_exceptions=True)
    assert await fleet.versions(session) == [1]
    assert await house.pool.fetchval("SELECT count(*) FROM app.session_leases WHERE session_id = $1", session) == 0
    assert await house.pool.fetchval("SELECT count(*) FROM app.turns WHERE session_id = $1 AND status <> 'committed'", session) == 0


@pytest.mark.asyncio(loop_scope="module")
async def test_c5_many_sessions_with_many_turns_each_meet_no_deadlock_and_none_starves(fleet: Fleet, session):
    sessions, each = 100, 5
    before = await fleet.houses[0].pool.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    answers = await asyncio.gather(*(fleet.chat(at, f"{session}-{number}") for number in range(sessions) for at in range(each)))
    assert {answer["code"] for answer in answers} == {"200"}
    for number in (0, 1, sessions - 1):
        assert await fleet.versions(f"{session}-{number}") == list(range(1, each + 1))
    after = await fleet.houses[0].pool.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    assert after == before


@pytest.mark.asyncio(loop_scope="module")
async def test_c6_two_first_turns_at_once_make_one_session(fleet: Fleet, session):
    await asyncio.gather(*(fleet.chat(at, session, "【会话开始】") for at in range(6)))
    house = fleet.houses[0]
    assert await house.pool.fetchval("SELECT count(*) FROM app.accident_sessions WHERE session_id = $1", session) == 1
    assert await house.pool.fetchval("SELECT count(*) FROM app.accident_state WHERE session_id = $1", session) == 1


@pytest.mark.asyncio(loop_scope="module")
async def test_c7_erasing_waits_for_a_running_turn_and_the_next_one_hears_410(fleet: Fleet, session):
    house, thinking = fleet.houses[0], asyncio.Event()
    await fleet.chat(0, session)
    fleet.backend.script = lambda turn, state: good_reply(turn, state, waiting=thinking)
    running = asyncio.create_task(fleet.chat(1, session))
    await until(lambda: sum(turn.session_id == session for turn in fleet.backend.turns) == 2)
    rows = SessionRows(house.pool, house.store)

    async def erase() -> None:
        held = await rows.hold("t1", session)
        assert held is not None
        assert held.opened.state.version == 2
        await rows.erase(held)

    erasing = asyncio.create_task(erase())
    await asyncio.sleep(0.05)
    thinking.set()
    assert (await running)["stateVersion"] == 2
    await erasing
    assert (await fleet.chat(2, session))["code"] == "410"


@pytest.mark.asyncio(loop_scope="module")
async def test_c8_a_clock_that_steps_back_changes_no_order(fleet: Fleet, session):
    for text in ("一", "二", "三"):
        assert (await fleet.chat(0, session, text))["code"] == "200"
        fleet.clock.advance(timedelta(seconds=-90))
    rows = await fleet.houses[0].pool.fetch(
        "SELECT input ->> 'text' AS text FROM app.turns WHERE session_id = $1 ORDER BY version", session
    )
    assert [row["text"] for row in rows] == ["一", "二", "三"]
    await fleet.chat(0, session, "四")
    assert [message.text for message in fleet.backend.sessions[-1].transcript if message.role == "user"] == ["一", "二", "三"]
    fleet.clock.advance(timedelta(seconds=270))


@pytest.mark.asyncio(loop_scope="module")
async def test_c9_sessions_whose_names_could_be_mixed_up_wait_for_nobody(fleet: Fleet, session):
    """Leases are rows under the whole name, not locks under a number that two names can share."""
    store = fleet.houses[0].store
    names = [("t1", f"{session}:x"), ("t1:", f"{session}"), ("t1", session), ("t", f"1{session}")]
    opened = [await store.open(replace(a_turn(), tenant_id=t, session_id=s), idempotency_key=None) for t, s in names]
    assert len({one.lease for one in opened}) == len(names)
    for (tenant, name), one in zip(names, opened, strict=True):
        await store.release(replace(a_turn(), tenant_id=tenant, session_id=name), one.lease)


@pytest.mark.asyncio(loop_scope="module")
async def test_c10_a_switch_that_one_replica_has_not_heard_of_loses_no_turn(fleet: Fleet, session):
    """Replica 0 serves by the old plan and replica 1 by the new one, at once: every turn is served once, by one of them, in one order."""
    await fleet.chat(0, session)
    await fleet.houses[1].publish(override=F)  # replicas 0 and 2 have not re-read it
    try:
        answers = await asyncio.gather(*(fleet.chat(at, session, f"第{at}句") for at in range(12)))
    finally:
        await fleet.houses[1].publish(override=None)
        for house in fleet.houses:
            await house.view.refresh()
    assert {answer["code"] for answer in answers} == {"200"}
    assert await fleet.versions(session) == list(range(1, 14))
    rows = await fleet.houses[0].pool.fetch(
        "SELECT backend, outcome #>> '{receipt,backend}' AS proof FROM app.turns WHERE session_id = $1", session
    )
    assert {row["backend"] for row in rows} == {F, L}
    assert all(row["backend"] == row["proof"] for row in rows)
