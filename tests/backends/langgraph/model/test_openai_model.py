"""The model client against a socket that plays a script: what a server can do to us, and the one failure each of it becomes."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from backends.langgraph.model.openai_model import OpenAiModel
from domain.errors import BackendError, FailureKind

pytestmark = pytest.mark.unit

MESSAGES = [{"role": "user", "content": "你好"}]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
Script = Callable[[int, asyncio.StreamWriter], Awaitable[None]]


def chunk(text: str | None, *, finish: str | None = None, **delta: str) -> bytes:
    body = {
        "id": "x",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": text} | delta, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


@asynccontextmanager
async def server(script: Script, *, first_token_s: float = 20, total_s: float = 20) -> AsyncGenerator[tuple[OpenAiModel, list[bytes]]]:
    """A model client whose server answers each request by the script, given its number."""
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), 0)
            requests.append(head + await reader.readexactly(length))
            await script(len(requests), writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    model = OpenAiModel(base_url=f"http://127.0.0.1:{port}/v1", api_key="test", model="m", first_token_s=first_token_s, total_s=total_s)
    try:
        yield model, requests
    finally:
        await model.aclose()
        listening.close()


async def said(model: OpenAiModel) -> list[str]:
    return [piece async for piece in model.stream(MESSAGES, request_id="turn-1")]


async def failure(script: Script, **limits: float) -> FailureKind:
    async with server(script, **limits) as (model, _):
        with pytest.raises(BackendError) as caught:
            await said(model)
        return caught.value.failure.kind


async def test_pieces_come_as_they_are_sent_without_roles_reasoning_and_nul():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(None, role="assistant") + chunk(None, reasoning_content="想") + chunk("<state>"))
        writer.write(chunk("10\x0002</state>") + chunk(None, finish="stop") + b"data: [DONE]\n\n")

    async with server(script) as (model, requests):
        assert await said(model) == ["<state>", "1002</state>"]
    assert b"x-request-id: turn-1" in requests[0].lower()


async def test_a_server_that_is_silent_before_the_first_token_is_a_timeout():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        await writer.drain()
        await asyncio.sleep(0.2)

    assert await failure(script, first_token_s=0.05) is FailureKind.TIMEOUT


async def test_a_server_that_never_ends_is_a_timeout():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk("<state>1002</state>"))
        for _ in range(20):
            await writer.drain()
            await asyncio.sleep(0.03)
            writer.write(chunk("啊"))

    assert await failure(script, total_s=0.2) is FailureKind.TIMEOUT


async def test_a_stream_that_breaks_off_is_an_interruption():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD.replace(b"Connection: close", b"Transfer-Encoding: chunked") + b"400\r\n" + chunk("<state>1002</state>"))
        await writer.drain()
        writer.transport.abort()

    assert await failure(script) is FailureKind.INTERRUPTED


async def test_a_stream_that_ends_politely_in_mid_sentence_is_an_interruption():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk("<state>1002</state>请问有没") + (b"data: [DONE]\n\n" if number == 1 else b""))

    assert await failure(script) is FailureKind.INTERRUPTED


async def test_a_stop_without_the_closing_mark_is_a_finished_reply():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk("好", finish="stop"))

    async with server(script) as (model, _):
        assert await said(model) == ["好"]


async def test_a_connection_that_drops_before_any_byte_is_tried_once_more():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        if number == 1:
            writer.transport.abort()
        else:
            writer.write(HEAD + chunk("好", finish="stop") + b"data: [DONE]\n\n")

    async with server(script) as (model, requests):
        assert await said(model) == ["好"]
        assert len(requests) == 2


async def test_nobody_listening_is_unreachable():
    model = OpenAiModel(base_url="http://127.0.0.1:9/v1", api_key="test", model="m")
    with pytest.raises(BackendError) as caught:
        await said(model)
    assert caught.value.failure.kind is FailureKind.UNREACHABLE
    await model.aclose()


@pytest.mark.parametrize(
    "status, kind",
    [
        (401, FailureKind.CONFIGURATION),
        (404, FailureKind.CONFIGURATION),
        (429, FailureKind.REFUSED),
        (500, FailureKind.REFUSED),
        (503, FailureKind.REFUSED),
    ],
)
async def test_a_status_says_whether_a_retry_can_help(status: int, kind: FailureKind):
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode()
        )

    assert await failure(script) is kind


async def test_a_line_that_is_no_json_is_malformed():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"data: {broken\n\n")

    assert await failure(script) is FailureKind.MALFORMED


async def test_an_error_event_inside_the_stream_is_a_refusal():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b'data: {"error":{"message":"overloaded"}}\n\n')

    assert await failure(script) is FailureKind.REFUSED


async def test_leaving_early_closes_the_request():
    closed = asyncio.Event()

    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        try:
            for _ in range(100):
                writer.write(chunk("啊"))
                await writer.drain()
                await asyncio.sleep(0.002)
        finally:
            closed.set()

    async with server(script) as (model, _):
        pieces = model.stream(MESSAGES, request_id="")
        assert await anext(pieces) == "啊"
        await pieces.aclose()
        await asyncio.wait_for(closed.wait(), 5)
