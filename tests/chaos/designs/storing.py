"""Wrong designs of what is stored: one statement, or one verb of a store, made otherwise."""

# pyright: reportPrivateUsage=false
# A wrong design sits in the middle of the thing it spoils.

import asyncio
import contextlib
import uuid
from dataclasses import replace
from typing import Any

import orjson

import storage.turns as turns
from contract.ports import OpenedSession, ShadowJob, StoredReply, TurnRecord
from domain.diff import Comparison
from domain.errors import ErrorType, Refusal, StoreUnavailable
from domain.outcome import Outcome
from domain.session import SessionState
from domain.turn import Turn
from storage.shadow_queue import ShadowRows
from storage.turns import TurnRows


def no_key_row() -> None:
    """The commit leaves no row of its idempotency key."""
    commit = TurnRows.commit

    async def unkeyed(self: TurnRows, record: TurnRecord) -> int:
        return await commit(self, replace(record, idempotency_key=None, stored_reply=None))

    TurnRows.commit = unkeyed


def no_fencing() -> None:
    """The lease has no token, and whoever commits last takes the version that comes next."""
    _change("_COMMIT", "AND token = $3 RETURNING 1\n)", "AND $3::uuid IS NOT NULL RETURNING 1\n), anyway AS (SELECT 1 FROM (SELECT 1) a)")
    _change("_COMMIT", "END FROM lease\n", "END FROM anyway\n")
    _change("_COMMIT", "state_version = excluded.state_version,\n        backend", "state_version = s.state_version + 1,\n        backend")
    _change("_COMMIT", "WHERE s.state_version = $8\n", "")
    _change("_COMMIT", "'event', $8, state_version", "'event', state_version - 1, state_version")


def outbox_apart() -> None:
    """The shadow's job is written by a statement of its own, after the commit."""
    _change("_COMMIT", "'committed' FROM turn WHERE $26", "'committed' FROM turn WHERE $26 AND false")
    commit = TurnRows.commit

    async def then_outbox(self: TurnRows, record: TurnRecord) -> int:
        version, turn = await commit(self, record), record.turn
        await self._pool.execute(
            "INSERT INTO app.turn_outbox (turn_id, tenant_id, session_id, kind) VALUES ($1, $2, $3, 'committed')",
            uuid.UUID(turn.turn_id), turn.tenant_id, turn.session_id,
        )  # fmt: skip
        return version

    TurnRows.commit = then_outbox


def dedup_apart() -> None:
    """An event is looked up before the turn and noted after it, each time by a statement of its own; the commit knows only the turn."""
    open_, commit = TurnRows.open, TurnRows.commit

    async def open_by_note(self: TurnRows, turn: Turn, *, idempotency_key: str | None) -> OpenedSession:
        return await open_(self, replace(turn, event_id=turn.turn_id), idempotency_key=idempotency_key or f"event-{turn.event_id}")

    async def commit_then_note(self: TurnRows, record: TurnRecord) -> int:
        turn = record.turn
        version = await commit(self, replace(record, turn=replace(turn, event_id=turn.turn_id)))
        if record.idempotency_key is None and record.outcome.reply is not None:
            reply = record.outcome.reply
            note = {"stage": reply.stage, "patch": dict(reply.patch), "pieces": [reply.text], "version": version}
            await self._pool.execute(
                "INSERT INTO app.idempotency_records (tenant_id, client_id, idempotency_key, request_hash, turn_id, response_data,"
                " expires_at) VALUES ($1, $2, $3, $4, $5, $6, now() + interval '1 h')",
                turn.tenant_id, turn.client_id, f"event-{turn.event_id}", record.request_hash, uuid.UUID(turn.turn_id),
                orjson.dumps(note).decode(),
            )  # fmt: skip
        return version

    TurnRows.open = open_by_note
    TurnRows.commit = commit_then_note


def replies_in_memory() -> None:
    """What a key was answered is kept by the process that answered it."""
    open_, commit = TurnRows.open, TurnRows.commit
    kept: dict[str, StoredReply] = {}

    async def open_from_memory(self: TurnRows, turn: Turn, *, idempotency_key: str | None) -> OpenedSession:
        if idempotency_key in kept:
            return OpenedSession(state=SessionState(), pin=None, lease="", stored=kept[idempotency_key])
        return await open_(self, replace(turn, event_id=turn.turn_id), idempotency_key=None)

    async def commit_to_memory(self: TurnRows, record: TurnRecord) -> int:
        bare = replace(record, idempotency_key=None, stored_reply=None, turn=replace(record.turn, event_id=record.turn.turn_id))
        version = await commit(self, bare)
        if record.idempotency_key and record.stored_reply:
            kept[record.idempotency_key] = StoredReply(request_hash=record.request_hash, reply=record.stored_reply)
        return version

    TurnRows.open = open_from_memory
    TurnRows.commit = commit_to_memory


def projection_apart() -> None:
    """The form is written by a statement of its own, after the commit."""
    _change("_COMMIT", "-> 'dialogue', state_version FROM session\n", "-> 'dialogue', state_version FROM session WHERE $8 = 0\n")
    commit = TurnRows.commit

    async def then_form(self: TurnRows, record: TurnRecord) -> int:
        version = await commit(self, record)
        row = record.after.as_json()
        await self._pool.execute(
            "UPDATE app.accident_state SET form_data = $3, dialogue = $4, state_version = $5 WHERE tenant_id = $1 AND session_id = $2",
            record.turn.tenant_id, record.turn.session_id, orjson.dumps(row["form"]).decode(), orjson.dumps(row["dialogue"]).decode(),
            version,
        )  # fmt: skip
        return version

    TurnRows.commit = then_form


def no_failure_row() -> None:
    """A turn that failed gives its lease back and leaves no trace."""

    async def release_only(self: TurnRows, turn: Turn, outcome: Outcome, *, opened: OpenedSession, **_: Any) -> None:
        await self.release(turn, opened.lease)

    TurnRows.fail = release_only


def lost_turns_forgotten() -> None:
    """A failure that could not be written down because the process died is nobody's business: the next owner does not note it."""
    open_ = TurnRows.open

    async def tidy(self: TurnRows, turn: Turn, *, idempotency_key: str | None) -> OpenedSession:
        await self._pool.execute(
            "DELETE FROM app.session_leases WHERE tenant_id = $1 AND session_id = $2 AND until < clock_timestamp()",
            turn.tenant_id, turn.session_id,
        )  # fmt: skip
        while True:
            with contextlib.suppress(turns.SessionBusy):
                waiting = TurnRows(self._pool, lease_seconds=self._lease_seconds, wait_seconds=0, keep_replies=self._keep_replies)
                return await open_(waiting, turn, idempotency_key=idempotency_key)
            await asyncio.sleep(0.02)
            await self._pool.execute(
                "DELETE FROM app.session_leases WHERE tenant_id = $1 AND session_id = $2 AND until < clock_timestamp()",
                turn.tenant_id, turn.session_id,
            )  # fmt: skip

    TurnRows.open = tidy


def lost_commit_is_failure() -> None:
    """A commit whose answer did not come is taken for one that did not happen."""

    async def guess(self: TurnRows, turn: Turn, lease: uuid.UUID, error: BaseException) -> int:
        raise Refusal(ErrorType.MODEL_UNAVAILABLE)

    TurnRows._version_after_lost_answer = guess


def lost_commit_is_success() -> None:
    """A commit whose answer did not come is taken for done: it was sent, after all."""
    commit = TurnRows.commit

    async def hopeful(self: TurnRows, record: TurnRecord) -> int:
        try:
            return await commit(self, record)
        except StoreUnavailable:
            return record.before.version + 1

    TurnRows.commit = hopeful


def connection_kept() -> None:
    """Whoever writes a failure down forgets to give the connection back."""
    fail = TurnRows.fail

    async def greedy(self: TurnRows, *args: Any, **named: Any) -> None:
        await fail(self, *args, **named)
        await self._pool.acquire()

    TurnRows.fail = greedy


def reads_from_memory() -> None:
    """A process remembers the sessions it has read."""
    read = TurnRows.read
    kept: dict[str, SessionState | None] = {}

    async def remembered(self: TurnRows, tenant_id: str, session_id: str) -> SessionState | None:
        if session_id not in kept:
            kept[session_id] = await read(self, tenant_id, session_id)
        return kept[session_id]

    TurnRows.read = remembered


def ledger_first() -> None:
    """A job is marked as compared by a statement of its own, before its comparison is stored."""
    settle = ShadowRows.settle

    async def marked(self: ShadowRows, job: ShadowJob, comparison: Comparison) -> bool:
        await self._pool.execute(
            "INSERT INTO shadow.ledger (outbox_id, turn_id, state, worker) VALUES ($1, $2, 'compared', 'w') ON CONFLICT DO NOTHING",
            job.outbox_id, uuid.UUID(job.turn.turn_id),
        )  # fmt: skip
        return await settle(self, job, comparison)

    ShadowRows.settle = marked


def _change(statement: str, old: str, new: str) -> None:
    """One statement of storage/turns.py. Fails when it no longer reads as expected: then the design must be written anew."""
    text: str = getattr(turns, statement)
    if old not in text:
        raise LookupError(f"{statement} holds no {old!r}")
    setattr(turns, statement, text.replace(old, new, 1))
