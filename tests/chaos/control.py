"""The line between the harness and one victim: JSON lines over a unix socket. When it breaks, the victim ends: nobody is left behind."""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ANSWER_SECONDS = 20.0


class Leash:
    """The victim's end. `say` never waits, so that a victim may speak and die in one breath."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._let_go = asyncio.Event()
        self.orders: dict[str, Callable[[], Any]] = {}

    def say(self, line: dict[str, Any]) -> None:
        self._socket.sendall(json.dumps(line).encode() + b"\n")

    async def until_let_go(self) -> None:
        await self._let_go.wait()

    async def obey(self) -> None:
        """Until the harness is gone; then this process is over at once."""
        self._socket.setblocking(False)
        loop = asyncio.get_running_loop()
        pending = b""
        while piece := await loop.sock_recv(self._socket, 4096):
            *lines, pending = (pending + piece).split(b"\n")
            for line in lines:
                order = line.decode()
                if order == "go":
                    self._let_go.set()
                else:
                    self.say({order: self.orders[order]()})
        os._exit(0)


class Hold:
    """The harness's end of one victim."""

    def __init__(self) -> None:
        self._writer: asyncio.StreamWriter | None = None
        self._heard: dict[str, Any] = {}
        self._news = asyncio.Event()
        self.is_gone = False

    async def attach(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                self._heard |= json.loads(line)
                self._tell()
        self.is_gone = True
        self._tell()
        writer.close()

    def tell(self, order: str) -> None:
        if self._writer is not None and not self.is_gone:
            self._writer.write(order.encode() + b"\n")

    def has_heard(self, name: str) -> bool:
        return name in self._heard

    async def hear(self, name: str, seconds: float = ANSWER_SECONDS) -> Any:
        """The newest word of that name, waited for. None when the victim is gone without it. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while name not in self._heard and not self.is_gone:
                self._news.clear()
                await self._news.wait()
        return self._heard.get(name)

    async def ask(self, order: str) -> Any:
        self._heard.pop(order, None)
        self.tell(order)
        return await self.hear(order)

    async def until_gone(self, seconds: float = ANSWER_SECONDS) -> None:
        async with asyncio.timeout(seconds):
            while not self.is_gone:
                self._news.clear()
                await self._news.wait()

    def let_loose(self) -> None:
        """The victim ends."""
        if self._writer is not None:
            self._writer.close()

    def _tell(self) -> None:
        self._news.set()


@asynccontextmanager
async def held(path: Path) -> AsyncGenerator[Hold]:
    """Waits at `path` for one victim."""
    hold = Hold()
    server = await asyncio.start_unix_server(hold.attach, path)
    try:
        yield hold
    finally:
        hold.let_loose()
        server.close()
