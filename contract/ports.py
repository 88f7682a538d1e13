"""What a part must offer to be plugged in: small Protocols, each a noun with few verbs. Values that cross them live in domain.

Errors: a Backend never raises for an upstream's sake (its stream ends with Failed); a store raises StoreUnavailable, SessionBusy or
TurnAlreadyCommitted (domain/errors.py).
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from domain.adoption import Adopted
from domain.backend_name import BackendName
from domain.diff import Comparison
from domain.evidence import Overview
from domain.outcome import Outcome, ReplyEvent
from domain.plan import Move, Plan, Route
from domain.session import SessionState
from domain.turn import Turn


class Clock(Protocol):
    """Time, as an argument of everything that decides."""

    def now(self) -> datetime:
        """Aware UTC."""
        ...

    def monotonic_ms(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What a backend's upstream turned out to be, in words for an operator. `problems` would hurt real turns; `facts` are good to know."""

    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: tuple[str, ...] = ()


class Backend(Protocol):
    """Serves a turn. Live and shadow use the same class with another namespace."""

    @property
    def name(self) -> BackendName: ...

    @property
    def finishes_when_abandoned(self) -> bool:
        """True: once begun, a turn runs to its end and commits even if the caller left (the upstream's own memory has moved anyway).
        False: closing the generator cancels the turn and nothing of it remains."""
        ...

    def reply(self, turn: Turn, session: SessionState) -> AsyncGenerator[ReplyEvent]:
        """Events in the order of domain/outcome.py, ending with exactly one Replied or Failed. Never raises but for cancellation."""
        ...

    async def ready(self) -> str | None:
        """None when all it needs of our own is there, else what is missing. Asks no upstream: load balancers call this."""
        ...

    async def probe(self) -> str | None:
        """None when the backend can serve, its upstream included, else why not, in words for an operator."""
        ...

    async def examine(self) -> Examined:
        """A closer look than `probe`, for an operator who sets things up. Starts no turn and asks no model. Raises BackendError."""
        ...

    def describe(self) -> str:
        """What serves, in words for an operator: address without secrets, model, wording and rules."""
        ...

    def lost(self, session: SessionState) -> tuple[str, ...]:
        """What this backend would not know of a session that another one led: names, no values. Empty: it can take over."""
        ...

    async def adopt(self, turn: Turn) -> Adopted | None:
        """The turn's conversation as the upstream holds it from before our time; None when it knows none, or looks for none. Raises
        BackendError when that could not be found out."""
        ...

    async def drift(self, held: "HeldSession") -> tuple[str, ...]:
        """What this backend's own copy of the session (checkpoint, chat) says otherwise than the session: names, no values. Raises
        BackendError or StoreUnavailable."""
        ...

    async def forget(self, tenant_id: str, session_id: str, memories: Sequence[str]) -> None:
        """Drop this backend's own copies of a session. Raises BackendError or StoreUnavailable."""
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """An authenticated caller. `profile` holds its compatibility switches (contract/wire.py, Profile)."""

    client_id: str
    tenant_id: str
    scopes: frozenset[str]
    profile: Mapping[str, Any] = field(default_factory=dict[str, Any])


class ClientDirectory(Protocol):
    async def find(self, key_id: str) -> tuple[Client, str] | None:
        """The enabled, unexpired client of a key id with the keyed hash of its secret; None when there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Which backend a session was given at its first turn, and by which plan."""

    backend: BackendName
    reason: str
    plan_version: int
    bucket: int
    is_sampled: bool  # in the shadow sample: whole session or not at all


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReply:
    """What a retry gets: the parts of the first answer. Found by its key, `request_hash` says what the key was used for; found by its
    event id, it is None and `given` is (session id, client id, event type, {"text": …, "event": …}) of the first time."""

    request_hash: bytes | None
    reply: Mapping[str, Any]
    given: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSession:
    """A session whose lease we hold. `lease` fences our commit; `stored` answers a retry without running anything."""

    state: SessionState
    pin: Pin | None  # None: the session is new
    lease: str
    stored: StoredReply | None = None
    served_by: BackendName | None = None  # who gave the newest answer


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """Everything one committed turn leaves behind, written in one transaction."""

    turn: Turn
    before: SessionState
    after: SessionState  # its version is before.version; the commit raises it by one
    outcome: Outcome
    pin: Pin
    route: Route
    lease: str
    idempotency_key: str | None = None
    request_hash: bytes = b""
    stored_reply: Mapping[str, Any] | None = None
    move: Move | None = None


class TurnStore(Protocol):
    async def open(self, turn: Turn, *, idempotency_key: str | None) -> OpenedSession:
        """Take the session's lease and read it. Raises SessionBusy when the lease stays taken for the bounded wait, SessionErased."""
        ...

    async def adopt(self, turn: Turn, adopted: Adopted, opened: OpenedSession, pin: Pin) -> bool:
        """Store a conversation from before our time under the lease that is held. False when the lease is no longer ours."""
        ...

    async def commit(self, record: TurnRecord) -> int:
        """One short transaction; the new state version. Raises SessionBusy when lease or version moved on, TurnAlreadyCommitted when
        the event id or key is stored already, StoreUnavailable when the database did not take it."""
        ...

    async def release(self, turn: Turn, lease: str) -> None:
        """Give the lease back without a change. Best effort: an unreleased lease expires."""
        ...

    async def acknowledge(self, turn: Turn, lease: str, *, idempotency_key: str, request_hash: bytes, stored_reply: dict[str, Any]) -> None:
        """Give the lease back without a change, and keep the reply for a retry with the same key. Raises as commit does; the lease may
        then still be held."""
        ...

    async def fail(self, turn: Turn, outcome: Outcome, *, opened: OpenedSession, pin: Pin, route: Route, cancelled: bool) -> None:
        """Leave a failure row for the shadow ledger and give the lease back, in one short transaction. Best effort."""
        ...

    async def read(self, tenant_id: str, session_id: str) -> SessionState | None:
        """The committed projection, without a lease; None for an unknown session and for another tenant's. Raises SessionErased."""
        ...

    async def ping(self) -> None:
        """Raises StoreUnavailable."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSession:
    """A session in an operator's hands: its lease is held, so that no turn runs meanwhile."""

    tenant_id: str
    session_id: str
    client_id: str
    opened: OpenedSession
    pin: Pin
    answered: SessionState | None  # as the newest answer left it, before fields that were written since; None: nobody answered yet


class SessionStore(Protocol):
    """What an operator may do to single sessions. Everything raises StoreUnavailable."""

    async def known(self, *, tenant_id: str | None, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
        """(tenant, session) in order behind `after`, of sessions that were not erased."""
        ...

    async def hold(self, tenant_id: str, session_id: str) -> HeldSession | None:
        """None: there is no such session. Raises SessionBusy, SessionErased."""
        ...

    async def release(self, held: HeldSession) -> None: ...

    async def distrust(self, held: HeldSession) -> None:
        """The upstream memory of the session is given up: its next turn is told to a fresh one. Gives the session back."""
        ...

    async def move(self, held: HeldSession, pin: Pin, move: Move, *, author: str, reason: str) -> None:
        """Put the move on record and, unless it was refused, the pin in place. Gives the session back. Raises SessionBusy when the hold
        has run out."""
        ...

    async def erase(self, held: HeldSession) -> None:
        """What people said leaves every table. Gives the session back. Raises SessionBusy when the hold has run out."""
        ...

    async def memories(self, tenant_id: str, session_id: str) -> Sequence[str]:
        """The names of all upstream memories that ever held the session."""
        ...


class PlanStore(Protocol):
    async def latest(self) -> Plan: ...

    async def publish(self, document: Mapping[str, Any], *, author: str, reason: str, based_on: int) -> Plan:
        """Raises PlanConflict when `based_on` is no longer the newest version."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowJob:
    """One turn to replay: what it was, the state it started from, and what the primary did."""

    outbox_id: int
    claim: str  # whose work it is: a claim that expired and was taken over settles nothing twice
    turn: Turn
    before: SessionState
    primary: Outcome


class ShadowQueue(Protocol):
    """One worker's view of the pending shadow work."""

    async def take_session(self, *, limit: int) -> Sequence[ShadowJob]:
        """The oldest pending jobs of one session nobody works on, in turn order; empty when there is nothing to do."""
        ...

    async def settle(self, job: ShadowJob, comparison: Comparison) -> bool:
        """Store comparison, diffs and the ledger row together. False when this job was settled before (a duplicate delivery)."""
        ...

    async def give_up(self, job: ShadowJob, *, reason: str) -> None:
        """This job can never be compared: the ledger says so, and why."""
        ...

    async def postpone(self, job: ShadowJob, *, note: str, seconds: float) -> None:
        """The shadow side is out of order: the job's session stays pending and is free again after `seconds`, twice as long at each
        outage in a row, up to a limit."""
        ...

    async def give_back(self, job: ShadowJob) -> None:
        """The job's session is free for any worker at once."""
        ...

    async def settle_failures(self) -> int:
        """Account the failed and cancelled primary turns; how many."""
        ...


class OverviewSource(Protocol):
    async def overview(self, *, since: datetime | None, latest: int) -> Overview:
        """Everything the overview report shows, of turns received since then; `latest`: how many of the newest diffs."""
        ...
