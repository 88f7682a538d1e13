"""The worker over the real queue: what is compared, what waits, and that a broken shadow is nobody's problem but its own."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest
import pytest_asyncio

from backends.langgraph.backend import LangGraphBackend
from backends.langgraph.checkpoints import open_saver
from domain.backend_name import BackendName
from domain.errors import FailureKind
from domain.stages import StageCode
from domain.turn import SessionStarted
from shadow.worker import ShadowWorker
from storage.engine import open_pool
from storage.shadow_queue import ShadowRows
from storage.turns import TurnRows
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_backend import ScriptedBackend, bad_reply, good_reply
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.values import NOON, PIN, a_record, a_turn, an_outcome
from tests.fakes.waiting import until

pytestmark = pytest.mark.integration

TABLES = (
    "app.accident_sessions, app.accident_state, app.accident_events, app.turns, app.turn_outbox, app.session_leases,"
    " shadow.ledger, shadow.comparisons, shadow.diffs, shadow.claims"
)


class Yard:
    """The tables, the live store, and a worker's queue."""

    def __init__(self, admin, app, shadow) -> None:
        self.admin = admin
        self.store = TurnRows(app, lease_seconds=30, wait_seconds=0.1, keep_replies=timedelta(hours=1))
        self.queue = ShadowRows(shadow, worker="w", claim_seconds=60)
        self.shadow_pool = shadow

    async def serve(self, turn, **reply):
        opened = await self.store.open(turn, idempotency_key=None)
        await self.store.commit(a_record(turn, opened, an_outcome(turn, **reply)))

    async def states(self) -> dict[str, int]:
        rows = await self.admin.fetch(
            "SELECT coalesce(l.state, 'pending') AS state, count(*) AS n"
            " FROM app.turn_outbox LEFT JOIN shadow.ledger l USING (outbox_id) GROUP BY 1"
        )
        return {row["state"]: row["n"] for row in rows}

    async def signatures(self) -> list[str]:
        return [row["signature"] for row in await self.admin.fetch("SELECT signature FROM shadow.diffs ORDER BY diff_id")]


@pytest_asyncio.fixture
async def yard(database) -> AsyncGenerator[Yard]:
    async with (
        open_pool(database.migrator_dsn, name="t", size=2) as admin,
        open_pool(database.app_dsn, name="t", size=2) as app,
        open_pool(database.shadow_dsn, name="t", size=4) as shadow,
    ):
        await admin.execute(f"TRUNCATE {TABLES} RESTART IDENTITY CASCADE")
        yield Yard(admin, app, shadow)


def worker(yard: Yard, langgraph: ScriptedBackend) -> ShadowWorker:
    return ShadowWorker(yard.queue, {BackendName.LANGGRAPH: langgraph}, idle_seconds=0.01)


async def test_a_turn_is_replayed_on_the_other_backend_from_the_state_before_it(yard):
    await yard.serve(a_turn("追尾"), patch={"sgyy": "追尾"})
    await yard.serve(a_turn("两辆"), patch={"jdcsl": 2})
    langgraph = ScriptedBackend()
    assert await worker(yard, langgraph).work_once() == 2
    assert [dict(session.form) for session in langgraph.sessions] == [{}, {"sgyy": "追尾"}]
    assert [turn.text for turn in langgraph.turns] == ["追尾", "两辆"]
    assert await yard.states() == {"compared": 2}
    assert await yard.signatures() == ["patch sgyy: missing_in_shadow", "patch jdcsl: missing_in_shadow"]


async def test_a_dead_shadow_makes_jobs_wait_and_loses_none(yard):
    for number in range(3):
        await yard.serve(a_turn(session_id=f"S-{number}"))
    dead = ScriptedBackend(lambda turn, session: bad_reply(FailureKind.UNREACHABLE))
    for _ in range(4):
        await worker(yard, dead).work_once()
    assert await yard.states() == {"pending": 3}
    assert len(dead.turns) == 3  # each session was tried once and then left to rest
    await yard.admin.execute("UPDATE shadow.claims SET until = now() - interval '1 s'")
    back = ScriptedBackend()
    for _ in range(3):
        await worker(yard, back).work_once()
    assert await yard.states() == {"compared": 3}


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if not kind.is_outage])
async def test_a_shadow_that_answers_wrongly_is_a_finding(yard, kind):
    await yard.serve(a_turn())
    await worker(yard, ScriptedBackend(lambda turn, session: bad_reply(kind))).work_once()
    assert await yard.states() == {"compared": 1}
    assert await yard.signatures() == [f"error ok≠{kind}"]


async def test_an_outage_in_the_middle_keeps_what_was_compared_and_the_order_of_the_rest(yard):
    for text in ("一", "二", "三"):
        await yard.serve(a_turn(text))
    flaky = ScriptedBackend(lambda turn, session: bad_reply(FailureKind.TIMEOUT) if turn.text == "二" else good_reply(turn, session))
    await worker(yard, flaky).work_once()
    assert await yard.states() == {"compared": 1, "pending": 2}
    assert [turn.text for turn in flaky.turns] == ["一", "二"]


async def test_a_job_that_breaks_the_worker_is_accounted_and_does_not_come_back(yard):
    await yard.serve(a_turn("一"))
    await yard.serve(a_turn("二"))
    broken = ScriptedBackend(lambda turn, session: [ValueError("x")] if turn.text == "一" else good_reply(turn, session))
    assert await worker(yard, broken).work_once() == 2
    assert await yard.states() == {"compared": 1, "unreplayable": 1}
    assert await yard.admin.fetchval("SELECT reason FROM shadow.ledger WHERE state = 'unreplayable'") == "ValueError"
    assert await worker(yard, broken).work_once() == 0


async def test_a_job_that_cannot_be_read_does_not_stop_the_ones_behind_it(yard):
    await yard.serve(a_turn("一"))
    await yard.serve(a_turn("二"))
    await yard.admin.execute("UPDATE app.turns SET input = '{}' WHERE version = 1")
    assert await worker(yard, ScriptedBackend()).work_once() == 1
    assert await yard.states() == {"compared": 1, "unreplayable": 1}


async def test_a_worker_that_is_stopped_gives_its_session_back(yard):
    await yard.serve(a_turn())
    stuck = ScriptedBackend(lambda turn, session: [asyncio.Event()])
    working = asyncio.create_task(worker(yard, stuck).work_once())
    await until(lambda: stuck.turns)
    working.cancel()
    await asyncio.wait({working})
    assert await worker(yard, ScriptedBackend()).work_once() == 1


async def test_lanes_work_side_by_side_until_told_to_stop(yard):
    for number in range(8):
        await yard.serve(a_turn(session_id=f"S-{number}"))
    running = asyncio.create_task(worker(yard, ScriptedBackend()).run(lanes=3))
    async with asyncio.timeout(10):
        while True:
            if await yard.states() == {"compared": 8}:
                break
            await asyncio.sleep(0.02)
    running.cancel()
    await asyncio.wait({running})
    assert running.cancelled()


async def test_a_replay_hours_later_sees_the_clock_of_the_turn(yard):
    langgraph = ScriptedBackend()
    await yard.serve(a_turn("刚刚"))
    await worker(yard, langgraph).work_once()
    assert langgraph.turns[0].received_at == NOON


async def digest(yard: Yard) -> str:
    """Everything live: business tables and live checkpoints."""
    tables = [f"app.{name}" for name in ("accident_sessions", "accident_state", "accident_events", "turns", "session_leases")]
    tables += [f"langgraph.{name}" for name in ("checkpoints", "checkpoint_blobs", "checkpoint_writes")]
    parts = [
        await yard.admin.fetchval(f"SELECT md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) FROM {name} t") for name in tables
    ]
    return " ".join(parts)


async def test_a_real_replay_touches_nothing_live(yard, database):
    """The real graph with the real saver as the shadow role, on a session that also has a live thread of the same name."""
    clock, script = FixedClock(NOON), "<state>1002</state>还在现场吗？"
    async with open_saver(database.app_dsn, "langgraph") as live_checkpoints, open_saver(database.shadow_dsn, "shadow") as checkpoints:
        live = LangGraphBackend(ScriptedModel([]), live_checkpoints, clock)
        turn = a_turn("【会话开始】", SessionStarted())
        opened = await yard.store.open(turn, idempotency_key=None)
        events = [event async for event in live.reply(turn, opened.state)]
        await yard.store.commit(a_record(turn, opened, events[-1].outcome, after=events[-1].after))
        await live.aclose()
        await yard.serve(a_turn("准备好了"), stage=StageCode.COLLECTING)
        before = await digest(yard)

        shadow = LangGraphBackend(ScriptedModel([script]), checkpoints, clock)
        done = await ShadowWorker(
            yard.queue, {BackendName.LANGGRAPH: shadow, BackendName.FASTGPT: ScriptedBackend(name=BackendName.FASTGPT)}, idle_seconds=0.01
        ).work_once()
        await shadow.aclose()
    assert done == 2
    assert await digest(yard) == before
    threads = await yard.admin.fetch("SELECT DISTINCT thread_id FROM shadow.checkpoints")
    assert len(threads) == 1  # the replayed thread lives here, and only here
    assert PIN.backend is BackendName.FASTGPT
