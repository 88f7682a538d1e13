"""A caller who leaves in the middle, over a real socket: the turn ends by rule, and nothing of it stays behind."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
import uvicorn

from domain.backend_name import BackendName
from tests.fakes.house import House
from tests.fakes.scripted_backend import ScriptedBackend, good_reply
from tests.fakes.waiting import until

pytestmark = [pytest.mark.chaos, pytest.mark.integration]


@pytest_asyncio.fixture
async def address(house: House) -> AsyncGenerator[tuple[str, int]]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(house.app, lifespan="off", log_config=None, http="httptools"))
    server.install_signal_handlers = lambda: None  # the test's process keeps its own
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await until(lambda: server.started)
    yield listener.getsockname()
    server.should_exit = True
    await serving


class Caller:
    """A partner's socket, by hand: it can leave whenever it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @staticmethod
    async def asks(address: tuple[str, int], house: House, session: str, text: str = "追尾") -> "Caller":
        body = json.dumps({"sessionId": session, "text": text}).encode()
        caller = Caller(*await asyncio.open_connection(*address))
        head = f"POST /chat?stream=true HTTP/1.1\r\nHost: p\r\nX-API-Key: {house.keys['acme']}\r\nContent-Length: {len(body)}\r\n\r\n"
        caller._writer.write(head.encode() + body)
        return caller

    async def hears(self, what: bytes) -> None:
        heard = b""
        async with asyncio.timeout(10):
            while what not in heard:
                piece = await self._reader.read(4096)
                assert piece, "the proxy hung up"
                heard += piece

    def leaves(self) -> None:
        self._writer.transport.abort()


async def version_of(house: House, session: str) -> int:
    state = await house.store.read("t1", session)
    return 0 if state is None else state.version


async def outbox_kinds(house: House, session: str) -> list[str]:
    rows = await house.pool.fetch("SELECT kind FROM app.turn_outbox WHERE session_id = $1", session)
    return [row["kind"] for row in rows]


async def test_a_turn_that_can_be_undone_is_cancelled_and_leaves_nothing(house: House, langgraph: ScriptedBackend, address, session):
    never = asyncio.Event()
    langgraph.script = lambda turn, state: good_reply(turn, state, waiting=never)
    caller = await Caller.asks(address, house, session)
    await caller.hears(b"stage_code")
    caller.leaves()
    await until(lambda: not house.doors.tasks)
    assert langgraph.closed == 1
    assert await version_of(house, session) == 0
    assert await outbox_kinds(house, session) == ["cancelled"]
    langgraph.script = lambda turn, state: good_reply(turn, state)
    assert (await house.chat(session, "追尾")).json()["stateVersion"] == 1  # the lease came back


async def test_a_turn_whose_upstream_has_moved_is_finished_and_committed(house: House, fastgpt: ScriptedBackend, address, session):
    await house.publish(default=BackendName.FASTGPT)
    gate = asyncio.Event()
    fastgpt.script = lambda turn, state: good_reply(turn, state, name=BackendName.FASTGPT, waiting=gate, pieces=["长"] * 200)
    caller = await Caller.asks(address, house, session)
    await caller.hears(b"stage_code")
    caller.leaves()
    await asyncio.sleep(0.1)
    gate.set()
    await until(lambda: not house.doors.tasks)
    assert await version_of(house, session) == 1
    assert await outbox_kinds(house, session) == ["committed"]


async def test_a_turn_that_is_committing_is_committed(house: House, langgraph: ScriptedBackend, address, session, monkeypatch):
    committing, go = asyncio.Event(), asyncio.Event()
    commit = house.store.commit

    async def slow_commit(record):
        committing.set()
        await go.wait()
        return await commit(record)

    monkeypatch.setattr(house.store, "commit", slow_commit)
    caller = await Caller.asks(address, house, session)
    await committing.wait()
    caller.leaves()
    await asyncio.sleep(0.1)
    go.set()
    await until(lambda: not house.doors.tasks)
    assert await version_of(house, session) == 1


async def test_a_caller_who_reads_slowly_gets_everything(house: House, langgraph: ScriptedBackend, address, session):
    langgraph.script = lambda turn, state: good_reply(turn, state, pieces=["字" * 200] * 500)
    caller = await Caller.asks(address, house, session)
    await asyncio.sleep(0.2)
    await caller.hears(b"event: done")
    caller.leaves()
    assert await version_of(house, session) == 1


async def test_many_who_leave_at_any_moment_leave_no_task_no_lease_and_no_connection(house: House, langgraph, address, session):
    langgraph.script = lambda turn, state: good_reply(turn, state, pieces=["字"] * 200)

    async def comes_and_goes(number: int) -> None:
        caller = await Caller.asks(address, house, f"{session}-{number}")
        await asyncio.sleep(number * 0.0007)
        caller.leaves()

    await asyncio.gather(*(comes_and_goes(number) for number in range(60)))
    # Requests that had not begun their turn when their caller left are still under way when the others have ended.
    await until(lambda: not house.doors.tasks and house.pool.get_size() and house.pool.get_idle_size() == house.pool.get_size())
    async with asyncio.timeout(10):
        while True:
            if await house.pool.fetchval("SELECT count(*) FROM app.session_leases WHERE session_id LIKE $1", f"{session}-%") == 0:
                break
            await asyncio.sleep(0.02)
    await until(lambda: not house.doors.tasks and house.pool.get_idle_size() == house.pool.get_size())
    # Every turn that began ended in one way: committed, or void with a row that says so.
    rows = await house.pool.fetch("SELECT status, count(*) AS n FROM app.turns WHERE session_id LIKE $1 GROUP BY status", f"{session}-%")
    assert {row["status"] for row in rows} <= {"committed", "cancelled"}
    sessions = await house.pool.fetchval("SELECT count(*) FROM app.accident_sessions WHERE session_id LIKE $1", f"{session}-%")
    assert sessions == sum(row["n"] for row in rows if row["status"] == "committed")
