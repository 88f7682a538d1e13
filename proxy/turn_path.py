"""The whole story of one turn: open, route, reply, commit, done.

JSON and SSE are two renderings of the same event stream (proxy/render.py); there is no second implementation. Text is provisional until
`Committed`; what cannot be committed ends in a Refusal and leaves session and version as they were. docs/turn-path.md walks through it.
"""

import asyncio
import hashlib
import uuid
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

import orjson
import structlog
from opentelemetry import trace

from contract.ports import Backend, Client, OpenedSession, Pin, StoredReply, TurnRecord, TurnStore
from contract.wire import BLANK_TEXT
from domain.adoption import Adopted
from domain.backend_name import BackendName
from domain.errors import (
    BackendError,
    BackendFailure,
    ErrorType,
    FailureKind,
    Refusal,
    SessionBusy,
    SessionErased,
    StoreUnavailable,
    TurnAlreadyCommitted,
)
from domain.events import is_blank
from domain.external_update import external_update
from domain.fields import FieldError
from domain.outcome import Failed, FormChanged, Outcome, Replied, StageDecided, TextPiece
from domain.plan import Move, Plan, Route
from domain.session import FieldValue, SessionState
from domain.stages import StageCode
from domain.turn import EVENT_TYPES, SessionStarted, SetInfo, Turn
from proxy.errors import refusal_of
from proxy.plan_view import PlanView
from rollout.handover import hand_over
from rollout.routing import pin_for, route
from telemetry.instruments import COMMIT_SPAN, TURN_SPAN

log = structlog.get_logger(__name__)
tracer = trace.get_tracer("crossfade.proxy")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Committed:
    """The turn is stored: now, and only now, it may be called done."""

    version: int
    is_replay: bool = False


TurnEvent = StageDecided | FormChanged | TextPiece | Committed


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    turn: Turn
    idempotency_key: str | None = None
    request_hash: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn:
    """A turn whose session is open and whose route is known: nothing was sent to a backend yet."""

    request: TurnRequest
    opened: OpenedSession
    pin: Pin
    route: Route
    backend: Backend
    move: Move | None = None


@dataclass(slots=True)
class Progress:
    """What the owner of a running turn may ask before it stops it."""

    is_committing: bool = False
    pieces: list[str | None] = field(default_factory=list[str | None])  # what was said, in order; None: here the form was told


class TurnPath:
    def __init__(
        self,
        *,
        store: TurnStore,
        backends: Mapping[BackendName, Backend],
        plans: PlanView,
        process_backend: BackendName | None,
        shadow_enabled: bool,
    ) -> None:
        self._store = store
        self._backends = backends
        self._plans = plans
        self._process_backend = process_backend
        self._shadow_enabled = shadow_enabled

    async def open(self, request: TurnRequest) -> OpenTurn:
        """Everything that can refuse a turn before it begins. Raises Refusal; then nothing is held."""
        plan = _plan_or_refusal(self._plans)
        turn = request.turn
        opened = await self._opened(turn, request.idempotency_key)
        if opened.stored is None:
            try:
                if opened.pin is None:
                    opened = await self._adopted(turn, opened, plan)
                _refuse_impossible(turn, opened)
            except BaseException:
                await _undisturbed(self._store.release(turn, opened.lease))
                raise
        elif not _is_retry(request, opened.stored):
            raise Refusal(ErrorType.IDEMPOTENCY_CONFLICT)
        decided, move = route(turn, opened.pin, plan, process_backend=self._process_backend), None
        if opened.pin is None:
            pin = pin_for(turn, decided, plan, shadow_enabled=self._shadow_enabled)
        else:
            is_change = decided.backend is not (opened.served_by or opened.pin.backend) or decided.reason == "carry"
            lost = self._backends[decided.backend].lost(opened.state) if is_change else ()
            handed = hand_over(opened.pin, decided, served_by=opened.served_by, lost=lost)
            decided, pin, move = handed.route, handed.pin, handed.move
        if pin.is_sampled and not self._shadow_enabled:
            pin = replace(pin, is_sampled=False)  # for this turn: the session keeps its draw
        return OpenTurn(request=request, opened=opened, pin=pin, route=decided, backend=self._backends[decided.backend], move=move)

    async def read(self, client: Client, session_id: str, *, received_at: datetime, request_id: str) -> SessionState | None:
        """The session as it stands; None when nobody knows it. One that lives upstream only is adopted first. Raises Refusal."""
        try:
            state = await self._store.read(client.tenant_id, session_id)
        except SessionErased:
            raise Refusal(ErrorType.SESSION_ERASED) from None
        if state is not None:
            return state
        turn_id = str(uuid.uuid4())
        turn = Turn(
            tenant_id=client.tenant_id, client_id=client.client_id, session_id=session_id, turn_id=turn_id, event_id=turn_id,
            text="", event=SessionStarted(), received_at=received_at, request_id=request_id,
        )  # fmt: skip
        if await self._found_upstream(turn, is_needed=False) is None:
            return None
        opened = await self._opened(turn, None)
        try:
            if opened.pin is None:
                opened = await self._adopted(turn, opened, _plan_or_refusal(self._plans))
        finally:
            await _undisturbed(self._store.release(turn, opened.lease))
        return opened.state if opened.pin else None

    async def _opened(self, turn: Turn, idempotency_key: str | None) -> OpenedSession:
        try:
            return await self._store.open(turn, idempotency_key=idempotency_key)
        except SessionBusy:
            raise Refusal(ErrorType.SESSION_CONFLICT) from None
        except SessionErased:
            raise Refusal(ErrorType.SESSION_ERASED) from None
        except StoreUnavailable:
            raise Refusal(ErrorType.STATE_PERSISTENCE_FAILED) from None

    async def _adopted(self, turn: Turn, opened: OpenedSession, plan: Plan) -> OpenedSession:
        """A session nobody here knows may live upstream since before our time: it is taken over, and pinned to where it lives."""
        decided = route(turn, None, plan, process_backend=self._process_backend)
        found = await self._found_upstream(turn, is_needed=True, serving=decided.backend)
        if found is None:
            return opened
        home, adopted = found
        pin = replace(pin_for(turn, decided, plan, shadow_enabled=self._shadow_enabled), backend=home, reason="adopted")
        try:
            is_stored = await self._store.adopt(turn, adopted, opened, pin)
        except StoreUnavailable:
            raise Refusal(ErrorType.STATE_PERSISTENCE_FAILED) from None
        if not is_stored:
            raise Refusal(ErrorType.SESSION_CONFLICT)
        log.info("session_adopted", backend=home, rounds=adopted.state.version, stage_code=adopted.state.stage)
        return replace(opened, state=adopted.state, pin=pin, served_by=home)

    async def _found_upstream(
        self, turn: Turn, *, is_needed: bool, serving: BackendName | None = None
    ) -> tuple[BackendName, Adopted] | None:
        """Raises Refusal when it could not be found out and the answer matters: an upstream that is away, and that would not serve this
        session anyway, keeps nobody from starting one elsewhere."""
        for name, backend in self._backends.items():
            try:
                adopted = await backend.adopt(turn)
            except BackendError as error:
                log.warning("adoption_not_decided", backend=name, failure=error.failure.kind, note=error.failure.note)
                if is_needed and name is not serving:
                    continue
                raise refusal_of(error.failure) from None
            if adopted is not None:
                return name, adopted
        return None

    async def run(self, open_turn: OpenTurn, progress: Progress) -> AsyncGenerator[TurnEvent]:
        """The turn's events, ending with Committed. Raises Refusal when the turn failed; it is then void.

        Cancelling it before `progress.is_committing` voids the turn; afterwards it must be left to finish.
        """
        if open_turn.opened.stored is not None:
            for event in _replayed(open_turn.opened.stored.reply):
                yield event
            return
        turn = open_turn.request.turn
        with tracer.start_as_current_span(TURN_SPAN, attributes=_facts(open_turn)):
            if _changes_nothing(turn, open_turn.opened):
                await self._acknowledge(open_turn)
                yield Committed(open_turn.opened.state.version)
                return
            try:
                async with aclosing(open_turn.backend.reply(turn, open_turn.opened.state)) as events:
                    async for event in events:
                        match event:
                            case Replied():
                                progress.is_committing = True
                                yield Committed(await self._commit(open_turn, event, progress.pieces))
                            case Failed(outcome):
                                await self._fail(open_turn, outcome, cancelled=False)
                                raise refusal_of(outcome.failure or _NO_ANSWER)
                            case TextPiece(text):
                                progress.pieces.append(text)
                                yield event
                            case FormChanged():
                                progress.pieces.append(None)
                                yield event
                            case StageDecided():
                                yield event
            except (Refusal, StoreUnavailable):
                raise
            except BaseException as error:
                # Cancelled by a caller who left, or our own mistake: the turn is void and its lease goes back either way.
                if not progress.is_committing:
                    cancelled = not isinstance(error, Exception)
                    await self._fail(open_turn, Outcome(backend=open_turn.route.backend, failure=_NO_ANSWER), cancelled=cancelled)
                raise

    async def _acknowledge(self, open_turn: OpenTurn) -> None:
        """A keyed request that changed nothing is kept all the same: its late retry must not put an old value over a newer one."""
        request, opened = open_turn.request, open_turn.opened
        if request.idempotency_key is None:
            await self._store.release(request.turn, opened.lease)
            return
        try:
            await self._store.acknowledge(
                request.turn,
                opened.lease,
                idempotency_key=request.idempotency_key,
                request_hash=request.request_hash,
                stored_reply={"stage": opened.state.stage, "patch": {}, "pieces": [], "version": opened.state.version},
            )
        except (SessionBusy, TurnAlreadyCommitted, StoreUnavailable) as error:
            await self._store.release(request.turn, opened.lease)
            gone = isinstance(error, StoreUnavailable)
            raise Refusal(ErrorType.STATE_PERSISTENCE_FAILED if gone else ErrorType.SESSION_CONFLICT) from None

    async def _commit(self, open_turn: OpenTurn, replied: Replied, pieces: list[str | None]) -> int:
        request, outcome = open_turn.request, replied.outcome
        if not _is_proof(outcome, open_turn):
            await self._fail(open_turn, Outcome(backend=outcome.backend, failure=_WRONG_RECEIPT), cancelled=False)
            raise Refusal(ErrorType.INTERNAL_ERROR)
        record = TurnRecord(
            turn=request.turn,
            before=open_turn.opened.state,
            after=replied.after,
            outcome=outcome,
            pin=open_turn.pin,
            route=open_turn.route,
            lease=open_turn.opened.lease,
            move=open_turn.move,
            idempotency_key=request.idempotency_key,
            request_hash=request.request_hash,
            stored_reply=_stored(outcome, pieces, open_turn.opened.state.version + 1) if request.idempotency_key else None,
        )
        try:
            with tracer.start_as_current_span(COMMIT_SPAN):
                version = await _undisturbed(self._store.commit(record))
        except Exception as error:
            # Nothing of the turn is stored. Its row of failure is, and its lease goes back: a clear retry must not meet a locked session.
            failure = BackendFailure(kind=FailureKind.INTERNAL, note=f"not_stored:{type(error).__name__}")
            await self._fail(open_turn, Outcome(backend=outcome.backend, failure=failure), cancelled=False)
            if isinstance(error, SessionBusy | TurnAlreadyCommitted):
                raise Refusal(ErrorType.SESSION_CONFLICT) from None
            if isinstance(error, StoreUnavailable):
                raise Refusal(ErrorType.STATE_PERSISTENCE_FAILED) from None
            raise
        log.info(
            "turn_served",
            backend=outcome.backend,
            route_reason=open_turn.route.reason,
            event_type=EVENT_TYPES[type(request.turn.event)],
            stage_code=replied.after.stage,
            version=version,
            total_ms=round(outcome.total_ms, 1),
            model_calls=outcome.model_calls,
            violations=outcome.violations,
        )
        if (move := open_turn.move) is not None:
            tell = log.warning if move.lost else log.info
            told = "session_stays" if move.is_refused else "session_moved"
            tell(told, source=move.source, target=move.target, cause=move.cause, lost=move.lost)
        return version

    async def _fail(self, open_turn: OpenTurn, outcome: Outcome, *, cancelled: bool) -> None:
        failure = outcome.failure or _NO_ANSWER
        log.warning("turn_failed", backend=outcome.backend, failure=failure.kind, note=failure.note, cancelled=cancelled)
        opened, pin = open_turn.opened, open_turn.pin
        await _undisturbed(
            self._store.fail(open_turn.request.turn, outcome, opened=opened, pin=pin, route=open_turn.route, cancelled=cancelled)
        )


async def _undisturbed(writing: Coroutine[Any, Any, T]) -> T:
    """What was begun is brought to its end, however often the turn is cancelled meanwhile: half a commit is a lie to somebody, and a
    statement that is cut off may have been carried out. The store bounds it. A cancellation is not lost: the turn ends right behind."""
    task = asyncio.ensure_future(writing)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
        except Exception:
            break
    return task.result()


_NO_ANSWER = BackendFailure(kind=FailureKind.INTERNAL, note="no_answer")
_WRONG_RECEIPT = BackendFailure(kind=FailureKind.INTERNAL, note="receipt_of_another_turn")


def request_hash(endpoint: str, body: Mapping[str, Any]) -> bytes:
    """The fingerprint of what a key was used for: the endpoint and the recognised fields, whatever their order or the transport."""
    return hashlib.sha256(orjson.dumps([endpoint, body], option=orjson.OPT_SORT_KEYS)).digest()


def _is_retry(request: TurnRequest, stored: StoredReply) -> bool:
    """A stored answer belongs to this request only when this is the same request."""
    if stored.request_hash is not None:
        return stored.request_hash == request.request_hash
    turn = request.turn
    session_id, client_id, event_type, given = stored.given
    same_place = (session_id, client_id, event_type) == (turn.session_id, turn.client_id, EVENT_TYPES[type(turn.event)])
    return same_place and given == orjson.loads(orjson.dumps({"text": turn.text, "event": turn.event}))


def _plan_or_refusal(plans: PlanView) -> Plan:
    try:
        return plans.current()
    except StoreUnavailable:
        raise Refusal(ErrorType.STATE_PERSISTENCE_FAILED) from None


def _refuse_impossible(turn: Turn, opened: OpenedSession) -> None:
    is_new = opened.pin is None
    if isinstance(turn.event, SetInfo):
        if is_new:
            raise Refusal(ErrorType.SESSION_NOT_FOUND)
        try:
            external_update(opened.state, turn.event.key, turn.event.value, turn.received_at, turn.policy)
        except FieldError as error:
            raise Refusal(ErrorType.INVALID_FIELD_VALUE, str(error)) from None
    elif isinstance(turn.event, SessionStarted) and is_blank(turn.text) and not is_new:
        raise Refusal(ErrorType.INVALID_REQUEST, BLANK_TEXT)


def _changes_nothing(turn: Turn, opened: OpenedSession) -> bool:
    """A field set to the value it has: acknowledged, but no event and no new version."""
    if not isinstance(turn.event, SetInfo):
        return False
    return external_update(opened.state, turn.event.key, turn.event.value, turn.received_at, turn.policy) is opened.state


def _is_proof(outcome: Outcome, open_turn: OpenTurn) -> bool:
    """The backend that was chosen answered this very turn; a label alone proves nothing."""
    receipt = outcome.receipt
    return receipt is not None and receipt.backend is open_turn.route.backend and receipt.turn_id == open_turn.request.turn.turn_id


def _facts(open_turn: OpenTurn) -> dict[str, str | int]:
    return {
        "backend": open_turn.route.backend,
        "route.reason": open_turn.route.reason,
        "plan.version": open_turn.route.plan_version,
        "event.type": EVENT_TYPES[type(open_turn.request.turn.event)],
        "request.id": open_turn.request.turn.request_id,
    }


def _stored(outcome: Outcome, pieces: list[str | None], version: int) -> dict[str, Any]:
    reply = outcome.reply
    assert reply is not None
    return {"stage": reply.stage, "patch": dict(reply.patch), "pieces": list(pieces), "version": version}


def _replayed(stored: Mapping[str, Any]) -> list[TurnEvent]:
    """The first answer again, piece by piece."""
    patch: dict[str, FieldValue] = stored["patch"]
    return [
        StageDecided(StageCode(stored["stage"])),
        *(FormChanged(patch) if text is None else TextPiece(text) for text in stored["pieces"]),
        Committed(stored["version"], is_replay=True),
    ]
