"""The HTTP side of the scripted model: requests in, answers out, faults on purpose. All decisions are made in answer.py and faults.py."""

import asyncio
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from aiohttp import web

from sim.chance import checked_rates
from sim.model import wire
from sim.model.answer import answer_to
from sim.model.faults import ILLEGAL_ANSWER, drawn_fault
from sim.model.lexicon import speech
from sim.model.mistakes import MISTAKES, Mood
from sim.model.prompt import prompt_from_messages

HANG_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """`delay_ms` comes before the first byte and again between two pieces at a tenth of it. `faults` break the call, `mistakes` make
    the answer a worse one (sim/model/faults.py, sim/model/mistakes.py); both are rates by name."""

    delay_ms: float = 0.0
    chunk_chars: int = 4
    faults: Mapping[str, float] = field(default_factory=dict[str, float])
    mistakes: Mapping[str, float] = field(default_factory=dict[str, float])
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One call after reading: what to say and how."""

    text: str
    call_id: str
    model: str
    created_s: int
    usage: Mapping[str, int]
    with_usage: bool
    is_cut: bool


class ModelServer:
    """Counts calls and answers them; holds no conversation."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._numbers = itertools.count(1)
        self._calls: Counter[str] = Counter()
        self._chance = random.Random(behaviour.seed)
        self._mistakes = checked_rates(behaviour.mistakes, MISTAKES)

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self.complete)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/sim/stats", self.stats)
        app.router.add_post("/sim/mistakes", self.mistake)
        return app

    async def complete(self, request: web.Request) -> web.StreamResponse:
        number = next(self._numbers)
        self._calls["calls"] += 1
        try:
            body = cast("object", json.loads(await request.read()))
        except ValueError:
            return _refused("The request body is not valid JSON.")
        messages = cast("dict[str, Any]", body).get("messages") if isinstance(body, dict) else None
        if not isinstance(messages, list) or not messages:
            return _refused("'messages' must be a non-empty array.")
        return await self._answer(request, cast("dict[str, Any]", body), cast("list[dict[str, Any]]", messages), number)

    async def _answer(self, request: web.Request, body: dict[str, Any], messages: list[dict[str, Any]], number: int) -> web.StreamResponse:
        prompt = prompt_from_messages(messages)
        self._calls[type(prompt).__name__] += 1
        fault = drawn_fault(self._behaviour.faults, self._chance)
        if fault is not None:
            self._calls[f"fault_{fault}"] += 1
        await asyncio.sleep(HANG_S if fault == "hang" else self._behaviour.delay_ms / 1000)
        if fault == "http500":
            return web.json_response(wire.error_body("The server had an error.", kind="server_error", code=None), status=500)
        wording = random.Random(f"{self._behaviour.seed}:{body.get('seed', number)}") if float(body.get("temperature") or 0) > 0 else None
        text = {"garbage": speech().garbage, "illegal": ILLEGAL_ANSWER, "empty": ""}.get(fault or "") if fault else None
        mood = Mood(rates=self._mistakes, seed=self._behaviour.seed, subject=json.dumps(messages, ensure_ascii=False))
        text = answer_to(prompt, wording=wording, mood=mood) if text is None else text
        options = cast("dict[str, Any]", body.get("stream_options") or {})
        call = _Call(
            text=text,
            call_id=f"chatcmpl-sim-{number}",
            model=str(body.get("model") or wire.MODEL),
            created_s=int(time.time()),
            usage=wire.usage_of("".join(str(message.get("content") or "") for message in messages), text),
            with_usage=bool(options.get("include_usage")),
            is_cut=fault == "cut",
        )
        return await (self._stream(request, call) if body.get("stream") else self._whole(request, call))

    async def _whole(self, request: web.Request, call: _Call) -> web.StreamResponse:
        if call.is_cut:
            _drop(request)
        return web.json_response(
            wire.completion(call.text, call_id=call.call_id, model=call.model, created_s=call.created_s, usage=call.usage)
        )

    async def _stream(self, request: web.Request, call: _Call) -> web.StreamResponse:
        names: dict[str, Any] = {"call_id": call.call_id, "model": call.model, "created_s": call.created_s}
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"})
        await response.prepare(request)
        try:
            await response.write(wire.chunk({"role": "assistant", "content": ""}, **names))
            for index, piece in enumerate(wire.pieces(call.text, self._behaviour.chunk_chars)):
                if call.is_cut and index == 2:
                    _drop(request)
                    return response
                if index and self._behaviour.delay_ms:
                    await asyncio.sleep(self._behaviour.delay_ms / 10_000)
                await response.write(wire.chunk({"content": piece}, **names))
            await response.write(wire.chunk({}, finish="stop", **names))
            if call.with_usage:
                await response.write(wire.usage_chunk(call.usage, **names))
            await response.write(wire.DONE)
            await response.write_eof()
        except (ConnectionResetError, ConnectionError):
            self._calls["client_left"] += 1
        return response

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": wire.MODEL, "object": "model", "created": 0, "owned_by": "sim"}]})

    async def stats(self, request: web.Request) -> web.Response:
        return web.json_response({"calls": 0} | dict(self._calls))

    async def mistake(self, request: web.Request) -> web.Response:
        """Set some rates; the others stay. 400 for a name or a rate that is none."""
        try:
            rates = cast("dict[str, Any]", await request.json())
            self._mistakes |= checked_rates({name: float(rate) for name, rate in rates.items()}, MISTAKES)
        except (ValueError, TypeError, AttributeError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"mistakes": self._mistakes})


def _refused(message: str) -> web.Response:
    return web.json_response(wire.error_body(message, kind="invalid_request_error", code=None), status=400)


def _drop(request: web.Request) -> None:
    """Close the socket without a goodbye, as a dying server does."""
    if request.transport is not None:
        request.transport.abort()
