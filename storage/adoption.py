"""A conversation from before our time becomes a session of ours, in one statement and under the lease that is held."""

import uuid
from collections.abc import Mapping
from typing import Any

import asyncpg

from contract.ports import Pin
from domain.adoption import Adopted
from domain.outcome import Outcome, Receipt, Reply
from domain.stages import STAGES, Phase, StageCode
from domain.turn import EVENT_TYPES, Turn
from storage import json

_ADOPT = """
WITH lease AS (
    SELECT 1 FROM app.session_leases WHERE tenant_id = $1 AND session_id = $2 AND token = $3
), session AS (
    INSERT INTO app.accident_sessions (
        tenant_id, session_id, client_id, status, phase, stage_code, state_version,
        backend, route_reason, plan_version, bucket, is_sampled, completed_at)
    SELECT $1, $2, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, CASE WHEN $5 = 'active' THEN NULL ELSE now() END FROM lease
    ON CONFLICT DO NOTHING
    RETURNING tenant_id, session_id, client_id, backend, route_reason, plan_version, state_version
), state AS (
    INSERT INTO app.accident_state (tenant_id, session_id, form_data, dialogue, state_version)
    SELECT tenant_id, session_id, $14::jsonb -> 'form', $14::jsonb -> 'dialogue', state_version FROM session
), event AS (
    INSERT INTO app.accident_events (tenant_id, event_id, session_id, event_type, actor_client_id, payload,
                                     previous_version, new_version, request_id)
    SELECT tenant_id, $15, session_id, 'session_adopted', $4, '{}', 0, state_version, $16 FROM session
), turns AS (
    INSERT INTO app.turns (turn_id, tenant_id, session_id, client_id, event_id, version, status, event_type, input, after,
                           output_text, outcome, backend, route_reason, plan_version, request_id, received_at)
    SELECT r.turn_id, s.tenant_id, s.session_id, s.client_id, r.turn_id::text, r.version, 'committed', r.event_type, r.input, r.after,
           r.output_text, r.outcome, s.backend, s.route_reason, s.plan_version, $16, r.received_at
    FROM session s, jsonb_to_recordset($17::jsonb) AS r(turn_id uuid, version integer, event_type text, input jsonb, after jsonb,
                                                        output_text text, outcome jsonb, received_at timestamptz)
)
SELECT true FROM session
"""

_STATUS = {Phase.HANDOFF: "handed_off", Phase.COMPLETE: "completed"}


def status_of(stage: StageCode) -> str:
    return _STATUS.get(STAGES[stage].phase, "active")


async def adopt_session(pool: asyncpg.Pool, turn: Turn, adopted: Adopted, lease: uuid.UUID, pin: Pin) -> bool:
    """False when the lease is no longer ours or the session exists."""
    state = adopted.state
    if state.stage is None:
        raise ValueError("a conversation without an answered turn is not adopted")
    rows = [_round_row(adopted, index, pin) for index in range(len(adopted.rounds))]
    stored = await pool.fetchval(
        _ADOPT,
        turn.tenant_id, turn.session_id, lease, turn.client_id,
        status_of(state.stage), state.phase, state.stage, state.version,
        pin.backend, pin.reason, pin.plan_version, pin.bucket, pin.is_sampled,
        json.dumps(state.as_json()), f"adopted:{uuid.uuid4()}", turn.request_id, json.dumps(rows),
    )  # fmt: skip
    return bool(stored)


def _round_row(adopted: Adopted, index: int, pin: Pin) -> Mapping[str, Any]:
    """The newest round carries the state that the next turn starts from, and the name of the upstream's memory."""
    one, is_newest = adopted.rounds[index], index == len(adopted.rounds) - 1
    turn_id = str(uuid.uuid4())
    outcome = Outcome(
        backend=pin.backend,
        reply=Reply(stage=one.stage, text=one.answer),
        receipt=Receipt(backend=pin.backend, build=adopted.build, turn_id=turn_id, memory=adopted.state.memory if is_newest else None),
    )
    return {
        "turn_id": turn_id,
        "version": adopted.state.version - len(adopted.rounds) + index + 1,
        "event_type": EVENT_TYPES[type(one.event)],
        "input": {"text": one.said, "event": one.event},
        "after": adopted.state.as_json() if is_newest else None,
        "output_text": one.answer,
        "outcome": outcome.as_json(),
        "received_at": one.at.isoformat(),
    }
