"""Pending work is the outbox minus the ledger: nothing is lost, nothing is settled twice, no two workers share a session."""

from dataclasses import replace

import pytest
import pytest_asyncio

from domain.errors import BackendFailure, FailureKind
from domain.outcome import Outcome
from domain.session import Message
from domain.stages import StageCode
from domain.turn import NoResponse, PhotoCompleted, PhotoRecognitionFailed, SessionStarted, UserMessage
from shadow.compare import compare
from storage.engine import open_engine
from storage.evidence import EvidenceRows
from storage.shadow_queue import ShadowRows
from storage.turns import TurnRows
from tests.fakes.values import PIN, ROUTE, a_record, a_turn, an_outcome

pytestmark = pytest.mark.integration


@pytest_asyncio.fixture
async def queue(pool_as) -> ShadowRows:
    await pool_as("migrator").execute(
        "TRUNCATE app.accident_sessions, app.accident_state, app.accident_events, app.turns, app.turn_outbox, app.session_leases,"
        " shadow.ledger, shadow.comparisons, shadow.diffs, shadow.claims RESTART IDENTITY CASCADE"
    )
    await pool_as("migrator").execute("UPDATE shadow.progress SET settled_through = 0")
    return ShadowRows(pool_as("shadow"), worker="w1", claim_seconds=60)


async def play(store: TurnRows, turn, **reply):
    opened = await store.open(turn, idempotency_key=None)
    await store.commit(a_record(turn, opened, an_outcome(turn, **reply)))


def compared(job, **shadow):
    return compare(job.turn, job.before, job.primary, an_outcome(job.turn, PIN.backend.other, **shadow), mode="lockstep")


async def test_a_job_holds_the_turn_the_state_before_it_and_what_the_primary_did(queue, store):
    await play(store, a_turn("追尾了"), patch={"sgyy": "追尾"})
    turn = a_turn("两辆车")
    await play(store, turn, patch={"jdcsl": 2}, text="还在现场吗？")
    first, second = await queue.take_session(limit=10)
    assert first.before.stage is None
    assert first.before.version == 0
    assert second.turn == turn
    assert second.before.stage is StageCode.COLLECTING
    assert dict(second.before.form) == {"sgyy": "追尾"}
    assert second.before.transcript == (Message("user", "追尾了"), Message("assistant", "请问事故中有没有人员受伤？"))
    assert second.primary == an_outcome(turn, patch={"jdcsl": 2}, text="还在现场吗？")


@pytest.mark.parametrize(
    "event",
    [
        UserMessage("好"),
        PhotoCompleted(),
        PhotoCompleted(StageCode.SINGLE_REAR),
        PhotoRecognitionFailed(count=3, reason="反光"),
        PhotoRecognitionFailed(),
        NoResponse(2),
        SessionStarted(),
    ],
)
async def test_every_event_comes_back_as_it_was(queue, store, event):
    await play(store, a_turn("x", event))
    (job,) = await queue.take_session(limit=10)
    assert job.turn.event == event


async def test_two_workers_never_hold_one_session(queue, store, pool_as):
    await play(store, a_turn())
    await play(store, a_turn(session_id="S-2"))
    other = ShadowRows(pool_as("shadow"), worker="w2", claim_seconds=60)
    mine, theirs, nothing = await queue.take_session(limit=10), await other.take_session(limit=10), await queue.take_session(limit=10)
    assert {mine[0].turn.session_id, theirs[0].turn.session_id} == {"S-1", "S-2"}
    assert nothing == ()


async def test_a_dead_workers_session_is_taken_over_when_its_claim_expires(store, queue, pool_as):
    await play(store, a_turn())
    dead = ShadowRows(pool_as("shadow"), worker="dead", claim_seconds=0)
    assert len(await dead.take_session(limit=10)) == 1
    assert len(await queue.take_session(limit=10)) == 1


async def test_a_duplicate_delivery_settles_once(queue, store, pool_as):
    await play(store, a_turn())
    (job,) = await queue.take_session(limit=10)
    assert await queue.settle(job, compared(job, stage=StageCode.NOT_READY)) is True
    assert await queue.settle(job, compared(job, stage=StageCode.NOT_READY)) is False
    assert await pool_as("reader").fetchval("SELECT count(*) FROM shadow.comparisons") == 1
    assert await pool_as("reader").fetchval("SELECT count(*) FROM shadow.diffs WHERE kind = 'stage'") == 1


async def test_a_postponed_session_stays_pending_and_comes_back_later(queue, store, pool_as):
    await play(store, a_turn())
    (job,) = await queue.take_session(limit=10)
    await queue.postpone(job, note="unreachable", seconds=60)
    assert await queue.take_session(limit=10) == ()
    await pool_as("shadow").execute("UPDATE shadow.claims SET until = now() - interval '1 s'")
    assert [one.outbox_id for one in await queue.take_session(limit=10)] == [job.outbox_id]


async def test_settled_work_is_not_offered_again_and_later_turns_are(queue, store):
    await play(store, a_turn())
    (job,) = await queue.take_session(limit=10)
    await queue.settle(job, compared(job))
    await queue.give_back(job)
    assert await queue.take_session(limit=10) == ()
    await play(store, a_turn())
    assert [one.before.version for one in await queue.take_session(limit=10)] == [1]


async def test_one_lane_cannot_end_or_use_the_claim_of_another(queue, store, pool_as):
    await play(store, a_turn())
    (job,) = await queue.take_session(limit=10)
    await queue.give_back(replace(job, claim="w1#another-lane"))
    await queue.postpone(replace(job, claim="w1#another-lane"), note="x", seconds=0)
    assert await queue.take_session(limit=10) == ()
    assert await pool_as("reader").fetchval("SELECT worker FROM shadow.claims") == job.claim


async def test_an_outage_that_lasts_makes_a_session_rest_longer_each_time(queue, store, pool_as):
    await play(store, a_turn())
    rests = []
    for _ in range(4):
        await pool_as("shadow").execute("UPDATE shadow.claims SET until = now() - interval '1 s'")
        (job,) = await queue.take_session(limit=10)
        await queue.postpone(job, note="timeout", seconds=200)
        rests.append(await pool_as("reader").fetchval("SELECT round(extract(epoch FROM until - clock_timestamp())) FROM shadow.claims"))
    assert [round(float(rest), -1) for rest in rests] == [200, 400, 600, 600]


async def test_looking_for_work_does_not_read_what_is_settled(queue, store, pool_as):
    impatient = ShadowRows(pool_as("shadow"), worker="w1", claim_seconds=60, settling_seconds=0)
    for _ in range(3):
        await play(store, a_turn())
    jobs = await impatient.take_session(limit=2)
    for job in jobs:
        await impatient.settle(job, compared(job))
    await impatient.settle_failures()
    assert await pool_as("reader").fetchval("SELECT settled_through FROM shadow.progress") == jobs[-1].outbox_id
    await impatient.give_back(jobs[-1])
    (last,) = await impatient.take_session(limit=10)
    assert last.before.version == 2
    await impatient.settle(last, compared(last))
    await queue.settle_failures()  # a patient worker leaves the young rows alone
    assert await pool_as("reader").fetchval("SELECT settled_through FROM shadow.progress") == jobs[-1].outbox_id


async def test_the_ledger_accounts_for_every_eligible_turn(queue, store, database):
    for number in range(3):
        await play(store, a_turn(session_id=f"S-{number}"))
    broken = a_turn(session_id="S-9")
    opened = await store.open(broken, idempotency_key=None)
    failure = Outcome(backend=PIN.backend, failure=BackendFailure(kind=FailureKind.TIMEOUT))
    await store.fail(broken, failure, opened=opened, pin=PIN, route=ROUTE, cancelled=False)
    left = a_turn(session_id="S-10")
    opened = await store.open(left, idempotency_key=None)
    await store.fail(left, replace(failure, failure=None), opened=opened, pin=PIN, route=ROUTE, cancelled=True)
    unsampled = a_turn(session_id="S-11")
    opened = await store.open(unsampled, idempotency_key=None)
    await store.commit(a_record(unsampled, opened, pin=replace(PIN, is_sampled=False)))

    (job,) = await queue.take_session(limit=10)
    await queue.settle(job, compared(job, stage=StageCode.NOT_READY))
    assert await queue.settle_failures() == 2
    assert await queue.settle_failures() == 0

    async with open_engine(database.reader_dsn, name="test") as engine:
        overview = await EvidenceRows(engine).overview(since=None, latest=10)
    ledger = overview.ledger
    assert (ledger.eligible, ledger.compared, ledger.pending, ledger.unaccounted) == (5, 1, 2, 0)
    assert ledger.failed == {"primary:timeout": 1, "primary:cancelled": 1}
    assert overview.turns_by_backend == {"fastgpt": 4}
    assert overview.failed_turns == 2
    assert (overview.comparisons, overview.sessions) == (1, 1)
    assert {kind.kind: (kind.compared, kind.differing) for kind in overview.kinds}["stage"] == (1, 1)
    assert [(pair.primary, pair.shadow, pair.count) for pair in overview.stages] == [("1002", "1001", 1)]
    assert [line.signature for line in overview.latest if line.kind == "stage"] == ["stage new: 1002≠1001"]


async def test_an_overview_since_a_moment_counts_only_turns_received_since(queue, store, database):
    old = a_turn(session_id="S-old")
    await play(store, old)
    async with open_engine(database.reader_dsn, name="test") as engine:
        later = old.received_at.replace(year=2027)
        overview = await EvidenceRows(engine).overview(since=later, latest=10)
    assert (overview.ledger.eligible, overview.turns_by_backend, overview.comparisons) == (0, {}, 0)
