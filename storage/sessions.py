"""Single sessions in an operator's hands: looked at, moved, given up upstream, erased. Implements ports.SessionStore.

Each is held by its lease like a turn, so that no turn runs meanwhile and none sees half of what was done.
"""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

import asyncpg

from contract.ports import HeldSession, Pin
from domain.errors import SessionBusy
from domain.plan import Move
from domain.session import SessionState
from domain.turn import SessionStarted, Turn
from storage import json
from storage.engine import database_failures
from storage.turns import TurnRows

_KNOWN = """
SELECT tenant_id, session_id FROM app.accident_sessions
WHERE ($1::text IS NULL OR tenant_id = $1) AND (tenant_id, session_id) > ($2, $3) AND status <> 'erased'
ORDER BY tenant_id, session_id LIMIT $4
"""

_ANSWERED = """
SELECT s.client_id, t.after, t.version
FROM app.accident_sessions s
LEFT JOIN LATERAL (
    SELECT after, version FROM app.turns
    WHERE tenant_id = $1 AND session_id = $2 AND status = 'committed' AND output_text IS NOT NULL
    ORDER BY version DESC LIMIT 1
) AS t ON true
WHERE s.tenant_id = $1 AND s.session_id = $2
"""

_DISTRUST = """
WITH lease AS (DELETE FROM app.session_leases WHERE tenant_id = $1 AND session_id = $2 AND token = $3 RETURNING 1)
SELECT app.record_lost_turn($1, $2, $4, 'reconciled') FROM lease
"""

_MOVE = """
WITH lease AS (
    DELETE FROM app.session_leases WHERE tenant_id = $1 AND session_id = $2 AND token = $3 RETURNING 1
), pin AS (
    -- An operator's word is younger than every plan there is: a plan that carries sessions along does not take it back.
    UPDATE app.accident_sessions SET backend = $4, route_reason = $5, updated_at = now(),
                                     plan_version = CASE WHEN $9 = 'moved' THEN (SELECT max(version) FROM app.rollout_plans)
                                                         ELSE plan_version END
    WHERE tenant_id = $1 AND session_id = $2 AND EXISTS (SELECT 1 FROM lease)
)
INSERT INTO app.session_moves (tenant_id, session_id, from_backend, to_backend, cause, outcome, lost, author, reason,
                               plan_version, state_version)
SELECT $1, $2, $6, $7, $8, $9, $10, $11, $12, $13, $14 FROM lease
RETURNING 1
"""

_MEMORIES = """
SELECT DISTINCT outcome #>> '{receipt,memory}' AS memory FROM app.turns
WHERE tenant_id = $1 AND session_id = $2 AND outcome #>> '{receipt,memory}' IS NOT NULL
"""


class SessionRows:
    def __init__(self, pool: asyncpg.Pool, turns: TurnRows) -> None:
        self._pool = pool
        self._turns = turns

    async def known(self, *, tenant_id: str | None, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
        with database_failures("list_sessions"):
            rows = await self._pool.fetch(_KNOWN, tenant_id, *after, limit)
        return [(row["tenant_id"], row["session_id"]) for row in rows]

    async def hold(self, tenant_id: str, session_id: str) -> HeldSession | None:
        turn = _nobody_s_turn(tenant_id, session_id)
        opened = await self._turns.open(turn, idempotency_key=None)
        if opened.pin is None:
            await self._turns.release(turn, opened.lease)
            return None
        with database_failures("read_session"):
            row = await self._pool.fetchrow(_ANSWERED, tenant_id, session_id)
        after = json.loads(row["after"])
        return HeldSession(
            tenant_id=tenant_id,
            session_id=session_id,
            client_id=row["client_id"],
            opened=opened,
            pin=opened.pin,
            answered=SessionState.from_json(after, version=row["version"]) if after else None,
        )

    async def release(self, held: HeldSession) -> None:
        await self._turns.release(_nobody_s_turn(held.tenant_id, held.session_id), held.opened.lease)

    async def distrust(self, held: HeldSession) -> None:
        with database_failures("distrust_memory"):
            await self._pool.execute(_DISTRUST, held.tenant_id, held.session_id, uuid.UUID(held.opened.lease), held.client_id)

    async def move(self, held: HeldSession, pin: Pin, move: Move, *, author: str, reason: str) -> None:
        with database_failures("move_session"):
            done = await self._pool.fetchval(
                _MOVE,
                held.tenant_id, held.session_id, uuid.UUID(held.opened.lease), pin.backend, pin.reason,
                move.source, move.target, move.cause, "refused" if move.is_refused else "moved", list(move.lost),
                author, reason, held.pin.plan_version, held.opened.state.version,
            )  # fmt: skip
        if done is None:
            raise SessionBusy

    async def erase(self, held: HeldSession) -> None:
        try:
            with database_failures("erase_session"):
                await self._pool.execute(
                    "SELECT app.erase_session($1, $2, $3)", held.tenant_id, held.session_id, uuid.UUID(held.opened.lease)
                )
        except asyncpg.SerializationError:
            raise SessionBusy from None

    async def memories(self, tenant_id: str, session_id: str) -> Sequence[str]:
        with database_failures("list_memories"):
            rows = await self._pool.fetch(_MEMORIES, tenant_id, session_id)
        return [row["memory"] for row in rows]


def _nobody_s_turn(tenant_id: str, session_id: str) -> Turn:
    """A hold is a lease, and a lease belongs to a turn; this one is never run."""
    turn_id = str(uuid.uuid4())
    return Turn(
        tenant_id=tenant_id, client_id="", session_id=session_id, turn_id=turn_id, event_id=turn_id,
        text="", event=SessionStarted(), received_at=datetime.now(UTC),
    )  # fmt: skip
