"""The model client against a socket that plays a script: what a server can do to us, and the one failure each of it becomes."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from backends.langgraph.model.openai_model import OpenAiModel
from backends.langgraph.model.port import TokenUse
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


async def said(model: OpenAiModel) -> list[str | TokenUse]:
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


def usage_chunk(prompt: int, completion: int) -> bytes:
    body = {
        "id": "x",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def refusal(status: int, **headers: str) -> bytes:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    body = b'{"error":{"message":"secret of the server"}}'
    return f"HTTP/1.1 {status} No\r\n{lines}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def test_what_a_reply_took_is_told_after_its_text():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk("好") + chunk(None, finish="stop") + usage_chunk(31, 7) + b"data: [DONE]\n\n")

    async with server(script) as (model, requests):
        assert await said(model) == ["好", TokenUse(31, 7)]
    assert b'"include_usage":true' in requests[0].replace(b" ", b"")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_a_service_that_turns_us_away_is_asked_once_more(status: int):
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(refusal(status) if number == 1 else HEAD + chunk("好", finish="stop") + b"data: [DONE]\n\n")

    async with server(script) as (model, requests):
        assert await said(model) == ["好"]
        assert len(requests) == 2


@pytest.mark.parametrize("status, kind", [(400, FailureKind.CONFIGURATION), (401, FailureKind.CONFIGURATION), (418, FailureKind.REFUSED)])
async def test_a_service_that_will_never_answer_is_asked_once(status: int, kind: FailureKind):
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(refusal(status))

    async with server(script) as (model, requests):
        with pytest.raises(BackendError) as caught:
            await said(model)
        assert caught.value.failure.kind is kind
        assert "secret" not in str(caught.value.failure)
        assert len(requests) == 1


async def test_a_service_that_stays_away_is_asked_twice_and_no_more():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(refusal(503, retry_after="0"))

    async with server(script) as (model, requests):
        with pytest.raises(BackendError) as caught:
            await said(model)
        assert caught.value.failure.kind is FailureKind.REFUSED
        assert len(requests) == 2


async def test_a_wish_to_wait_longer_than_a_turn_may_is_a_refusal_at_once():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(refusal(429, retry_after="3600"))

    async with server(script, first_token_s=5) as (model, requests):
        with pytest.raises(BackendError):
            await said(model)
        assert len(requests) == 1


async def test_nothing_is_asked_again_after_a_word_was_said():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk("<state>"))
        await writer.drain()
        writer.transport.abort()

    async with server(script) as (model, requests):
        with pytest.raises(BackendError):
            await said(model)
        assert len(requests) == 1


async def test_a_reply_without_end_is_cut():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for _ in range(10_000):
            writer.write(chunk("啊" * 100))
            await writer.drain()

    assert await failure(script) is FailureKind.MALFORMED


async def test_nobody_waits_for_a_model_that_has_failed_five_times_running():
    async def script(number: int, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with server(script) as (model, requests):
        for _ in range(5):
            with pytest.raises(BackendError):
                await said(model)
        asked = len(requests)
        with pytest.raises(BackendError) as caught:
            await said(model)
        assert caught.value.failure.kind is FailureKind.UNREACHABLE
        assert len(requests) == asked == 10
        assert await model.probe() == "model: circuit open"
