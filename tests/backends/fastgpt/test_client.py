"""The client over real sockets and the transport of production: hang-ups, resets, silence, chunk borders, connection reuse."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from httpx_aiohttp import AiohttpTransport

from backends.fastgpt.client import FastGptClient
from domain.errors import BackendError, FailureKind

pytestmark = pytest.mark.unit

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream;charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def read_request(reader: asyncio.StreamReader) -> dict[str, Any]:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines[1:] if line}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return {"line": lines[0], "headers": headers, "body": body}


@asynccontextmanager
async def serving(handler: Handler, make_config: Callable[..., Any], **changes: Any) -> AsyncGenerator[FastGptClient]:
    """A client against a server that runs `handler` for each connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, AiohttpTransport() as http:
        yield FastGptClient(make_config(base_url=f"http://127.0.0.1:{port}", **changes), http)


async def read_all(client: FastGptClient) -> bytes:
    body = b""
    async with client.completion({"messages": []}) as completion:
        while (piece := await completion.read()) is not None:
            body += piece
    return body


async def failure_of(client: FastGptClient) -> tuple[FailureKind, str]:
    with pytest.raises(BackendError) as caught:
        await read_all(client)
    return caught.value.failure.kind, caught.value.failure.note


async def test_the_end_of_the_body_is_the_end_though_the_socket_stays_open(make_config: Callable[..., Any]) -> None:
    connections: list[int] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        while True:
            await read_request(reader)
            writer.write(HEAD + chunk(b"data: 1\n\n") + chunk(b"data: 2\n\n") + b"0\r\n\r\n")
            await writer.drain()

    async with serving(handler, make_config) as client:
        assert await read_all(client) == b"data: 1\n\ndata: 2\n\n"
        assert await read_all(client) == b"data: 1\n\ndata: 2\n\n"
    assert len(connections) == 1


async def test_the_headers_that_go_out_ask_for_plain_bytes(make_config: Callable[..., Any]) -> None:
    requests: list[dict[str, Any]] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await read_request(reader))
        writer.write(HEAD + b"0\r\n\r\n")
        await writer.drain()

    async with serving(handler, make_config) as client:
        await read_all(client)
    sent = requests[0]
    assert sent["line"] == "POST /api/v1/chat/completions HTTP/1.1"
    assert sent["headers"]["accept-encoding"] == "identity"
    assert not {"if-none-match", "if-modified-since"} & set(sent["headers"])
    assert json.loads(sent["body"]) == {"messages": []}


async def test_nobody_listening_is_unreachable(make_config: Callable[..., Any]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        async with AiohttpTransport() as http:
            kind, _ = await failure_of(FastGptClient(make_config(base_url=f"http://127.0.0.1:{port}"), http))
    assert kind is FailureKind.UNREACHABLE


async def test_a_server_that_hangs_up_before_it_answers_interrupted_the_turn(make_config: Callable[..., Any]) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)

    async with serving(handler, make_config) as client:
        assert (await failure_of(client))[0] is FailureKind.INTERRUPTED


async def test_a_reset_before_the_answer_interrupted_the_turn(make_config: Callable[..., Any]) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        reset(writer)

    async with serving(handler, make_config) as client:
        assert (await failure_of(client))[0] is FailureKind.INTERRUPTED


def reset(writer: asyncio.StreamWriter) -> None:
    """Close so that the peer sees a reset instead of an orderly end."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@pytest.mark.parametrize("is_reset", [True, False])
async def test_a_body_that_breaks_off_is_interrupted(is_reset: bool, make_config: Callable[..., Any]) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + chunk(b"data: 1\n\n"))
        await writer.drain()
        if is_reset:
            reset(writer)

    async with serving(handler, make_config) as client:
        assert (await failure_of(client))[0] is FailureKind.INTERRUPTED


async def test_no_response_within_the_first_byte_limit_is_a_timeout(make_config: Callable[..., Any]) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        await reader.read()

    async with serving(handler, make_config, first_byte_s=0.05) as client:
        assert await failure_of(client) == (FailureKind.TIMEOUT, "first_byte")


async def test_headers_alone_do_not_count_as_a_first_byte(make_config: Callable[..., Any]) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD)
        await writer.drain()
        await reader.read()

    async with serving(handler, make_config, first_byte_s=0.05) as client:
        assert await failure_of(client) == (FailureKind.TIMEOUT, "first_byte")


async def test_a_server_that_falls_silent_is_a_timeout_and_is_let_go(make_config: Callable[..., Any]) -> None:
    left = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + chunk(b"data: 1\n\n"))
        await writer.drain()
        await reader.read()
        left.set()

    async with serving(handler, make_config, idle_s=0.05) as client:
        assert await failure_of(client) == (FailureKind.TIMEOUT, "idle")
        await left.wait()


async def test_a_redirect_is_not_followed(make_config: Callable[..., Any]) -> None:
    lines: list[str] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            lines.append((await read_request(reader))["line"])
            writer.write(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()

    async with serving(handler, make_config) as client, client.completion({}) as completion:
        assert completion.status == 307
        assert await completion.read() is None
    assert len(lines) == 1


@pytest.mark.parametrize("call", ["delete_chat", "check"])
async def test_a_short_call_is_bounded_as_a_whole(call: str, make_config: Callable[..., Any]) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + chunk(b"{"))
        await writer.drain()
        await reader.read()

    async with serving(handler, make_config, short_call_s=0.05) as client:
        with pytest.raises(BackendError) as caught:
            await (client.delete_chat("c") if call == "delete_chat" else client.check())
    assert caught.value.failure.kind is FailureKind.TIMEOUT
