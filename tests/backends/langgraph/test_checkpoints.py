"""Checkpoints in a real PostgreSQL: one a thread, no personal data, never authoritative.
`langgraph_dsn` is a migrated database as the serving role sees it; `database` also has the roles that make tables."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from backends.langgraph.accident.graph import build_graph
from backends.langgraph.backend import LangGraphBackend
from backends.langgraph.checkpoints import Checkpoints, open_saver, set_up
from domain.errors import StoreUnavailable
from domain.events import event_from_text
from domain.outcome import Failed, Replied
from domain.session import SessionState
from domain.stages import StageCode
from domain.thread_id import thread_id
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_model import ScriptedModel, StuckModel
from tests.fakes.values import NOON, a_state, a_turn
from wiring.database import Database

pytestmark = pytest.mark.integration

SCHEMA = "langgraph"
TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


async def rows(dsn: str, query: str) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        cursor = await connection.execute(query.encode())
        return await cursor.fetchall() if cursor.description else []


@pytest.fixture
async def dsn(langgraph_dsn: str) -> str:
    for table in TABLES:
        await rows(langgraph_dsn, f"DELETE FROM {SCHEMA}.{table}")
    return langgraph_dsn


@pytest.fixture
async def checkpoints(dsn: str) -> AsyncGenerator[Checkpoints]:
    async with open_saver(dsn, SCHEMA) as opened:
        yield opened


async def say(backend: LangGraphBackend, session: SessionState, text: str) -> SessionState:
    *_, end = [event async for event in backend.reply(a_turn(text, event_from_text(text)), session)]
    assert isinstance(end, Replied)
    return end.after


async def test_four_set_ups_at_once_leave_one_good_set_of_tables(database: Database):
    dsn = database.admin_dsn
    await rows(dsn, 'CREATE SCHEMA "a new room"')
    await asyncio.gather(*(set_up(dsn, "a new room") for _ in range(4)))
    tables = await rows(dsn, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'a new room'")
    assert {name for (name,) in tables} == {*TABLES, "checkpoint_migrations"}
    assert await rows(dsn, "SELECT count(*) FROM pg_index WHERE NOT indisvalid") == [(0,)]


async def test_one_checkpoint_of_a_thread_is_kept(dsn: str, checkpoints: Checkpoints):
    backend = LangGraphBackend(ScriptedModel(["<state>1002</state>请问有没有人受伤？"] * 3), checkpoints, FixedClock(NOON))
    session = SessionState()
    for text in ("【会话开始】", "好了", "【用户无回复】"):
        session = await say(backend, session, text)
    await backend.aclose()
    assert await rows(dsn, f"SELECT count(*) FROM {SCHEMA}.checkpoints") == [(1,)]
    assert await rows(dsn, f"SELECT count(*) FROM {SCHEMA}.checkpoint_writes") == [(0,)]
    blobs = await rows(dsn, f"SELECT count(*), count(DISTINCT channel) FROM {SCHEMA}.checkpoint_blobs")
    assert blobs[0][0] == blobs[0][1]


async def test_what_a_pruned_checkpoint_remembers_can_be_read(checkpoints: Checkpoints):
    backend = LangGraphBackend(ScriptedModel(), checkpoints, FixedClock(NOON))
    session = await say(backend, SessionState(), "【会话开始】")
    await say(backend, replace(session, version=1), "【用户无回复】")
    await backend.aclose()
    state = await build_graph(checkpoints.saver).aget_state({"configurable": {"thread_id": thread_id("t1", "S-1")}})
    assert state.values["stage"] == "1001"
    assert state.values["version"] == 1
    assert state.next == ()


async def test_no_personal_data_is_in_any_table(dsn: str, checkpoints: Checkpoints):
    session = a_state(StageCode.VERIFY_PARTY_1, ywrysw=False, xm1="张三", hphm1="京A12345", hpzl1="02").with_dialogue(
        pending_question="SFZMHM_1"
    )
    backend = LangGraphBackend(ScriptedModel(["<state>3001</state>好"] * 2), checkpoints, FixedClock(NOON))
    session = await say(backend, session, "11010519491231002X")
    await say(backend, session, "对")
    await backend.aclose()
    found = b""
    for table in TABLES:
        for row in await rows(dsn, f"SELECT row_to_json(t)::text FROM {SCHEMA}.{table} t"):
            found += row[0].encode()
    for row in await rows(dsn, f"SELECT blob FROM {SCHEMA}.checkpoint_blobs"):
        found += row[0] or b""
    for secret in ("张三", "京A12345", "11010519491231002X", "002X"):
        assert secret.encode() not in found
        assert secret.encode().hex().encode() not in found


async def test_the_business_row_beats_a_checkpoint_that_is_ahead(checkpoints: Checkpoints):
    backend = LangGraphBackend(ScriptedModel(), checkpoints, FixedClock(NOON))
    committed = a_state(StageCode.SINGLE_FRONT, ywrysw=False)
    ahead = await say(backend, committed, "【拍摄完成】")
    assert ahead.stage is StageCode.SINGLE_REAR
    again = await say(backend, committed, "【拍摄完成】")
    assert again.stage is StageCode.SINGLE_REAR
    await backend.aclose()


async def test_a_cancelled_turn_does_not_disturb_the_next(checkpoints: Checkpoints):
    model = StuckModel()
    backend = LangGraphBackend(model, checkpoints, FixedClock(NOON))
    waiting = asyncio.create_task(say(backend, SessionState(), "好了"))
    await model.is_stuck.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await backend.aclose()
    fresh = LangGraphBackend(ScriptedModel(["<state>1002</state>请问有没有人受伤？"]), checkpoints, FixedClock(NOON))
    assert (await say(fresh, SessionState(), "好了")).stage is StageCode.COLLECTING
    await fresh.aclose()


async def test_turns_of_many_sessions_share_the_pool(dsn: str, checkpoints: Checkpoints):
    backend = LangGraphBackend(ScriptedModel(), checkpoints, FixedClock(NOON))

    async def one(number: int) -> None:
        turn = a_turn("", event_from_text("【会话开始】"), session_id=f"S-{number}")
        *_, end = [event async for event in backend.reply(turn, SessionState())]
        assert isinstance(end, Replied)

    await asyncio.gather(*(one(number) for number in range(20)))
    await backend.aclose()
    assert await rows(dsn, f"SELECT count(*) FROM {SCHEMA}.checkpoints") == [(20,)]


async def test_a_database_that_is_not_there_makes_turns_fail_and_not_the_start(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("backends.langgraph.checkpoints._CONNECT_S", 0.2)
    async with open_saver("postgresql://nobody@127.0.0.1:9/none", SCHEMA) as away:
        with pytest.raises(StoreUnavailable):
            await away.ping()
        backend = LangGraphBackend(ScriptedModel(), away, FixedClock(NOON))
        assert await backend.ready() == "the checkpointer is unreachable"
        *_, end = [event async for event in backend.reply(a_turn("", event_from_text("【会话开始】")), SessionState())]
        assert isinstance(end, Failed)
        await backend.aclose()


async def test_an_index_left_invalid_by_a_cancelled_setup_is_made_anew(database: Database):
    dsn = database.admin_dsn
    await rows(dsn, "CREATE SCHEMA broken")
    await set_up(dsn, "broken")
    await rows(dsn, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'broken.checkpoints_thread_id_idx'::regclass")
    await rows(dsn, "DELETE FROM broken.checkpoint_migrations WHERE v >= 6")
    await set_up(dsn, "broken")
    valid = await rows(dsn, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'broken.checkpoints_thread_id_idx'::regclass")
    assert valid == [(True,)]
