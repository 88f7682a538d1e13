"""The real objects of a proxy with a step before and after each of their verbs. They are put in by name before wiring builds the proxy,
so that the proxy under test is the one that wiring makes."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx_aiohttp
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import backends.langgraph.checkpoints as checkpoints
import wiring.backends as wiring_backends
import wiring.services as services
from backends.langgraph.model.port import ChatMessage, ChatModel, TokenUse
from backends.langgraph.saver import TurnSaver
from contract.ports import Backend, OpenedSession, ShadowJob, TurnRecord
from domain.diff import Comparison
from domain.outcome import Failed, Replied, ReplyEvent, StageDecided, TextPiece
from domain.session import SessionState
from domain.turn import Turn
from proxy.turn_path import Committed, OpenTurn, Progress, TurnEvent, TurnPath, TurnRequest
from storage.shadow_queue import ShadowRows
from storage.turns import TurnRows
from tests.chaos.points import REQUEST, Points

_ENDS = (b"event: done\n", b'"code":"200"')  # of a stream, of a JSON answer


class ArmedApp:
    """Outermost: names the request, and sees the last bytes leave."""

    def __init__(self, app: ASGIApp, points: Points) -> None:
        self._app = app
        self._points = points

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        REQUEST.set(Headers(scope=scope).get("x-request-id", ""))
        await self._points.reach("accepted")

        async def armed_send(message: Message) -> None:
            is_end = any(end in message.get("body", b"") for end in _ENDS)
            if is_end:
                await self._points.reach("before_done")
            await send(message)
            if is_end:
                await self._points.reach("done_sent")

        await self._app(scope, receive, armed_send)


def install(points: Points) -> None:
    """From now on wiring builds armed objects, in this process only."""

    class ArmedPath(TurnPath):
        async def open(self, request: TurnRequest) -> OpenTurn:
            points.own()
            await points.reach("parsed")
            return await super().open(request)

        async def run(self, open_turn: OpenTurn, progress: Progress) -> AsyncGenerator[TurnEvent]:
            points.own()
            await points.reach("routed")
            async with aclosing(super().run(open_turn, progress)) as events:
                async for event in events:
                    if isinstance(event, Committed):
                        await points.reach("lease_back")
                    yield event

    class ArmedRows(TurnRows):
        async def open(self, turn: Turn, *, idempotency_key: str | None) -> OpenedSession:
            await points.reach("plan_read")
            opened = await super().open(turn, idempotency_key=idempotency_key)
            await points.reach("opened")
            return opened

        async def commit(self, record: TurnRecord) -> int:
            await points.reach("commit_next")
            version = await super().commit(record)
            await points.reach("committed")
            return version

        async def fail(self, *args: Any, **named: Any) -> None:
            await points.reach("fail_next")
            await super().fail(*args, **named)
            await points.reach("failed")

        async def release(self, turn: Turn, lease: str) -> None:
            await points.reach("release_next")
            await super().release(turn, lease)
            await points.reach("released")

        async def acknowledge(self, *args: Any, **named: Any) -> None:
            await points.reach("acknowledge_next")
            await super().acknowledge(*args, **named)
            await points.reach("acknowledged")

    class ArmedShadowRows(ShadowRows):
        async def take_session(self, *, limit: int) -> Sequence[ShadowJob]:
            await points.reach("take_next")
            jobs = await super().take_session(limit=limit)
            if jobs:
                await points.reach("taken")
            return jobs

        async def settle(self, job: ShadowJob, comparison: Comparison) -> bool:
            await points.reach("settle_next")
            is_first = await super().settle(job, comparison)
            await points.reach("settled")
            return is_first

        async def give_back(self, job: ShadowJob) -> None:
            await points.reach("give_back_next")
            await super().give_back(job)

    class ArmedSaver(TurnSaver):
        async def aput(self, *args: Any, **named: Any) -> Any:
            await points.reach("checkpoint_next")
            config = await super().aput(*args, **named)
            await points.reach("checkpoint_written")
            return config

    class ArmedTransport(httpx_aiohttp.AiohttpTransport):
        async def handle_async_request(self, request: Any) -> Any:
            if not request.url.path.endswith("/chat/completions"):
                return await super().handle_async_request(request)
            await points.reach("model_next")
            response = await super().handle_async_request(request)
            await points.reach("model_called")
            return response

    open_backends, build_app, chat_model = services.open_backends, services.build_app, wiring_backends.chat_model

    @asynccontextmanager
    async def open_armed_backends(*args: Any) -> AsyncGenerator[Any]:
        async with open_backends(*args) as opened:
            yield {name: ArmedBackend(backend, points) for name, backend in opened.items()}

    def build_armed_app(*args: Any, **named: Any) -> Any:
        return ArmedApp(build_app(*args, **named), points)

    services.TurnPath = ArmedPath
    services.TurnRows = ArmedRows
    services.ShadowRows = ArmedShadowRows
    services.open_backends = open_armed_backends
    services.build_app = build_armed_app
    checkpoints.TurnSaver = ArmedSaver
    wiring_backends.chat_model = lambda llm: ArmedModel(chat_model(llm), points)
    httpx_aiohttp.AiohttpTransport = ArmedTransport


class ArmedBackend:
    def __init__(self, backend: Backend, points: Points) -> None:
        self._backend = backend
        self._points = points

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    async def reply(self, turn: Turn, session: SessionState) -> AsyncGenerator[ReplyEvent]:
        await self._points.reach("backend_next")
        texts = 0
        async with aclosing(self._backend.reply(turn, session)) as events:
            async for event in events:
                match event:
                    case StageDecided():
                        await self._points.reach("stage_told")
                    case TextPiece():
                        texts += 1
                        await self._points.reach("first_text" if texts == 1 else "mid_text")
                    case Replied() | Failed():
                        await self._points.reach("reply_ended")
                    case _:
                        pass
                yield event


class ArmedModel:
    def __init__(self, model: ChatModel, points: Points) -> None:
        self._model = model
        self._points = points

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def stream(self, messages: Sequence[ChatMessage], *, request_id: str) -> AsyncGenerator[str | TokenUse, None]:
        await self._points.reach("model_next")
        is_first = True
        async with aclosing(self._model.stream(messages, request_id=request_id)) as pieces:
            async for piece in pieces:
                if is_first:
                    is_first = False
                    await self._points.reach("model_called")
                yield piece
