"""The turn's path through the database: one round trip to open a session, one to commit it. Implements ports.TurnStore.

The commit is one statement, and so one transaction: it gives back the lease, moves the session from exactly the version it was opened at,
and writes state, event, turn record, stored reply and shadow job, or nothing at all. Each part reads from the part before it, so that a
lost lease or a moved version leaves every table untouched.
"""

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg
import structlog

from contract.ports import OpenedSession, Pin, StoredReply, TurnRecord
from domain.adoption import Adopted
from domain.backend_name import BackendName
from domain.errors import SessionBusy, SessionErased, StoreUnavailable, TurnAlreadyCommitted
from domain.outcome import Outcome
from domain.plan import Move, Route
from domain.session import Message, SessionState
from domain.stages import STAGES
from domain.turn import EVENT_TYPES, SetInfo, Turn
from storage import json
from storage.adoption import adopt_session, status_of
from storage.engine import OUTAGES, database_failures

log = structlog.get_logger(__name__)

TRANSCRIPT_TURNS = 3  # six messages: what a prompt may show of the past
LEASE_POLL_SECONDS = 0.02
UNRECORDED_LIMIT = 10_000

_OPEN = "SELECT * FROM app.open_session($1, $2, $3, $4, $5, $6, $7, $8)"

_COMMIT = """
WITH lease AS (
    DELETE FROM app.session_leases WHERE tenant_id = $1 AND session_id = $2 AND token = $3 RETURNING 1
), session AS (
    INSERT INTO app.accident_sessions AS s (
        tenant_id, session_id, client_id, status, phase, stage_code, state_version,
        backend, route_reason, plan_version, bucket, is_sampled, completed_at)
    SELECT $1, $2, $4, $5, $6, $7, $8 + 1, $9, $10, $11, $12, $13, CASE WHEN $5 = 'active' THEN NULL ELSE now() END FROM lease
    ON CONFLICT (tenant_id, session_id) DO UPDATE SET
        status = excluded.status, phase = excluded.phase, stage_code = excluded.stage_code, state_version = excluded.state_version,
        backend = excluded.backend, route_reason = excluded.route_reason, plan_version = excluded.plan_version, bucket = excluded.bucket,
        updated_at = now(), last_activity_at = now(), completed_at = coalesce(s.completed_at, excluded.completed_at)
    WHERE s.state_version = $8
    RETURNING tenant_id, session_id, state_version
), state AS (
    INSERT INTO app.accident_state AS st (tenant_id, session_id, form_data, dialogue, state_version)
    SELECT tenant_id, session_id, $14::jsonb -> 'form', $14::jsonb -> 'dialogue', state_version FROM session
    ON CONFLICT (tenant_id, session_id) DO UPDATE SET
        form_data = excluded.form_data, dialogue = excluded.dialogue, state_version = excluded.state_version, updated_at = now()
), event AS (
    INSERT INTO app.accident_events (tenant_id, event_id, session_id, event_type, actor_client_id, payload,
                                     previous_version, new_version, request_id)
    SELECT tenant_id, $15, session_id, $16, $4, $17::jsonb -> 'event', $8, state_version, $18 FROM session
), turn AS (
    INSERT INTO app.turns (turn_id, tenant_id, session_id, client_id, event_id, version, status, event_type, input, after,
                           output_text, outcome, backend, route_reason, plan_version, request_id, received_at)
    SELECT $19, tenant_id, session_id, $4, $15, state_version, 'committed', $16, $17, $14, $20, $21, $22, $23, $24, $18, $25 FROM session
    RETURNING turn_id, tenant_id, session_id
), outbox AS (
    INSERT INTO app.turn_outbox (turn_id, tenant_id, session_id, kind)
    SELECT turn_id, tenant_id, session_id, 'committed' FROM turn WHERE $26
), stored AS (
    INSERT INTO app.idempotency_records (tenant_id, client_id, idempotency_key, request_hash, turn_id, response_data, expires_at,
                                         session_id)
    SELECT tenant_id, $4, $27, $28, turn_id, $29, now() + $30::interval, session_id FROM turn WHERE $27::text IS NOT NULL
), move AS (
    INSERT INTO app.session_moves (tenant_id, session_id, from_backend, to_backend, cause, outcome, lost, plan_version, state_version)
    SELECT tenant_id, session_id, $31, $32, $33, $34, $35, $24, $8 FROM session
    WHERE $31::text IS NOT NULL AND ($34 = 'moved' OR NOT EXISTS (
        SELECT 1 FROM app.session_moves m
        WHERE m.tenant_id = $1 AND m.session_id = $2 AND m.plan_version = $24 AND m.outcome = 'refused' AND m.lost = $35))
)
SELECT state_version FROM session
"""

_FAIL = """
WITH lease AS (
    DELETE FROM app.session_leases WHERE tenant_id = $2 AND session_id = $3 AND token IN ($14, $18)
), turn AS (
    INSERT INTO app.turns (turn_id, tenant_id, session_id, client_id, event_id, version, status, event_type, input,
                           outcome, backend, route_reason, plan_version, request_id, received_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $15, $16)
    ON CONFLICT (turn_id) DO NOTHING
    RETURNING turn_id
)
INSERT INTO app.turn_outbox (turn_id, tenant_id, session_id, kind) SELECT turn_id, $2, $3, $7 FROM turn WHERE $17
"""

_READ = """
SELECT s.stage_code, s.state_version, st.form_data, st.dialogue, s.status
FROM app.accident_sessions s JOIN app.accident_state st USING (tenant_id, session_id)
WHERE s.tenant_id = $1 AND s.session_id = $2
"""

# The lease stays taken, under a token no commit knows.
_WITHDRAW = "UPDATE app.session_leases SET token = $4 WHERE tenant_id = $1 AND session_id = $2 AND token = $3"

_RELEASE = "DELETE FROM app.session_leases WHERE tenant_id = $1 AND session_id = $2 AND token = $3"

_ACKNOWLEDGE = """
WITH lease AS (DELETE FROM app.session_leases WHERE tenant_id = $1 AND session_id = $2 AND token = $3 RETURNING 1)
INSERT INTO app.idempotency_records (tenant_id, client_id, idempotency_key, request_hash, turn_id, response_data, expires_at, session_id)
SELECT $1, $4, $5, $6, $7, $8, now() + $9::interval, $2 FROM lease
RETURNING 1
"""

_COMMITTED_VERSION = "SELECT version FROM app.turns WHERE turn_id = $1 AND status = 'committed'"


class TurnRows:
    def __init__(self, pool: asyncpg.Pool, *, lease_seconds: float, wait_seconds: float, keep_replies: timedelta) -> None:
        self._pool = pool
        self._lease_seconds = lease_seconds
        self._wait_seconds = wait_seconds
        self._keep_replies = keep_replies
        # Failures that the database did not take, by session: each is written before the session's next turn here is opened. Elsewhere
        # its lease runs out first, and whoever takes that over writes a row of its own.
        self._unrecorded: dict[tuple[str, str], tuple[Any, ...]] = {}

    async def open(self, turn: Turn, *, idempotency_key: str | None) -> OpenedSession:
        lease = uuid.uuid4()
        arguments = (
            turn.tenant_id, turn.session_id, turn.client_id, idempotency_key, turn.event_id,
            lease, self._lease_seconds, TRANSCRIPT_TURNS,
        )  # fmt: skip
        if (turn.tenant_id, turn.session_id) in self._unrecorded:
            await self._record_late(turn.tenant_id, turn.session_id)
        deadline = asyncio.get_running_loop().time() + self._wait_seconds
        while True:
            try:
                with database_failures("open_session"):
                    row = await self._pool.fetchrow(_OPEN, *arguments)
            except asyncio.CancelledError:
                # The lease may be ours by now, and nobody would ever give it back.
                await asyncio.shield(self.release(turn, str(lease)))
                raise
            if row is not None and row["is_erased"]:
                await self.release(turn, str(lease))
                raise SessionErased
            if row is not None:
                return _opened(row, str(lease))
            if asyncio.get_running_loop().time() >= deadline:
                raise SessionBusy
            await asyncio.sleep(LEASE_POLL_SECONDS)

    async def commit(self, record: TurnRecord) -> int:
        turn, after, reply = record.turn, record.after, record.outcome.reply
        if after.stage is None or reply is None:
            raise ValueError("only an answered turn can be committed")
        phase = STAGES[after.stage].phase
        try:
            version = await self._pool.fetchval(
                _COMMIT,
                turn.tenant_id, turn.session_id, uuid.UUID(record.lease), turn.client_id,
                status_of(after.stage), phase, after.stage, record.before.version,
                record.pin.backend, record.pin.reason, record.pin.plan_version, record.pin.bucket, record.pin.is_sampled,
                json.dumps(after.as_json()),
                turn.event_id, EVENT_TYPES[type(turn.event)], _input_of(turn), turn.request_id,
                uuid.UUID(turn.turn_id), reply.text or None, json.dumps(record.outcome),
                record.route.backend, record.route.reason, record.route.plan_version, turn.received_at,
                record.pin.is_sampled and not isinstance(turn.event, SetInfo),
                record.idempotency_key, record.request_hash, json.dumps(record.stored_reply), self._keep_replies,
                *_move_columns(record.move),
            )  # fmt: skip
        except asyncpg.UniqueViolationError as error:
            raise TurnAlreadyCommitted(type(error).__name__) from None
        except OUTAGES as error:
            version = await self._version_after_lost_answer(turn, uuid.UUID(record.lease), error)
        except asyncpg.PostgresError as error:
            with database_failures("commit_turn"):
                raise error
        if version is None:
            raise SessionBusy
        return version

    async def _version_after_lost_answer(self, turn: Turn, lease: uuid.UUID, error: BaseException) -> int:
        """The connection broke while it committed: whether it did is asked on a new one, never guessed.

        The commit may still be running over there, or not have begun. Taking its lease away waits for the one and forbids the other, so
        that what is seen afterwards is final. The lease is not given back yet: should this process end before it has recorded the failure,
        whoever takes the lease over records a lost turn.
        """
        log.warning("commit_answer_lost", error_type=type(error).__name__, turn_id=turn.turn_id)
        with database_failures("look_up_commit"):
            await self._pool.execute(_WITHDRAW, turn.tenant_id, turn.session_id, lease, _withdrawn(lease))
            version = await self._pool.fetchval(_COMMITTED_VERSION, uuid.UUID(turn.turn_id))
        if version is None:
            raise StoreUnavailable("commit_turn") from None
        return version

    async def release(self, turn: Turn, lease: str) -> None:
        try:
            with database_failures("release_lease"):
                await self._pool.execute(_RELEASE, turn.tenant_id, turn.session_id, uuid.UUID(lease))
        except StoreUnavailable:
            log.warning("lease_left_to_expire", turn_id=turn.turn_id)

    async def acknowledge(self, turn: Turn, lease: str, *, idempotency_key: str, request_hash: bytes, stored_reply: dict[str, Any]) -> None:
        with database_failures("acknowledge_turn"):
            try:
                kept = await self._pool.fetchval(
                    _ACKNOWLEDGE,
                    turn.tenant_id, turn.session_id, uuid.UUID(lease), turn.client_id, idempotency_key, request_hash,
                    uuid.UUID(turn.turn_id), json.dumps(stored_reply), self._keep_replies,
                )  # fmt: skip
            except asyncpg.UniqueViolationError as error:
                raise TurnAlreadyCommitted(type(error).__name__) from None
        if kept is None:
            raise SessionBusy

    async def fail(self, turn: Turn, outcome: Outcome, *, opened: OpenedSession, pin: Pin, route: Route, cancelled: bool) -> None:
        row = (
            uuid.UUID(turn.turn_id), turn.tenant_id, turn.session_id, turn.client_id, turn.event_id, opened.state.version,
            "cancelled" if cancelled else "failed", EVENT_TYPES[type(turn.event)], _input_of(turn), json.dumps(outcome),
            route.backend, route.reason, route.plan_version, uuid.UUID(opened.lease), turn.request_id, turn.received_at,
            pin.is_sampled and not isinstance(turn.event, SetInfo), _withdrawn(uuid.UUID(opened.lease)),
        )  # fmt: skip
        try:
            with database_failures("record_failure"):
                await self._pool.execute(_FAIL, *row)
        except StoreUnavailable:
            log.warning("failure_not_recorded", turn_id=turn.turn_id)
            if len(self._unrecorded) < UNRECORDED_LIMIT:
                self._unrecorded[turn.tenant_id, turn.session_id] = row

    async def _record_late(self, tenant_id: str, session_id: str) -> None:
        """Raises StoreUnavailable; the failure is then kept on."""
        row = self._unrecorded[tenant_id, session_id]
        with database_failures("record_failure"):
            await self._pool.execute(_FAIL, *row)
        self._unrecorded.pop((tenant_id, session_id), None)

    async def adopt(self, turn: Turn, adopted: Adopted, opened: OpenedSession, pin: Pin) -> bool:
        with database_failures("adopt_session"):
            return await adopt_session(self._pool, turn, adopted, uuid.UUID(opened.lease), pin)

    async def read(self, tenant_id: str, session_id: str) -> SessionState | None:
        with database_failures("read_session"):
            row = await self._pool.fetchrow(_READ, tenant_id, session_id)
        if row is not None and row["status"] == "erased":
            raise SessionErased
        return None if row is None else _state(row, ())

    async def ping(self) -> None:
        with database_failures("ping"):
            await self._pool.fetchval("SELECT 1")


def _withdrawn(lease: uuid.UUID) -> uuid.UUID:
    """The token of a lease after its commit was forbidden: still the owner's to give back, by nobody else's name."""
    return uuid.uuid5(lease, "withdrawn")


def _input_of(turn: Turn) -> str:
    return json.dumps({"text": turn.text, "event": turn.event})


def _move_columns(move: Move | None) -> tuple[str | list[str] | None, ...]:
    if move is None:
        return None, None, None, None, None
    return move.source, move.target, move.cause, "refused" if move.is_refused else "moved", list(move.lost)


def _state(row: Mapping[str, Any], transcript: tuple[Message, ...]) -> SessionState:
    return SessionState.from_json(
        {"stage": row["stage_code"], "form": json.loads(row["form_data"]) or {}, "dialogue": json.loads(row["dialogue"]) or {}},
        version=row["state_version"],
        transcript=transcript,
    )


def transcript_from(pairs: list[list[str]] | None) -> tuple[Message, ...]:
    """[[said, answered], …], oldest first."""
    return tuple(message for said, answered in pairs or () for message in (Message("user", said), Message("assistant", answered)))


def _opened(row: Mapping[str, Any], lease: str) -> OpenedSession:
    reply = json.loads(row["stored_reply"])
    stored = None if reply is None else StoredReply(request_hash=row["stored_hash"], reply=reply, given=tuple(reply.pop("given", ())))
    state = _state(row, transcript_from(json.loads(row["transcript"])))
    if row["invalid_turns"]:
        # Counted from the failure rows since the last commit: a failed turn commits nothing, and any replica may take the next one.
        state = state.with_dialogue(invalid_turns=row["invalid_turns"])
    state = replace(state, memory=row["memory"] if not row["loose_turns"] else None, loose_turns=row["loose_turns"])
    pin = None
    if row["backend"] is not None:
        pin = Pin(
            backend=BackendName(row["backend"]),
            reason=row["route_reason"],
            plan_version=row["plan_version"],
            bucket=row["bucket"],
            is_sampled=row["is_sampled"],
        )
    served_by = row["served_by"]
    return OpenedSession(state=state, pin=pin, lease=lease, stored=stored, served_by=BackendName(served_by) if served_by else None)
