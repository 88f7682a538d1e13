"""One input of one session, and the events a turn can carry. All values are frozen."""

from dataclasses import dataclass
from datetime import datetime

from domain.policy import CAREFUL, Policy
from domain.stages import StageCode


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Something a person said. `text` is cleaned at the door: no NUL, no lone surrogate, 1-2000 characters."""

    text: str


@dataclass(frozen=True, slots=True)
class SetInfo:
    """A field written by the client. `value` is decoded from the wire and not yet validated."""

    key: str
    value: object


@dataclass(frozen=True, slots=True)
class PhotoCompleted:
    step: StageCode | None = None  # None: the client did not say which


@dataclass(frozen=True, slots=True)
class PhotoRecognitionFailed:
    count: int | None = None  # None: a bare event adds one
    reason: str = "未说明"


@dataclass(frozen=True, slots=True)
class NoResponse:
    count: int | None = None  # None: a bare event adds one


@dataclass(frozen=True, slots=True)
class SessionStarted:
    pass


InputEvent = UserMessage | SetInfo | PhotoCompleted | PhotoRecognitionFailed | NoResponse | SessionStarted

EVENT_TYPES: dict[type[InputEvent], str] = {
    UserMessage: "user_message",
    SetInfo: "set_info",
    PhotoCompleted: "photo_completed",
    PhotoRecognitionFailed: "photo_recognition_failed",
    NoResponse: "no_response",
    SessionStarted: "session_started",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One accepted request. `text` is what the caller sent (a legacy backend reads its bracketed strings itself);
    `event` is what it means. `received_at` is aware UTC and is the turn's only clock: a replay hours later gives the same answer."""

    tenant_id: str
    client_id: str
    session_id: str
    turn_id: str  # uuid, unique; also the idempotency unit of upstream calls
    event_id: str  # unique within a tenant
    text: str
    event: InputEvent
    received_at: datetime
    request_id: str = ""
    policy: Policy = CAREFUL

    @property
    def is_named(self) -> bool:
        """The caller gave an event id or an idempotency key, so a repetition is known as one. Without them the event has the turn's id."""
        return self.event_id != self.turn_id

    @property
    def is_natural(self) -> bool:
        return isinstance(self.event, UserMessage)
