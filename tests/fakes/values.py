"""Small valid values to change in one place."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from contract.ports import OpenedSession, Pin, TurnRecord
from domain.backend_name import BackendName
from domain.outcome import Outcome, Receipt, Reply
from domain.plan import Route
from domain.session import SessionState
from domain.stages import StageCode
from domain.turn import InputEvent, Turn, UserMessage

NOON = datetime(2026, 7, 27, 7, 20, tzinfo=UTC)  # 15:20 in Shanghai
ROUTE = Route(backend=BackendName.FASTGPT, reason="default", plan_version=1, bucket=7)
PIN = Pin(backend=BackendName.FASTGPT, reason="default", plan_version=1, bucket=7, is_sampled=True)


def a_turn(text: str = "你好", event: InputEvent | None = None, **changes: Any) -> Turn:
    turn_id = str(uuid.uuid4())
    turn = Turn(
        tenant_id="t1",
        client_id="acme",
        session_id="S-1",
        turn_id=turn_id,
        event_id=turn_id,
        text=text,
        event=event or UserMessage(text),
        received_at=NOON,
        request_id="r1",
    )
    return replace(turn, **changes)


def an_outcome(turn: Turn, backend: BackendName = BackendName.FASTGPT, **reply: Any) -> Outcome:
    values: dict[str, Any] = {"stage": StageCode.COLLECTING, "text": "请问事故中有没有人员受伤？"} | reply
    return Outcome(
        backend=backend, reply=Reply(**values), receipt=Receipt(backend=backend, build="test", turn_id=turn.turn_id), total_ms=12.5
    )


def a_record(turn: Turn, opened: OpenedSession, outcome: Outcome | None = None, **changes: Any) -> TurnRecord:
    outcome = outcome or an_outcome(turn)
    assert outcome.reply is not None
    after = replace(opened.state, stage=outcome.reply.stage).with_form(outcome.reply.patch)
    record = TurnRecord(
        turn=turn, before=opened.state, after=after, outcome=outcome, pin=opened.pin or PIN, route=ROUTE, lease=opened.lease
    )
    return replace(record, **changes)


def a_state(stage: StageCode = StageCode.COLLECTING, **form: Any) -> SessionState:
    return SessionState(stage=stage, form=form, version=3)
