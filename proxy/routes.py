"""The three doors: authenticate → read the body → Turn → turn_path → bytes. Decisions are made elsewhere; here they are put in order."""

import asyncio
import hashlib
import re
import uuid
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import structlog
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from starlette.requests import ClientDisconnect
from structlog.contextvars import bind_contextvars

from contract.ports import Client, Clock
from contract.wire import (
    SET_INFO_ANSWER,
    Body,
    ChatBody,
    GetInfoBody,
    Profile,
    SetInfoBody,
    body_from_object,
    get_info_answer,
    info_value,
    object_from_bytes,
    text_from_body,
    value_from_body,
)
from domain.errors import ErrorType, Refusal, StoreUnavailable
from domain.events import event_from_text, is_blank
from domain.fields import FieldError, UnknownField, accept
from domain.policy import CAREFUL, Policy
from domain.turn import InputEvent, SetInfo, Turn, UserMessage
from proxy.auth.api_key import ApiKeyAuth, require_scope
from proxy.errors import envelope
from proxy.render import JsonRenderer, Manner
from proxy.turn_path import OpenTurn, Progress, TurnPath, TurnRequest, request_hash
from proxy.turn_run import TurnResponse, TurnRun

log = structlog.get_logger(__name__)

MAX_BODY_BYTES = 64 * 1024
JSON_TYPE = "application/json; charset=utf-8"
SSE_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
REPLAYED = {"Idempotency-Replayed": "true"}
_KEY = re.compile(r"[\x21-\x7e]{1,128}")
_DEFAULT = Profile()
Handler = Callable[[Request, Client, Profile, Body], Awaitable[Response]]


class Doors:
    """One object per process; `tasks` holds the streamed turns that are under way, so that a shutdown can wait for them."""

    def __init__(self, *, auth: ApiKeyAuth, path: TurnPath, clock: Clock, policy: Policy = CAREFUL) -> None:
        self._auth = auth
        self._path = path
        self._clock = clock
        self._policy = policy
        self.tasks: set[asyncio.Task[None]] = set()
        self.router = APIRouter()
        self.router.add_api_route("/chat", self.chat, methods=["POST"], response_model=None, openapi_extra=_documented(ChatBody))
        self.router.add_api_route("/set_info", self.set_info, methods=["POST"], response_model=None, openapi_extra=_documented(SetInfoBody))
        self.router.add_api_route("/get_info", self.get_info, methods=["POST"], response_model=None, openapi_extra=_documented(GetInfoBody))

    async def chat(self, request: Request) -> Response:
        return await self._enter(request, "chat:write", ChatBody, self._chat)

    async def set_info(self, request: Request) -> Response:
        return await self._enter(request, "session:write", SetInfoBody, self._set_info)

    async def get_info(self, request: Request) -> Response:
        return await self._enter(request, "session:read", GetInfoBody, self._get_info)

    async def _enter(self, request: Request, scope: str, model: type[Body], handle: Handler[Body]) -> Response:
        """What all doors share. Whatever happens inside, the caller gets an envelope in its own manner."""
        profile, session_id = _DEFAULT, None
        try:
            client = await self._caller(request)
            profile = Profile.from_row(client.profile)
            require_scope(client, scope)
            body = body_from_object(model, object_from_bytes(await _body(request)))
            session_id = body.session_id if isinstance(body, ChatBody) else None
            return await handle(request, client, profile, body)
        except Refusal as refusal:
            return _refused(refusal, profile, session_id)
        except StoreUnavailable:
            return _refused(Refusal(ErrorType.STATE_PERSISTENCE_FAILED), profile, session_id)
        except ClientDisconnect:
            log.info("caller_left_before_its_body_came")
            return Response(status_code=400)  # nobody reads it
        except Exception:
            log.exception("request_broke")
            return _refused(Refusal(ErrorType.INTERNAL_ERROR), profile, session_id)

    async def _chat(self, request: Request, client: Client, profile: Profile, body: ChatBody) -> Response:
        open_turn = await self._path.open(self._chat_turn(request, client, profile, body))
        manner = Manner(
            session_id=body.session_id, need_form_update=body.need_form_update, use_text_chunk=body.use_text_chunk, profile=profile
        )
        replayed = REPLAYED if open_turn.opened.stored else {}
        if request.query_params.get("stream", "").lower() in ("true", "1"):
            run = TurnRun(self._path, open_turn, manner, self.tasks)
            return TurnResponse(run, SSE_HEADERS | replayed)
        return Response(await self._whole_answer(open_turn, manner), media_type=JSON_TYPE, headers=replayed)

    async def _set_info(self, request: Request, client: Client, _profile: Profile, body: SetInfoBody) -> Response:
        event = SetInfo(body.key, self._checked_value(body))
        open_turn = await self._path.open(self._turn_request(request, client, body, "", event, None))
        async with aclosing(self._path.run(open_turn, Progress())) as events:
            async for _ in events:
                pass
        return Response(SET_INFO_ANSWER, media_type=JSON_TYPE, headers=REPLAYED if open_turn.opened.stored else {})

    async def _get_info(self, request: Request, client: Client, _profile: Profile, body: GetInfoBody) -> Response:
        info_value({}, body.key)  # a key nobody may read is refused whether or not the session exists
        state = await self._path.read(client, body.session_id, received_at=self._clock.now(), request_id=request.state.request_id)
        if state is None:
            raise Refusal(ErrorType.SESSION_NOT_FOUND)
        return Response(get_info_answer(info_value(state.form, body.key)), media_type=JSON_TYPE)

    async def _caller(self, request: Request) -> Client:
        client = await self._auth.client(request.headers.get("x-api-key"), request.headers.get("authorization"))
        bind_contextvars(client_id=client.client_id, tenant_id=client.tenant_id)
        return client

    def _chat_turn(self, request: Request, client: Client, profile: Profile, body: ChatBody) -> TurnRequest:
        text = text_from_body(body)
        event = event_from_text(text)
        if not profile.legacy_events and not is_blank(text) and not isinstance(event, UserMessage):
            event = UserMessage(text)
        return self._turn_request(request, client, body, text, event, body.event_id)

    def _turn_request(
        self, request: Request, client: Client, body: ChatBody | SetInfoBody, text: str, event: InputEvent, event_id: str | None
    ) -> TurnRequest:
        session_id = body.session_id
        key = _idempotency_key(request)
        turn_id = str(uuid.uuid4())
        bind_contextvars(session_id_hash=hashlib.sha256(f"{client.tenant_id}\n{session_id}".encode()).hexdigest()[:16], turn_id=turn_id)
        return TurnRequest(
            turn=Turn(
                tenant_id=client.tenant_id,
                client_id=client.client_id,
                session_id=session_id,
                turn_id=turn_id,
                event_id=event_id or _event_id(request.url.path, client, session_id, key) or turn_id,
                text=text,
                event=event,
                received_at=self._clock.now(),
                request_id=request.state.request_id,
                policy=self._policy,
            ),
            idempotency_key=key,
            request_hash=request_hash(request.url.path, body.model_dump(by_alias=True)) if key else b"",
        )

    def _checked_value(self, body: SetInfoBody) -> object:
        """Checked before the session is opened: a value that breaks its rule costs no lease."""
        try:
            accept(body.key, None, self._clock.now())
            value = value_from_body(body)
            accept(body.key, value, self._clock.now())
        except UnknownField as error:
            raise Refusal(ErrorType.INVALID_FIELD, str(error)) from None
        except FieldError as error:
            raise Refusal(ErrorType.INVALID_FIELD_VALUE, str(error)) from None
        return value

    async def _whole_answer(self, open_turn: OpenTurn, manner: Manner) -> bytes:
        renderer = JsonRenderer(manner)
        async with aclosing(self._path.run(open_turn, Progress())) as events:
            async for event in events:
                renderer.feed(event)
        return renderer.answer


async def _body(request: Request) -> bytes:
    """Raises Refusal(PAYLOAD_TOO_LARGE) as soon as it is known, without reading the rest."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
        raise Refusal(ErrorType.PAYLOAD_TOO_LARGE)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            raise Refusal(ErrorType.PAYLOAD_TOO_LARGE)
    return bytes(body)


def _idempotency_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not _KEY.fullmatch(key):
        raise Refusal(ErrorType.INVALID_REQUEST, "Idempotency-Key")
    return key


def _event_id(endpoint: str, client: Client, session_id: str, key: str | None) -> str | None:
    """A keyed retry is the same event; without a key every request is a new one. Two clients' keys never name one event."""
    return key and str(uuid.uuid5(uuid.NAMESPACE_OID, "\n".join((endpoint, client.client_id, session_id, key))))


def _refused(refusal: Refusal, profile: Profile, session_id: str | None = None) -> Response:
    told = envelope(refusal, profile)
    log.info("request_refused", error_type=told.error_type)
    return Response(told.body(session_id), status_code=told.status, media_type=JSON_TYPE, headers={"X-Error-Type": told.error_type})


def _documented(body: type[BaseModel]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": body.model_json_schema(by_alias=True)}}}}
