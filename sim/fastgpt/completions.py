"""The two completion routes: read the ask, run the flow, save the round, answer as a stream or as one body."""

import asyncio
import contextlib
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, cast

from aiohttp import web

from sim.fastgpt import wire
from sim.fastgpt.auth import Refusal, refusal_of
from sim.fastgpt.clock import NOW_VARIABLE, local_now
from sim.fastgpt.eras import Era
from sim.fastgpt.flow import walk
from sim.fastgpt.limits import GENERATING, Limits
from sim.fastgpt.listeners import EventWriter, Nobody
from sim.fastgpt.memory import UNRECORDED_CHAT, Chats, new_id
from sim.fastgpt.model_client import ModelClient
from sim.fastgpt.plants import Planting
from sim.fastgpt.requests import Ask, BadRequest, ask_from_body, require_message_list
from sim.fastgpt.responses import bare_stream, event_stream, json_response, refusal_response
from sim.fastgpt.run import Listener, Run
from sim.fastgpt.script import HEADER, Script
from sim.fastgpt.variables import dumps, merged, visible
from sim.fastgpt.workflow import Workflow

PLANTED_ERROR = "Cannot read properties of undefined (reading 'forEach')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What all routes share. `noise` is the share of chat answers in another wording, drawn per call."""

    era: Era
    keys: frozenset[str]
    workflow: Workflow
    chats: Chats
    planting: Planting
    noise: float
    noise_chance: random.Random
    delay_s: float
    heartbeat_s: float
    stats: Counter[str]
    script: Script
    limits: Limits


class Completions:
    def __init__(self, server: Server, model: ModelClient) -> None:
        self._server = server
        self._model = model
        self._numbers = itertools.count(1)

    async def v1(self, request: web.Request) -> web.StreamResponse:
        return await self._complete(request, is_v2=False)

    async def v2(self, request: web.Request) -> web.StreamResponse:
        return await self._complete(request, is_v2=True)

    async def _complete(self, request: web.Request, *, is_v2: bool) -> web.StreamResponse:
        self._server.stats["calls"] += 1
        try:
            parsed = cast("object", json.loads(await request.read() or b"{}"))
        except ValueError:
            return await _broken_body(request)
        body = cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
        wants_stream = bool(body.get("stream"))
        refusal = refusal_of(request.headers.get("Authorization"), self._server.keys)
        try:
            # The type of the list is looked at before the key, its length after.
            require_message_list(body)
            if refusal is not None:
                return await _refused(request, refusal, wants_stream=wants_stream)
            ask = ask_from_body(body)
        except BadRequest as bad:
            return await _early_error(request, str(bad), wants_stream=wants_stream)
        if (told := self._server.limits.too_many()) is not None:
            return json_response(wire.error_envelope(told, code=429, status_text="error") | {"errorType": "UserError"}, status=429)
        if not self._server.limits.take(ask.chat_id):
            return await _refused(request, GENERATING, wants_stream=wants_stream)
        try:
            await asyncio.sleep(self._server.delay_s)
            faults = self._server.script.faults_of(ask.chat_id, request.headers.get(HEADER))
            return await self._run(request, ask, faults, is_v2=is_v2)
        except ValueError as error:
            return web.json_response({"error": str(error)}, status=400)
        finally:
            self._server.limits.give_back(ask.chat_id)

    async def _run(self, request: web.Request, ask: Ask, faults: frozenset[str], *, is_v2: bool) -> web.StreamResponse:
        plants = self._server.planting.for_session(ask.chat_id) | faults
        for name in plants:
            self._server.stats[f"planted_{name}"] += 1
        if "http_error_body" in plants:
            return json_response(wire.error_envelope(PLANTED_ERROR))
        if "garbage" in plants:
            kind = wire.SSE_HEADERS["Content-Type"] if ask.stream else wire.JSON_TYPE
            return web.Response(body=wire.GARBAGE, headers={"Content-Type": kind})
        if ask.stream and "html_504" not in plants:
            return await self._stream(request, ask, plants, is_v2=is_v2)
        return await self._whole(request, ask, plants, is_v2=is_v2)

    async def _whole(self, request: web.Request, ask: Ask, plants: frozenset[str], *, is_v2: bool) -> web.StreamResponse:
        run = self._prepared(ask, plants, Nobody())
        began = time.monotonic()
        await walk(run, self._server.era)
        saved_id = self._save(ask, run, wire.seconds(time.monotonic() - began), is_v2=is_v2)
        if "html_504" in plants:
            return web.Response(status=504, text=wire.GATEWAY_PAGE, content_type="text/html")
        if "drop_mid_stream" in plants and request.transport is not None:
            request.transport.abort()
        body = wire.completion_body(
            completion_id=saved_id,
            content=self._content(ask, run),
            error=self._error(run),
            records=run.records if ask.detail else None,
            variables=visible(run.variables) if ask.detail else None,
        )
        return json_response(body, request=request, ran=True)

    async def _stream(self, request: web.Request, ask: Ask, plants: frozenset[str], *, is_v2: bool) -> web.StreamResponse:
        response = event_stream()
        await response.prepare(request)
        drops = "drop_mid_stream" in plants
        writer = EventWriter(request, response, detail=ask.detail, tells_nodes=is_v2, drops=drops)
        began = time.monotonic()
        async with _heartbeat(writer, self._server.heartbeat_s):
            run = self._prepared(ask, plants, writer)
            await walk(run, self._server.era)
        duration = wire.seconds(time.monotonic() - began)
        if self._server.era.has_workflow_duration:
            await writer.duration(duration)
        self._save(ask, run, duration, is_v2=is_v2)
        await self._tail(writer, run, is_v2=is_v2)
        if not writer.is_gone:
            with contextlib.suppress(ConnectionError):
                await response.write_eof()
        return response

    async def _tail(self, writer: EventWriter, run: Run, *, is_v2: bool) -> None:
        await writer.answer("answer", wire.text_chunk(None, finish="stop"))
        if self._server.era.flow_responses_first and not is_v2:
            await writer.flow_responses(run.records)
        await writer.answer("answer", "[DONE]")
        if not self._server.era.flow_responses_first and not is_v2:
            await writer.flow_responses(run.records)

    def _prepared(self, ask: Ask, plants: frozenset[str], listener: Listener) -> Run:
        server = self._server
        chat = server.chats.find(ask.chat_id) if ask.chat_id else None
        stored = {key: value for key, value in (chat.variables if chat else {}).items() if key != NOW_VARIABLE}
        history = [(record.side, record.text) for record in (chat.records if chat else [])]
        is_noisy = server.noise > 0 and server.noise_chance.random() < server.noise
        return Run(
            workflow=server.workflow,
            question=ask.question,
            history=[*history, *ask.earlier],
            system_text=ask.system_text,
            variables=merged(server.workflow.variables, stored, ask.variables),
            now=local_now(ask.variables),
            plants=plants,
            noise_seed=next(self._numbers) if is_noisy else None,
            model=self._model,
            listener=listener,
        )

    def _save(self, ask: Ask, run: Run, duration_s: float | int, *, is_v2: bool) -> str:
        """Keep the round, also one that was cut. Returns the id that a whole answer carries."""
        chat_id = ask.chat_id or new_id(24)
        self._server.chats.save_round(
            chat_id,
            question=ask.question,
            question_id=ask.question_id or new_id(22),
            answer=run.answer,
            answer_id=ask.answer_id or new_id(22),
            variables=run.variables,
            node_records=run.records,
            duration_s=duration_s if self._server.era.has_workflow_duration else None,
        )
        if ask.chat_id == UNRECORDED_CHAT or ask.chat_id:
            return ask.chat_id
        return chat_id if self._server.era.id_without_chat and not is_v2 else ""

    def _content(self, ask: Ask, run: Run) -> Any:
        if run.answer or not (ask.detail and self._server.era.empty_detail_is_array):
            return run.answer
        return wire.text_value("")

    def _error(self, run: Run) -> str | None:
        if not self._server.era.error_key or not run.records:
            return None
        return run.records[-1].get("error")


@contextlib.asynccontextmanager
async def _heartbeat(writer: EventWriter, every_s: float) -> AsyncGenerator[None]:
    beating = asyncio.create_task(writer.beat(every_s))
    try:
        yield
    finally:
        beating.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beating


async def _early_error(request: web.Request, message: str, *, wants_stream: bool) -> web.StreamResponse:
    if not wants_stream:
        return json_response(wire.error_envelope(message), status=500)
    return await _error_event(request, dumps({"message": message}))


async def _refused(request: web.Request, refusal: Refusal, *, wants_stream: bool) -> web.StreamResponse:
    if not wants_stream:
        return refusal_response(refusal)
    body = dumps(wire.error_envelope(refusal.message, code=refusal.code, status_text=refusal.status_text))
    return await _error_event(request, body, clears_cookie=refusal.clears_cookie)


async def _error_event(request: web.Request, data: str, *, clears_cookie: bool = False) -> web.StreamResponse:
    """An error before the workflow: status 200, no content type, one named event, nothing after it."""
    response = bare_stream(clears_cookie=clears_cookie)
    response.enable_chunked_encoding()
    await response.prepare(request)
    for line in wire.event_lines("error", data):
        await response.write(line)
    await response.write_eof()
    return response


async def _broken_body(request: web.Request) -> web.StreamResponse:
    response = bare_stream(status=400, reason=wire.BROKEN_JSON)
    response.enable_chunked_encoding()
    await response.prepare(request)
    await response.write(wire.BROKEN_JSON.encode())
    await response.write_eof()
    return response
