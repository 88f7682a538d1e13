"""The turn's path through a real PostgreSQL: what is stored together, and what is not stored at all."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import asyncpg
import pytest

from contract.ports import OpenedSession
from domain.errors import BackendFailure, FailureKind, SessionBusy, StoreUnavailable, TurnAlreadyCommitted
from domain.outcome import Outcome
from domain.session import Message
from domain.stages import StageCode
from domain.turn import SetInfo, Turn
from storage.engine import open_pool
from storage.turns import TurnRows
from tests.fakes.values import PIN, ROUTE, a_record, a_turn, an_outcome

pytestmark = pytest.mark.integration


def fresh(request: pytest.FixtureRequest, **changes: object) -> Turn:
    return a_turn(session_id=request.node.name[:60].replace("[", ".").replace("]", "."), **changes)


async def served(store: TurnRows, turn: Turn, **changes: object) -> OpenedSession:
    opened = await store.open(turn, idempotency_key=None)
    await store.commit(a_record(turn, opened, **changes))
    return opened


async def count(pool: asyncpg.Pool, table: str, turn: Turn) -> int:
    return await pool.fetchval(
        f"SELECT count(*) FROM app.{table} WHERE tenant_id = $1 AND session_id = $2", turn.tenant_id, turn.session_id
    )


async def test_a_first_commit_creates_session_state_event_turn_and_shadow_job_together(store, pool, request):
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key=None)
    assert opened.pin is None
    assert opened.state.version == 0
    assert await count(pool, "accident_sessions", turn) == 0  # nothing is written before the commit
    version = await store.commit(a_record(turn, opened, an_outcome(turn, patch={"ywrysw": False})))
    assert version == 1
    for table in ("accident_sessions", "accident_state", "accident_events", "turns", "turn_outbox"):
        assert await count(pool, table, turn) == 1, table
    state = await store.read(turn.tenant_id, turn.session_id)
    assert state is not None
    assert (state.stage, dict(state.form), state.version) == (StageCode.COLLECTING, {"ywrysw": False}, 1)


async def test_the_next_open_sees_version_pin_and_transcript(store, request):
    first = fresh(request, text="追尾了")
    await served(store, first)
    opened = await store.open(replace(a_turn(), session_id=first.session_id), idempotency_key=None)
    assert opened.pin == PIN
    assert opened.state.version == 1
    assert opened.state.transcript == (Message("user", "追尾了"), Message("assistant", "请问事故中有没有人员受伤？"))


async def test_a_second_turn_waits_and_is_refused_while_the_first_holds_the_lease(store, request):
    await store.open(fresh(request), idempotency_key=None)
    with pytest.raises(SessionBusy):
        await store.open(fresh(request), idempotency_key=None)


async def test_a_waiting_turn_sees_what_the_holder_committed(pool, request):
    store = TurnRows(pool, lease_seconds=30, wait_seconds=5, keep_replies=timedelta(hours=1))
    first = fresh(request)
    opened = await store.open(first, idempotency_key=None)
    waiting = asyncio.create_task(store.open(fresh(request), idempotency_key=None))
    await asyncio.sleep(0.05)
    await store.commit(a_record(first, opened))
    assert (await waiting).state.version == 1


async def test_a_turn_that_lost_its_lease_commits_nothing(store, pool, request):
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key=None)
    await pool.execute("UPDATE app.session_leases SET until = now() - interval '1 s' WHERE session_id = $1", turn.session_id)
    thief = fresh(request)
    taken = await store.open(thief, idempotency_key=None)
    with pytest.raises(SessionBusy):
        await store.commit(a_record(turn, opened))
    rows = await pool.fetch("SELECT turn_id, status, outcome FROM app.turns WHERE session_id = $1", turn.session_id)
    assert [(row["status"], json.loads(row["outcome"])["failure"]["note"]) for row in rows] == [("cancelled", "owner_gone")]
    assert str(rows[0]["turn_id"]) != turn.turn_id
    assert await store.commit(a_record(thief, taken)) == 1


async def test_a_moved_version_commits_nothing_though_the_lease_is_held(store, pool, request):
    first = fresh(request)
    await served(store, first)
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key=None)
    stale = replace(opened, state=replace(opened.state, version=0))
    with pytest.raises(SessionBusy):
        await store.commit(a_record(turn, stale))
    assert await count(pool, "turns", turn) == 1


async def test_an_event_id_is_stored_once_and_its_retry_gets_the_first_reply(store, request):
    turn = fresh(request, event_id="E-1")
    await served(store, turn, outcome=an_outcome(turn, patch={"jdcsl": 2}))
    again = await store.open(fresh(request, event_id="E-1"), idempotency_key=None)
    assert again.stored is not None
    assert again.stored.reply == {
        "stage": "1002",
        "patch": {"jdcsl": 2},
        "version": 1,
        "pieces": [None, "请问事故中有没有人员受伤？"],
    }


async def test_an_event_id_of_another_session_is_seen_before_anything_runs(store, request):
    first = fresh(request, event_id="E-2")
    await served(store, first)
    other = a_turn(session_id="another-session", event_id="E-2")
    opened = await store.open(other, idempotency_key=None)
    assert opened.stored is not None
    assert opened.stored.given[0] == first.session_id


async def test_two_sessions_that_use_one_event_id_at_once_store_it_once(store):
    turns = [a_turn(event_id="E-3", session_id=f"race-{number}") for number in range(2)]
    opened = [await store.open(turn, idempotency_key=None) for turn in turns]
    await store.commit(a_record(turns[0], opened[0]))
    with pytest.raises(TurnAlreadyCommitted):
        await store.commit(a_record(turns[1], opened[1]))


async def test_a_retry_that_waited_for_the_lease_finds_the_answer_stored_meanwhile(pool, request):
    """The waiting call has looked for a stored answer, found none, and blocks on the lease row until the first one's commit is through."""
    store = over(pool)
    turn = fresh(request)
    await store.open(turn, idempotency_key="k9")
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT 1 FROM app.session_leases WHERE session_id = $1 FOR UPDATE", turn.session_id)
        waiting = asyncio.create_task(store.open(fresh(request), idempotency_key="k9"))
        await asyncio.sleep(0.1)
        await connection.execute(
            "INSERT INTO app.idempotency_records (tenant_id, client_id, idempotency_key, request_hash, turn_id, response_data, expires_at)"
            " VALUES ('t1', 'acme', 'k9', 'h', gen_random_uuid(), '{\"version\": 1}', now() + interval '1 h')"
        )
        await connection.execute("DELETE FROM app.session_leases WHERE session_id = $1", turn.session_id)
    again = await waiting
    assert again.stored is not None
    assert again.stored.request_hash == b"h"
    assert await count(pool, "session_leases", turn) == 0


async def test_a_commit_called_lost_cannot_land_afterwards(pool, request):
    """The connection broke before the statement arrived: the lease is taken away first, so that the late statement finds none."""
    store, late = over(CutPool(pool, after=False)), over(pool)
    turn = fresh(request)
    record = a_record(turn, await store.open(turn, idempotency_key=None))
    with pytest.raises(StoreUnavailable):
        await store.commit(record)
    with pytest.raises(SessionBusy):
        await late.commit(record)
    assert await count(pool, "turns", turn) == 0


async def test_an_owner_that_dies_between_its_lost_commit_and_its_row_of_failure_leaves_a_lost_turn(pool, request):
    """Its lease is not given back before the failure is recorded: whoever takes it over knows that an upstream may have moved."""
    dying = TurnRows(CutPool(pool, after=False), lease_seconds=0.05, wait_seconds=0, keep_replies=timedelta(hours=1))
    turn = fresh(request)
    with pytest.raises(StoreUnavailable):
        await dying.commit(a_record(turn, await dying.open(turn, idempotency_key=None)))
    following = await TurnRows(pool, lease_seconds=30, wait_seconds=5, keep_replies=timedelta(hours=1)).open(
        fresh(request), idempotency_key=None
    )
    assert following.state.loose_turns == 1


async def test_an_owner_that_lives_gives_back_the_lease_of_a_commit_called_lost(pool, request):
    store = over(CutPool(pool, after=False))
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key=None)
    record = a_record(turn, opened)
    with pytest.raises(StoreUnavailable):
        await store.commit(record)
    await store.fail(turn, record.outcome, opened=opened, pin=record.pin, route=record.route, cancelled=False)
    assert await count(pool, "session_leases", turn) == 0


async def test_a_keyed_reply_is_stored_with_its_turn_and_found_without_a_lease(store, request):
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key="k1")
    reply = {"stage": "1002", "patch": {}, "pieces": ["好"], "version": 1}
    await store.commit(a_record(turn, opened, idempotency_key="k1", request_hash=b"h", stored_reply=reply))
    holder = await store.open(fresh(request), idempotency_key=None)  # somebody else works on the session
    again = await store.open(fresh(request), idempotency_key="k1")
    assert again.stored is not None
    assert (again.stored.request_hash, again.stored.reply) == (b"h", reply)
    await store.release(turn, holder.lease)


async def test_a_request_that_changed_nothing_is_kept_under_its_key_and_gives_its_lease_back(store, pool, request):
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key="k4")
    reply = {"stage": "1002", "patch": {}, "pieces": [], "version": 1}
    await store.acknowledge(turn, opened.lease, idempotency_key="k4", request_hash=b"h", stored_reply=reply)
    again = await store.open(fresh(request), idempotency_key="k4")
    assert (again.stored.request_hash, again.stored.reply) == (b"h", reply)
    assert await count(pool, "turns", turn) == 0
    late = fresh(request)
    await store.release(late, (await store.open(late, idempotency_key=None)).lease)
    with pytest.raises(SessionBusy):  # whoever lost the lease keeps nothing
        await store.acknowledge(late, opened.lease, idempotency_key="k5", request_hash=b"h", stored_reply=reply)


async def test_an_expired_key_is_free_again(store, pool, request):
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key="k3")
    await store.commit(a_record(turn, opened, idempotency_key="k3", request_hash=b"1", stored_reply={"version": 1}))
    await pool.execute("UPDATE app.idempotency_records SET expires_at = now() - interval '1 s' WHERE idempotency_key = 'k3'")
    again = fresh(request)
    opened = await store.open(again, idempotency_key="k3")
    assert opened.stored is None
    assert await store.commit(a_record(again, opened, idempotency_key="k3", request_hash=b"2", stored_reply={"version": 2})) == 2


async def test_another_clients_key_of_the_same_name_is_another_key(store, request):
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key="k2")
    await store.commit(a_record(turn, opened, idempotency_key="k2", stored_reply={"a": 1}))
    other = await store.open(fresh(request, client_id="other"), idempotency_key="k2")
    assert other.stored is None


async def test_another_tenant_sees_nothing_of_a_session(store, request):
    turn = fresh(request)
    await served(store, turn)
    assert await store.read("t2", turn.session_id) is None
    assert (await store.open(fresh(request, tenant_id="t2"), idempotency_key=None)).pin is None


async def test_a_failure_frees_the_session_leaves_a_job_and_no_version(store, pool, request):
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key=None)
    outcome = Outcome(backend=PIN.backend, failure=BackendFailure(kind=FailureKind.MALFORMED))
    await store.fail(turn, outcome, opened=opened, pin=PIN, route=ROUTE, cancelled=False)
    assert await store.read(turn.tenant_id, turn.session_id) is None
    assert await pool.fetchval("SELECT kind FROM app.turn_outbox WHERE session_id = $1", turn.session_id) == "failed"
    again = await store.open(fresh(request), idempotency_key=None)
    assert again.state.dialogue.invalid_turns == 1  # the next turn knows, on whatever replica
    await store.commit(a_record(fresh(request), again))
    assert (await store.open(fresh(request), idempotency_key=None)).state.dialogue.invalid_turns == 0


async def test_outages_of_the_upstream_are_not_counted_as_invalid_model_output(store, request):
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key=None)
    outcome = Outcome(backend=PIN.backend, failure=BackendFailure(kind=FailureKind.TIMEOUT))
    await store.fail(turn, outcome, opened=opened, pin=PIN, route=ROUTE, cancelled=False)
    assert (await store.open(fresh(request), idempotency_key=None)).state.dialogue.invalid_turns == 0


async def test_a_field_written_from_outside_makes_a_version_and_no_shadow_job(store, pool, request):
    await served(store, fresh(request))
    turn = fresh(request, event=SetInfo("jdcsl", 2), text="")
    opened = await store.open(turn, idempotency_key=None)
    assert await store.commit(a_record(turn, opened, an_outcome(turn, text="", patch={"jdcsl": 2}))) == 2
    assert await count(pool, "turn_outbox", turn) == 1
    assert (
        await pool.fetchval("SELECT payload FROM app.accident_events WHERE event_id = $1", turn.event_id) == '{"key": "jdcsl", "value": 2}'
    )


async def test_an_unsampled_session_leaves_no_shadow_job(store, pool, request):
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key=None)
    await store.commit(a_record(turn, opened, pin=replace(PIN, is_sampled=False)))
    assert await count(pool, "turn_outbox", turn) == 0


class CutPool:
    """A pool whose connection breaks at the commit, before or after the database did it."""

    def __init__(self, pool: asyncpg.Pool, *, after: bool) -> None:
        self._pool = pool
        self._after = after

    def __getattr__(self, name: str) -> object:
        return getattr(self._pool, name)

    async def fetchval(self, query: str, *arguments: object) -> object:
        is_commit = "WITH lease" in query
        if is_commit and not self._after:
            raise asyncpg.ConnectionDoesNotExistError("cut before COMMIT")
        result = await self._pool.fetchval(query, *arguments)
        if is_commit:
            raise asyncpg.ConnectionDoesNotExistError("cut after COMMIT")
        return result


def over(pool: object) -> TurnRows:
    return TurnRows(pool, lease_seconds=30, wait_seconds=0.1, keep_replies=timedelta(hours=1))


async def test_a_commit_whose_answer_was_lost_is_looked_up_and_not_guessed(pool, request):
    store = over(CutPool(pool, after=True))
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key=None)
    assert await store.commit(a_record(turn, opened)) == 1


async def test_a_commit_that_never_arrived_is_reported_as_not_stored(pool, request):
    store = over(CutPool(pool, after=False))
    turn = fresh(request)
    opened = await store.open(turn, idempotency_key=None)
    with pytest.raises(StoreUnavailable):
        await store.commit(a_record(turn, opened))
    assert await count(pool, "turns", turn) == 0


async def test_a_database_that_is_away_is_one_error_of_ours():
    async with open_pool("postgresql://nobody@127.0.0.1:1/none", name="test") as pool:
        store = TurnRows(pool, lease_seconds=1, wait_seconds=0, keep_replies=timedelta(hours=1))
        with pytest.raises(StoreUnavailable):
            await store.open(a_turn(), idempotency_key=None)
        with pytest.raises(StoreUnavailable):
            await store.ping()
