"""What can go wrong, seen from two sides: what a caller is told, and why a backend did not answer.

`ErrorType` is the stable name a caller, a log line and an alert share; its code, HTTP status and text stand in proxy/errors.py.
`FailureKind` says why one backend failed one turn, and whether trying later can help.
"""

from dataclasses import dataclass
from enum import StrEnum


class ErrorType(StrEnum):
    AUTHENTICATION_FAILED = "AUTHENTICATION_FAILED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
    INVALID_FIELD = "INVALID_FIELD"
    INVALID_FIELD_VALUE = "INVALID_FIELD_VALUE"
    INVALID_REQUEST = "INVALID_REQUEST"
    MALFORMED_BODY = "MALFORMED_BODY"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    SESSION_CONFLICT = "SESSION_CONFLICT"
    SESSION_ERASED = "SESSION_ERASED"
    IDEMPOTENCY_CONFLICT = "IDEMPOTENCY_CONFLICT"
    MODEL_UNAVAILABLE = "MODEL_UNAVAILABLE"
    STATE_PERSISTENCE_FAILED = "STATE_PERSISTENCE_FAILED"
    INTERNAL_ERROR = "INTERNAL_ERROR"


class Refusal(Exception):
    """A request that gets an error envelope. `detail` completes the table's message and never holds the caller's data."""

    def __init__(self, error_type: ErrorType, detail: str = "") -> None:
        super().__init__(error_type)
        self.error_type = error_type
        self.detail = detail


class FailureKind(StrEnum):
    """Why a backend did not answer a turn."""

    UNREACHABLE = "unreachable"  # no connection
    TIMEOUT = "timeout"  # connected, then silent for too long
    INTERRUPTED = "interrupted"  # the answer broke off in the middle
    REFUSED = "refused"  # the upstream answered with an error of its own
    CONFIGURATION = "configuration"  # key, app or address is wrong: no retry helps
    MALFORMED = "malformed"  # bytes that are not the agreed wire, or no state tag
    INVALID_STAGE = "invalid_stage"  # a state tag that the stage table or the rules do not allow
    NODE_FAILED = "node_failed"  # a step of the upstream's workflow failed and left no answer
    EMPTY = "empty"  # the upstream finished without a word
    INTERNAL = "internal"  # our own mistake

    @property
    def is_outage(self) -> bool:
        """True when the same turn may well succeed later, so that a shadow job waits for it."""
        return self in _OUTAGES


_OUTAGES = frozenset(
    {FailureKind.UNREACHABLE, FailureKind.TIMEOUT, FailureKind.INTERRUPTED, FailureKind.REFUSED, FailureKind.CONFIGURATION}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendFailure:
    """One failed attempt as a value. `note` is for operators: a class or status, never text of the conversation."""

    kind: FailureKind
    note: str = ""


class BackendError(Exception):
    """Carries a `BackendFailure` from the depth of an adapter to its one door."""

    def __init__(self, kind: FailureKind, note: str = "") -> None:
        super().__init__(f"{kind}: {note}" if note else str(kind))
        self.failure = BackendFailure(kind=kind, note=note)


class StoreUnavailable(Exception):
    """The database did not take a write or answer a read; nothing was stored."""


class StoreRefused(Exception):
    """The database does not take these values, now or later."""


class SessionBusy(Exception):
    """Another turn of the session holds the lease, or the session moved on while this turn ran."""


class SessionErased(Exception):
    """What was said in this session has been erased; nothing of it can be answered, and its id is not used again."""


class TurnAlreadyCommitted(Exception):
    """The event id or idempotency key of this turn is already stored: its reply is the answer."""
