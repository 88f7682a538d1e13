"""What our turn is measured against, as a process: the least a FastAPI server needs to pass the same upstream stream on.

Three routes that answer JSON, or SSE with `?stream=true`: /httpx/chat (httpx over the aiohttp transport, as ours), /aiohttp/chat (aiohttp
itself), /stored/chat (the first one between the two short transactions of a turn). All of them read the stage tag; none of them
authenticates, limits, routes, checks a form or tells anybody about it.
"""

import argparse
import json
import os
import socket
import sys
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import aiohttp
import httpx
import orjson
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from httpx_aiohttp import AiohttpTransport

from bench.upstream import PATCH
from cli.loop import run
from contract.ports import OpenedSession, Pin, TurnRecord
from contract.sse import SseDecoder
from contract.state_prefix import BodyText, StatePrefixParser, StateTag
from contract.wire import Profile, chat_answer, done_event, stage_event, text_event
from domain.backend_name import BackendName
from domain.outcome import Outcome, Receipt, Reply
from domain.plan import Route
from domain.session import SessionState
from domain.stages import StageCode
from domain.turn import InputEvent, Turn, UserMessage
from storage.engine import open_pool
from storage.turns import TurnRows
from wiring.processes import end_with_stdin

CONNECTIONS = 500  # as the proxy's own pool to its upstream
_PROFILE = Profile()
_DATABASE_URL, _UPSTREAM_URL = "BENCH_DSN", "BENCH_UPSTREAM"  # in the environment: a DSN doesn't belong into a process list
Source = Callable[[bytes], AbstractAsyncContextManager[AsyncIterator[bytes]]]


class PassedTurn:
    """One turn, and the upstream's bytes read as far as anybody must who hands stage and text on."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.stage: StageCode | None = None
        self.text: list[str] = []
        self.version = 1
        self._decoder = SseDecoder()
        self._parser = StatePrefixParser()

    def feed(self, piece: bytes) -> bytes:
        """The SSE events that this piece completes."""
        told: list[bytes] = []
        for event in self._decoder.feed(piece):
            if event.name != "answer" or event.data == "[DONE]":
                continue
            content = orjson.loads(event.data)["choices"][0]["delta"]["content"]
            for part in self._parser.feed(content) if content else ():
                if isinstance(part, StateTag):
                    self.stage = StageCode(part.code)
                    told.append(stage_event(self.stage))
                elif isinstance(part, BodyText):
                    self.text.append(part.text)
                    told.append(text_event(part.text))
        return b"".join(told)


class Upstream:
    """Both clients of one address."""

    def __init__(self, url: str, over_httpx: httpx.AsyncClient, over_aiohttp: aiohttp.ClientSession) -> None:
        self._url = url
        self._httpx = over_httpx
        self._aiohttp = over_aiohttp
        self._headers = {"authorization": "Bearer bench", "content-type": "application/json", "accept-encoding": "identity"}

    @asynccontextmanager
    async def by_httpx(self, body: bytes) -> AsyncGenerator[AsyncIterator[bytes]]:
        request = self._httpx.build_request("POST", self._url, content=body, headers=self._headers)
        response = await self._httpx.send(request, stream=True)
        try:
            yield response.aiter_raw()
        finally:
            await response.aclose()

    @asynccontextmanager
    async def by_aiohttp(self, body: bytes) -> AsyncGenerator[AsyncIterator[bytes]]:
        async with self._aiohttp.post(self._url, data=body, headers=self._headers) as response:
            yield response.content.iter_any()


def completion_body(session_id: str, text: str) -> bytes:
    question = {"role": "user", "content": text}
    return orjson.dumps({"chatId": session_id, "stream": True, "detail": True, "messages": [question]})


class Peers:
    def __init__(self, upstream: Upstream, store: TurnRows) -> None:
        self._store = store
        self.app = FastAPI(docs_url=None, redoc_url=None)
        self._route("/httpx/chat", upstream.by_httpx, is_stored=False)
        self._route("/aiohttp/chat", upstream.by_aiohttp, is_stored=False)
        self._route("/stored/chat", upstream.by_httpx, is_stored=True)

    def _route(self, path: str, source: Source, *, is_stored: bool) -> None:
        async def chat(request: Request) -> Response:
            body = orjson.loads(await request.body())
            passed = PassedTurn(local_turn(body["sessionId"], body["text"], UserMessage(body["text"])))
            pieces = self._pieces(source, passed, is_stored=is_stored)
            if request.query_params.get("stream") == "true":
                return StreamingResponse(pieces, media_type="text/event-stream")
            async for _ in pieces:
                pass
            return Response(_answer(passed), media_type="application/json")

        self.app.add_api_route(path, chat, methods=["POST"], response_model=None)

    async def _pieces(self, source: Source, passed: PassedTurn, *, is_stored: bool) -> AsyncGenerator[bytes]:
        """SSE bytes as they come; with a store the last ones follow the commit."""
        turn = passed.turn
        opened = await self._store.open(turn, idempotency_key=None) if is_stored else None
        async with source(completion_body(turn.session_id, turn.text)) as upstream:
            async for piece in upstream:
                if told := passed.feed(piece):
                    yield told
        if opened is not None:
            passed.version = await self._store.commit(_record(passed, opened))
        yield done_event(turn.session_id, passed.version)


def _answer(passed: PassedTurn) -> bytes:
    assert passed.stage is not None
    return chat_answer(
        session_id=passed.turn.session_id, text="".join(passed.text), stage=passed.stage, patch=PATCH,
        version=passed.version, need_form_update=True, profile=_PROFILE,
    )  # fmt: skip


def local_turn(session_id: str, text: str, event: InputEvent) -> Turn:
    turn_id = str(uuid.uuid4())
    return Turn(
        tenant_id="bare", client_id="bare", session_id=session_id, turn_id=turn_id, event_id=turn_id,
        text=text, event=event, received_at=datetime.now(UTC),
    )  # fmt: skip


def _record(passed: PassedTurn, opened: OpenedSession) -> TurnRecord:
    assert passed.stage is not None
    turn, stage, backend = passed.turn, passed.stage, BackendName.FASTGPT
    outcome = Outcome(
        backend=backend,
        reply=Reply(stage=stage, text="".join(passed.text), patch=PATCH),
        receipt=Receipt(backend=backend, build="bare", turn_id=turn.turn_id),
    )
    return local_record(turn, opened, outcome, replace(opened.state.with_form(PATCH), stage=stage))


def local_record(turn: Turn, opened: OpenedSession, outcome: Outcome, after: SessionState) -> TurnRecord:
    return TurnRecord(
        turn=turn,
        before=opened.state,
        after=after,
        outcome=outcome,
        pin=opened.pin or Pin(backend=outcome.backend, reason="default", plan_version=1, bucket=0, is_sampled=False),
        route=Route(backend=outcome.backend, reason="default", plan_version=1, bucket=0),
        lease=opened.lease,
    )


async def _serve() -> None:
    limits = httpx.Limits(max_connections=CONNECTIONS)
    async with (
        open_pool(os.environ[_DATABASE_URL], name="bench-peers") as pool,
        httpx.AsyncClient(transport=AiohttpTransport(limits=limits)) as over_httpx,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONNECTIONS)) as over_aiohttp,
    ):
        store = TurnRows(pool, lease_seconds=150, wait_seconds=5, keep_replies=timedelta(hours=24))
        peers = Peers(Upstream(f"{os.environ[_UPSTREAM_URL]}/api/v1/chat/completions", over_httpx, over_aiohttp), store)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            sys.stdout.write(json.dumps({"ready": True, "port": listening.getsockname()[1], "pid": os.getpid()}) + "\n")
            sys.stdout.flush()
            config = uvicorn.Config(peers.app, http="httptools", lifespan="off", access_log=False, log_level="warning")
            await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.peers")
    parser.add_argument("--exit-with-stdin", action="store_true")
    if parser.parse_args().exit_with_stdin:
        end_with_stdin()
    run(_serve())
