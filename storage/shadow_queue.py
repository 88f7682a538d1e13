"""The shadow's work list and what becomes of it. Implements ports.ShadowQueue with the shadow role.

Pending work is the outbox minus the ledger: nothing is ever taken off a queue, so nothing can be lost by a worker that dies. A claim keeps
two workers off one session; when it expires the session is free again, and the ledger's primary key makes a second settling a no-op.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg
import structlog

from contract.ports import ShadowJob
from domain.diff import Comparison
from domain.outcome import Outcome
from domain.policy import CAREFUL, Policy
from domain.session import SessionState
from domain.stages import StageCode
from domain.turn import EVENT_TYPES, InputEvent, NoResponse, PhotoCompleted, PhotoRecognitionFailed, SessionStarted, Turn, UserMessage
from storage import json
from storage.engine import database_failures
from storage.turns import TRANSCRIPT_TURNS, transcript_from

LONGEST_REST_SECONDS = 600.0  # an outage's sessions are tried again at least this often

log = structlog.get_logger(__name__)

_CLAIM = """
WITH next AS (
    SELECT o.tenant_id, o.session_id
    FROM app.turn_outbox o
    LEFT JOIN shadow.ledger l USING (outbox_id)
    LEFT JOIN shadow.claims c ON c.tenant_id = o.tenant_id AND c.session_id = o.session_id
    WHERE o.outbox_id > (SELECT settled_through FROM shadow.progress)
      AND l.outbox_id IS NULL AND o.kind = 'committed' AND (c.until IS NULL OR c.until < clock_timestamp())
    ORDER BY o.outbox_id LIMIT 1
)
INSERT INTO shadow.claims AS c (tenant_id, session_id, worker, until)
SELECT tenant_id, session_id, $1, clock_timestamp() + make_interval(secs => $2) FROM next
ON CONFLICT (tenant_id, session_id) DO UPDATE SET worker = excluded.worker, until = excluded.until, note = ''
WHERE c.until < clock_timestamp()
RETURNING tenant_id, session_id
"""

_JOBS = """
SELECT o.outbox_id, t.turn_id, t.tenant_id, t.session_id, t.client_id, t.event_id, t.request_id, t.event_type, t.version,
       t.input, t.outcome, t.received_at, b.after AS before,
       (SELECT jsonb_agg(jsonb_build_array(p.input ->> 'text', p.output_text) ORDER BY p.version)
        FROM (SELECT p.version, p.input, p.output_text FROM app.turns p
              WHERE p.tenant_id = t.tenant_id AND p.session_id = t.session_id AND p.status = 'committed'
                AND p.output_text IS NOT NULL AND p.version < t.version
              ORDER BY p.version DESC LIMIT $4) p) AS transcript
FROM app.turn_outbox o
JOIN app.turns t USING (turn_id)
LEFT JOIN app.turns b
    ON b.tenant_id = t.tenant_id AND b.session_id = t.session_id AND b.version = t.version - 1 AND b.status = 'committed'
LEFT JOIN shadow.ledger l USING (outbox_id)
WHERE o.tenant_id = $1 AND o.session_id = $2 AND o.kind = 'committed' AND l.outbox_id IS NULL
ORDER BY t.version LIMIT $3
"""

_SETTLE = """
WITH entry AS (
    INSERT INTO shadow.ledger (outbox_id, turn_id, state, worker) VALUES ($1, $2, 'compared', $3)
    ON CONFLICT DO NOTHING RETURNING outbox_id, turn_id
), comparison AS (
    INSERT INTO shadow.comparisons (outbox_id, turn_id, tenant_id, session_id, client_id, event_type, mode, primary_backend,
                                    shadow_backend, from_stage, primary_stage, shadow_stage, compared, shadow_outcome)
    SELECT outbox_id, turn_id, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15 FROM entry
    RETURNING comparison_id
), renewed AS (
    UPDATE shadow.claims SET until = clock_timestamp() + make_interval(secs => $18), attempts = 0
    WHERE tenant_id = $4 AND session_id = $5 AND worker = $17
), diff AS (
    INSERT INTO shadow.diffs (comparison_id, kind, signature, severity, detail)
    SELECT comparison_id, d.kind, d.signature, d.severity, d.detail
    FROM comparison, jsonb_to_recordset($16::jsonb) AS d(kind text, signature text, severity text, detail jsonb)
)
SELECT count(*) FROM entry
"""

_SETTLE_FAILURES = """
INSERT INTO shadow.ledger (outbox_id, turn_id, state, reason, worker)
SELECT o.outbox_id, o.turn_id, 'failed', 'primary:' || coalesce(t.outcome #>> '{failure,kind}', o.kind), $1
FROM app.turn_outbox o JOIN app.turns t USING (turn_id) LEFT JOIN shadow.ledger l USING (outbox_id)
WHERE o.outbox_id > (SELECT settled_through FROM shadow.progress) AND o.kind <> 'committed' AND l.outbox_id IS NULL
ORDER BY o.outbox_id LIMIT 1000
ON CONFLICT DO NOTHING
"""

_GIVE_UP = """
INSERT INTO shadow.ledger (outbox_id, turn_id, state, reason, worker) VALUES ($1, $2, 'unreplayable', $4, $3) ON CONFLICT DO NOTHING
"""

_POSTPONE = """
UPDATE shadow.claims
SET until = clock_timestamp() + make_interval(secs => least($4 * power(2, least(attempts, 20)), $6)), attempts = attempts + 1, note = $5
WHERE tenant_id = $1 AND session_id = $2 AND worker = $3
"""

_GIVE_BACK = "UPDATE shadow.claims SET until = clock_timestamp() WHERE tenant_id = $1 AND session_id = $2 AND worker = $3"

# Rows younger than this may still get a lower neighbour: an outbox id is drawn before its transaction commits.
_SETTLING_SECONDS = 600.0

_ADVANCE = """
UPDATE shadow.progress p SET settled_through = seen.through
FROM (
    SELECT coalesce(
        min(o.outbox_id) FILTER (WHERE l.outbox_id IS NULL OR o.created_at > clock_timestamp() - make_interval(secs => $1)) - 1,
        max(o.outbox_id)) AS through
    FROM app.turn_outbox o LEFT JOIN shadow.ledger l USING (outbox_id)
    WHERE o.outbox_id > (SELECT settled_through FROM shadow.progress)
) seen
WHERE seen.through > p.settled_through
"""


class ShadowRows:
    def __init__(
        self,
        pool: asyncpg.Pool,
        *,
        worker: str,
        claim_seconds: float,
        settling_seconds: float = _SETTLING_SECONDS,
        policy: Policy = CAREFUL,
    ) -> None:
        """`policy`: the one the proxies serve under, which a stored turn does not hold."""
        self._policy = policy
        self._settling_seconds = settling_seconds
        self._pool = pool
        self._worker = worker
        self._claim_seconds = claim_seconds

    async def take_session(self, *, limit: int) -> Sequence[ShadowJob]:
        with database_failures("take_shadow_session"):
            claim = f"{self._worker}#{uuid.uuid4()}"  # a lane's own: another lane of this worker can neither use nor end it
            session = await self._pool.fetchrow(_CLAIM, claim, self._claim_seconds)
            if session is None:
                return ()
            tenant_id, session_id = session["tenant_id"], session["session_id"]
            rows = await self._pool.fetch(_JOBS, tenant_id, session_id, limit, TRANSCRIPT_TURNS)
            jobs = [job for row in rows if (job := await self._readable(row, claim)) is not None]
            if not jobs:
                await self._pool.execute(_GIVE_BACK, tenant_id, session_id, claim)
            return jobs

    async def _readable(self, row: Mapping[str, Any], claim: str) -> ShadowJob | None:
        """A row that another release wrote otherwise must not stop the rows behind it."""
        try:
            return _job(row, claim, self._policy)
        except (KeyError, TypeError, ValueError) as error:
            log.error("shadow_job_unreadable", outbox_id=row["outbox_id"], error_type=type(error).__name__)
            await self._pool.execute(_GIVE_UP, row["outbox_id"], row["turn_id"], self._worker, "unreadable")
            return None

    async def settle(self, job: ShadowJob, comparison: Comparison) -> bool:
        turn = job.turn
        primary, shadow = comparison.primary.reply, comparison.shadow.reply
        with database_failures("settle_comparison"):
            settled = await self._pool.fetchval(
                _SETTLE,
                job.outbox_id, uuid.UUID(turn.turn_id), self._worker, turn.tenant_id, turn.session_id, turn.client_id,
                EVENT_TYPES[type(turn.event)], comparison.mode, comparison.primary.backend, comparison.shadow.backend,
                job.before.stage, primary and primary.stage, shadow and shadow.stage, list(comparison.compared),
                json.dumps(comparison.shadow), json.dumps(comparison.diffs), job.claim, self._claim_seconds,
            )  # fmt: skip
        return bool(settled)

    async def give_up(self, job: ShadowJob, *, reason: str) -> None:
        with database_failures("give_up_shadow_job"):
            await self._pool.execute(_GIVE_UP, job.outbox_id, uuid.UUID(job.turn.turn_id), self._worker, reason)

    async def postpone(self, job: ShadowJob, *, note: str, seconds: float) -> None:
        with database_failures("postpone_shadow_session"):
            await self._pool.execute(_POSTPONE, job.turn.tenant_id, job.turn.session_id, job.claim, seconds, note, LONGEST_REST_SECONDS)

    async def give_back(self, job: ShadowJob) -> None:
        with database_failures("give_back_shadow_session"):
            await self._pool.execute(_GIVE_BACK, job.turn.tenant_id, job.turn.session_id, job.claim)

    async def settle_failures(self) -> int:
        with database_failures("settle_failures"):
            done = await self._pool.execute(_SETTLE_FAILURES, self._worker)
            await self._pool.execute(_ADVANCE, self._settling_seconds)
        return int(done.split()[-1])


def _job(row: Mapping[str, Any], claim: str, policy: Policy) -> ShadowJob:
    version = row["version"] - 1
    given = json.loads(row["input"])
    return ShadowJob(
        outbox_id=row["outbox_id"],
        claim=claim,
        turn=Turn(
            tenant_id=row["tenant_id"],
            client_id=row["client_id"],
            session_id=row["session_id"],
            turn_id=str(row["turn_id"]),
            event_id=row["event_id"],
            text=given["text"],
            event=event_from_json(row["event_type"], given["event"]),
            received_at=row["received_at"],
            request_id=row["request_id"],
            policy=policy,
        ),
        before=SessionState.from_json(
            json.loads(row["before"]) or {}, version=version, transcript=transcript_from(json.loads(row["transcript"]))
        ),
        primary=Outcome.from_json(json.loads(row["outcome"])),
    )


def event_from_json(event_type: str, row: Mapping[str, Any]) -> InputEvent:
    """The stored shape is the event's own fields (storage/turns.py)."""
    match event_type:
        case "user_message":
            return UserMessage(row["text"])
        case "photo_completed":
            return PhotoCompleted(StageCode(row["step"]) if row["step"] else None)
        case "photo_recognition_failed":
            return PhotoRecognitionFailed(count=row["count"], reason=row["reason"])
        case "no_response":
            return NoResponse(row["count"])
        case "session_started":
            return SessionStarted()
        case _:
            raise ValueError(f"no shadow job carries {event_type}")
