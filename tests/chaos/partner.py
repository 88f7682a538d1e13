"""A partner that keeps every byte it was sent, also of an answer that broke off, and that can hang up at a chosen moment."""

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from typing import Any

from tests.chaos.evidence import Call

PATIENCE_SECONDS = 15.0


class OpenCall:
    """One request on its way. `hang_up` closes the connection at once; `ended` is what came of it."""

    def __init__(self, process: str, port: int, path: str, body: dict[str, Any], headers: Mapping[str, str]) -> None:
        self._process = process
        self._port = port
        self._path = path
        self._body = body
        self._headers = headers
        self._writer: asyncio.StreamWriter | None = None
        self._received = bytearray()
        self._hung_up = False
        self._sent_at = time.time()
        self._task = asyncio.create_task(self._run())

    def hang_up(self) -> None:
        self._hung_up = True
        if self._writer is not None:
            self._writer.transport.abort()

    async def ended(self) -> Call:
        await self._task
        status, headers, body, is_whole = answer_from(bytes(self._received))
        return Call(
            process=self._process,
            path=self._path,
            request_id=self._headers["X-Request-ID"],
            key=self._headers.get("Idempotency-Key"),
            event_id=self._body.get("eventId"),
            text=str(self._body.get("text", "")),
            sent_at=self._sent_at,
            ended_at=time.time(),
            status=status,
            is_replay=headers.get("idempotency-replayed") == "true",
            body=body,
            is_whole=is_whole,
            hung_up=self._hung_up,
        )

    async def _run(self) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
                self._writer.write(self._request())
                while piece := await reader.read(65536):
                    self._received += piece
        if self._writer is not None:
            self._writer.transport.abort()

    def _request(self) -> bytes:
        body = json.dumps(self._body, ensure_ascii=False).encode()
        lines = [
            f"POST {self._path} HTTP/1.1",
            "Host: proxy",
            "Connection: close",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *(f"{name}: {value}" for name, value in self._headers.items()),
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def answer_from(data: bytes) -> tuple[int | None, dict[str, str], bytes, bool]:
    """Status, headers in lower case, body as far as it came, and whether it came to its end. Status None: no head arrived."""
    head, separator, rest = data.partition(b"\r\n\r\n")
    if not separator:
        return None, {}, b"", False
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    status = int(first.split(" ")[1])
    if headers.get("transfer-encoding") == "chunked":
        body, is_whole = _from_chunks(rest)
        return status, headers, body, is_whole
    return status, headers, rest, len(rest) == int(headers.get("content-length", "-1"))


def _from_chunks(data: bytes) -> tuple[bytes, bool]:
    body = bytearray()
    while True:
        size, separator, data = data.partition(b"\r\n")
        if not separator:
            return bytes(body), False
        length = int(size, 16)
        if length == 0:
            return bytes(body), data == b"\r\n"
        body += data[:length]
        if len(data) < length + 2:
            return bytes(body), False
        data = data[length + 2 :]
