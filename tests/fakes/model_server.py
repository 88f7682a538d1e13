"""A language model behind a real OpenAI-compatible address that says what a test scripted, in small uneven pieces.

Scripts are kept by request id, so that many conversations can be played side by side. It knows no scenario and understands nothing.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from aiohttp import web

_PIECE_CHARS = (1, 3, 2, 7, 1, 5)
_WRITE_BYTES = (5, 61, 17, 113)  # a write may end inside a character, or between two lines of an event

# Two made-up counts, the same for every reply.
USED = b'data: {"id":"c","object":"chat.completion.chunk","created":0,"model":"scripted","choices":[],' + (
    b'"usage":{"prompt_tokens":31,"completion_tokens":7,"total_tokens":38}}\n\n'
)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A reply that stops after `said` and never goes on."""

    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as it came over the wire."""

    request_id: str
    messages: tuple[dict[str, Any], ...]
    text: str  # everything that was sent, decoded


class ModelServer:
    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self.is_stuck = asyncio.Event()  # an Unfinished reply has said what it says
        self.counts_tokens = True  # answers the wish for counts, as most services do
        self._scripts: dict[str, list[str | Unfinished]] = {}
        self._is_over = asyncio.Event()

    def then(self, request_id: str, *replies: str | Unfinished) -> None:
        """What the requests of this id are answered, in order. A request without a reply left is refused."""
        self._scripts.setdefault(request_id, []).extend(replies)

    def asked_by(self, request_id: str) -> list[Asked]:
        return [one for one in self.asked if one.request_id == request_id]

    def unsaid(self, request_id: str) -> int:
        return len(self._scripts.get(request_id, ()))

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        request_id = request.headers.get("X-Request-ID", "")
        self.asked.append(
            Asked(request_id=request_id, messages=tuple(body["messages"]), text=json.dumps(body, ensure_ascii=False)),
        )
        script = self._scripts.get(request_id)
        if not script or not body.get("stream"):
            return web.json_response({"error": {"message": "nothing scripted"}}, status=500)
        reply = script.pop(0)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        said = reply.said if isinstance(reply, Unfinished) else reply
        events = b"".join(map(_chunk, _pieces(said)))
        if isinstance(reply, Unfinished):
            await response.write(events)
            self.is_stuck.set()
            await self._is_over.wait()
            return response
        counted = self.counts_tokens and (body.get("stream_options") or {}).get("include_usage")
        for piece in _writes(events + _chunk(None, finish="stop") + (USED if counted else b"") + b"data: [DONE]\n\n"):
            await response.write(piece)
        return response


@asynccontextmanager
async def model_server() -> AsyncGenerator[ModelServer]:
    server = ModelServer()
    app = web.Application(client_max_size=1024**2)
    app.router.add_post("/v1/chat/completions", server._complete)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield server
    finally:
        server._is_over.set()
        await runner.cleanup()


def _chunk(text: str | None, *, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}
    row = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "scripted", "choices": [choice]}
    return b"data: " + json.dumps(row, ensure_ascii=False).encode() + b"\n\n"


def _pieces(text: str) -> Iterator[str]:
    start = 0
    for size in cycle(_PIECE_CHARS):
        if start >= len(text):
            return
        yield text[start : start + size]
        start += size


def _writes(data: bytes) -> Iterator[bytes]:
    """The head in small writes, where a parser can stumble; the rest in larger ones."""
    start = 0
    for size in cycle(_WRITE_BYTES):
        if start >= len(data):
            return
        size = size if start < 600 else 4096
        yield data[start : start + size]
        start += size
