"""Checkpoints in a real PostgreSQL: one a thread, no personal data, never authoritative.
`langgraph_dsn` is a migrated database as the serving role sees it; `database` also has the roles that make tables."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row

from backends.langgraph.accident.graph import build_graph
from backends.langgraph.accident.prompts import load_prompts
from backends.langgraph.backend import LangGraphBackend
from backends.langgraph.checkpoints import Checkpoints, open_saver, set_up
from backends.langgraph.engine import AccidentEngine
from backends.langgraph.plain_state import NotPlain
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
THREAD: Any = {"configurable": {"thread_id": thread_id("t1", "S-1"), "checkpoint_ns": ""}}
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


@asynccontextmanager
async def stock_saver(dsn: str) -> AsyncGenerator[AsyncPostgresSaver]:
    options: Any = {"autocommit": True, "row_factory": dict_row, "options": f"-c search_path={SCHEMA}"}
    async with await psycopg.AsyncConnection.connect(dsn, **options) as connection:
        yield AsyncPostgresSaver(connection)


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
    state = await build_graph(checkpoints.saver).aget_state(THREAD)
    assert state.values["stage"] == "1001"
    assert state.values["version"] == 1
    assert state.next == ()


async def test_no_personal_data_is_in_any_table(dsn: str, checkpoints: Checkpoints):
    """Whatever a party says while it is verified, and whether the turn succeeds or fails: raw bytes of every column, after every turn."""
    session = a_state(StageCode.VERIFY_PARTY_1, ywrysw=False, xm1="张三").with_dialogue(pending_question="HPHM_1")
    model = ScriptedModel()
    backend = LangGraphBackend(model, checkpoints, FixedClock(NOON))
    for text in ("京A12345", "对", "蓝牌，对", "张三，11010519491231002X", "对", "一三八零零一三八", "13800138000", "都对"):
        for replies in (["没有标签", f"也没有{text}"], ["<state>3001</state>好", "<state>3001</state>好"]):
            model.replies = list(replies)
            *_, end = [event async for event in backend.reply(a_turn(text, event_from_text(text)), session)]
            session = end.after if isinstance(end, Replied) else session
            found = await everything(dsn)
            for secret in ("张三", "京A12345", "A12345", "11010519491231002X", "002X", "13800138000", "一三八", "没有标签"):
                assert secret.encode() not in found
                assert secret.encode().hex().encode() not in found
    await backend.aclose()
    assert session.form.get("sfzmhm1") == "11010519491231002X"


async def everything(dsn: str) -> bytes:
    found = [str(row[0]).encode() for table in TABLES for row in await rows(dsn, f"SELECT row_to_json(t)::text FROM {SCHEMA}.{table} t")]
    found += [row[0] or b"" for row in await rows(dsn, f"SELECT blob FROM {SCHEMA}.checkpoint_blobs")]
    found += [row[0] or b"" for row in await rows(dsn, f"SELECT blob FROM {SCHEMA}.checkpoint_writes")]
    return b"\n".join(found)


async def test_the_stock_saver_reads_the_same_from_what_ours_wrote(dsn: str, checkpoints: Checkpoints):
    """The stock saver is the oracle, and the way back."""
    backend = LangGraphBackend(ScriptedModel(["<state>1002</state>请问有没有人受伤？"]), checkpoints, FixedClock(NOON))
    await say(backend, await say(backend, SessionState(), "【会话开始】"), "好了")
    await backend.aclose()
    async with stock_saver(dsn) as stock:
        theirs, ours = await stock.aget_tuple(THREAD), await checkpoints.saver.aget_tuple(THREAD)
        assert theirs is not None
        assert ours is not None
        assert theirs.checkpoint == ours.checkpoint
        assert theirs.metadata == ours.metadata
        state = await build_graph(stock).aget_state(THREAD)
        assert (state.values["stage"], state.values["next_stage"], state.next) == ("1001", "1002", ())


async def test_a_thread_that_the_stock_saver_began_is_taken_over(dsn: str, checkpoints: Checkpoints):
    async with stock_saver(dsn) as stock:
        begun = AccidentEngine(build_graph(stock), ScriptedModel(), load_prompts(), FixedClock(NOON))
        turn = a_turn("", event_from_text("【会话开始】"))
        *_, end = [event async for event in begun.run(turn, SessionState())]
        assert isinstance(end, Replied)
    backend = LangGraphBackend(ScriptedModel(["<state>1002</state>请问有没有人受伤？"]), checkpoints, FixedClock(NOON))
    assert (await say(backend, end.after, "好了")).stage is StageCode.COLLECTING
    await backend.aclose()
    assert await rows(dsn, f"SELECT count(*) FROM {SCHEMA}.checkpoints") == [(1,)]


async def test_a_writer_that_was_overtaken_leaves_the_newer_checkpoint_alone(dsn: str, checkpoints: Checkpoints):
    older, newer = empty_checkpoint(), empty_checkpoint()
    older["id"], newer["id"] = sorted((older["id"], newer["id"]))
    await checkpoints.saver.aput(THREAD, newer, {"step": 2}, {})
    await checkpoints.saver.aput(THREAD, older, {"step": 1}, {})
    assert await rows(dsn, f"SELECT checkpoint_id FROM {SCHEMA}.checkpoints") == [(newer["id"],)]


@pytest.mark.parametrize("value", ["x" * 1000, ["x"] * 1000, StageCode.COLLECTING, {"text": object()}])
async def test_a_state_that_is_not_small_plain_data_is_refused_and_nothing_is_written(dsn: str, checkpoints: Checkpoints, value: object):
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"stage": value}
    with pytest.raises(NotPlain):
        await checkpoints.saver.aput(THREAD, checkpoint, {}, {})
    assert await rows(dsn, f"SELECT count(*) FROM {SCHEMA}.checkpoints") == [(0,)]


async def test_a_long_session_stores_no_more_than_a_short_one(dsn: str, checkpoints: Checkpoints):
    backend = LangGraphBackend(ScriptedModel(["<state>2001</state>请拍照。"] * 40), checkpoints, FixedClock(NOON))
    session = a_state(StageCode.SINGLE_FRONT, ywrysw=False, jdcsl=1).with_dialogue(pending_question="PHOTO")
    sizes: list[int] = []
    for _ in range(40):
        await say(backend, session, "请问照片要怎么拍")
        sizes.append((await rows(dsn, f"SELECT sum(pg_column_size(c.*))::int FROM {SCHEMA}.checkpoints c"))[0][0])
    await backend.aclose()
    assert max(sizes) <= sizes[1] * 1.02  # versions have more digits, nothing else


async def test_a_failed_turn_leaves_no_second_row_and_nothing_pending(dsn: str, checkpoints: Checkpoints):
    backend = LangGraphBackend(ScriptedModel(["x", "x", "<state>1002</state>请问有没有人受伤？"]), checkpoints, FixedClock(NOON))
    session = await say(backend, SessionState(), "【会话开始】")
    *_, end = [event async for event in backend.reply(a_turn("好了"), session)]
    assert isinstance(end, Failed)
    assert [await rows(dsn, f"SELECT count(*) FROM {SCHEMA}.{table}") for table in TABLES] == [[(1,)], [(0,)], [(0,)]]
    assert (await say(backend, session, "好了")).stage is StageCode.COLLECTING
    await backend.aclose()


async def test_a_connection_that_was_killed_is_replaced(dsn: str, database: Database, checkpoints: Checkpoints):
    backend = LangGraphBackend(ScriptedModel(), checkpoints, FixedClock(NOON))
    session = await say(backend, SessionState(), "【会话开始】")
    ours = "application_name = 'crossfade-checkpoints' AND datname = current_database()"  # other tests run on the same server
    killed = await rows(database.admin_dsn, f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {ours}")
    assert killed == [(True,)]
    assert (await say(backend, session, "【用户无回复】")).stage is StageCode.NOT_READY
    await backend.aclose()


async def test_a_thread_that_is_deleted_leaves_nothing(dsn: str, checkpoints: Checkpoints):
    backend = LangGraphBackend(ScriptedModel(), checkpoints, FixedClock(NOON))
    await say(backend, SessionState(), "【会话开始】")
    await backend.aclose()
    assert [found async for found in checkpoints.saver.alist(THREAD)]
    await checkpoints.saver.adelete_thread(thread_id("t1", "S-1"))
    assert not [found async for found in checkpoints.saver.alist(THREAD)]
    assert await rows(dsn, f"SELECT count(*) FROM {SCHEMA}.checkpoints") == [(0,)]


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
