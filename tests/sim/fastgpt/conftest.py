"""A raw HTTP/1.1 exchange that keeps what clients hide: the status line, the header order, and where each chunk ends."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """`chunks` are the HTTP chunks, or one piece for a body with a length."""

    status_line: str
    headers: list[tuple[str, str]]
    chunks: list[bytes]

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)


Send = Callable[..., Awaitable[Exchange]]


async def exchange(base: str, method: str, path: str, headers: dict[str, str], body: Any) -> Exchange:
    """`body` is sent as it stands when it is bytes, as JSON otherwise, not at all when None."""
    url = urlsplit(base)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    try:
        payload = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: fastgpt", "Content-Type: application/json", f"Content-Length: {len(payload)}"]
        lines += ["Connection: close", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode() + payload)
        await writer.drain()
        return await _read(reader)
    finally:
        writer.close()


async def _read(reader: asyncio.StreamReader) -> Exchange:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in head[1:] if line)]
    lowered = {name.lower(): value for name, value in headers}
    if "content-length" in lowered:
        chunks = [await reader.readexactly(int(lowered["content-length"]))]
    else:
        chunks = [chunk async for chunk in _chunks(reader)]
    return Exchange(status_line=head[0], headers=headers, chunks=chunks)


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int(await reader.readuntil(b"\r\n"), 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)


@pytest.fixture
def send() -> Send:
    return exchange
