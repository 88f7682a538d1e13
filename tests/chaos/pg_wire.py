"""A wire between a victim and PostgreSQL that knows where statements begin and end, and breaks exactly there.

It reads enough of the protocol for that: names of prepared statements (Parse), their arguments (Bind), and the end of an exchange
(Sync … ReadyForQuery, when the implicit transaction is durable or gone).
"""

import asyncio
import contextlib
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

_NO_TLS = 80877103
_FLUSH = b"H\0\0\0\4"
_READY = b"Z"  # ReadyForQuery
_DONE = b"CsE"  # CommandComplete, PortalSuspended (no more rows were asked for), ErrorResponse

# before:    the statement never leaves
# unsynced:  it runs, but its transaction is never ended: PostgreSQL rolls it back when the connection goes
# during:    it leaves whole and the connection goes at once: what became of it, only the table knows
# after:     it is durable, and its answer never comes back
# held:      it is durable, and its answer waits until `hook` has returned
Moment = Literal["before", "unsynced", "during", "after", "held"]


@dataclass(slots=True, kw_only=True)
class Trap:
    """Springs once, at the `nth` statement that contains `sql` and whose arguments contain `needle`. `dark`: afterwards nothing gets
    through until `light` is called on the wire."""

    sql: str
    needle: bytes
    moment: Moment
    nth: int = 1
    dark: bool = False
    hook: Callable[[], Awaitable[None]] | None = None
    has_sprung: asyncio.Event = field(default_factory=asyncio.Event)


class PgWire:
    def __init__(self, upstream: str) -> None:
        """`upstream`: the path of PostgreSQL's unix socket."""
        self._upstream = upstream
        self._links: set[_Link] = set()
        self.is_dark = False
        self.trap: Trap | None = None
        self.port = 0

    def darken(self) -> None:
        self.is_dark = True
        for link in list(self._links):
            link.cut()

    def light(self) -> None:
        self.is_dark = False

    async def fall_silent(self) -> None:
        """For good: every connection is gone, and nobody reads any more."""
        self.darken()
        for link in list(self._links):
            await link.has_ended.wait()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_dark:
            writer.transport.abort()
            return
        behind = await asyncio.open_unix_connection(self._upstream)
        link = _Link(self, (reader, writer), behind)
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)
            link.has_ended.set()


class _Link:
    """One connection: the front is the victim's, the back is PostgreSQL's."""

    def __init__(
        self,
        wire: PgWire,
        front: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        back: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._wire = wire
        self._from_front, self._to_front = front
        self._from_back, self._to_back = back
        self._statements: dict[bytes, bytes] = {}
        self._holding: Trap | None = None
        self.has_ended = asyncio.Event()

    def cut(self) -> None:
        self._to_front.transport.abort()
        self._to_back.transport.abort()

    async def run(self) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._greet()
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._ask())
                    group.create_task(self._answer())
        except* (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.cut()

    async def _greet(self) -> None:
        while True:
            head = await self._from_front.readexactly(8)
            length, code = struct.unpack("!ii", head)
            rest = await self._from_front.readexactly(length - 8)
            if code != _NO_TLS:
                self._to_back.write(head + rest)
                return
            self._to_front.write(b"N")

    async def _ask(self) -> None:
        sprung: Trap | None = None
        while True:
            head = await self._from_front.readexactly(5)
            body = await self._from_front.readexactly(struct.unpack("!i", head[1:])[0] - 4)
            kind = head[:1]
            if kind == b"P":
                name, sql, *_ = body.split(b"\0", 2)
                self._statements[name] = sql
            elif kind == b"B" and (trap := self._caught(body)):
                if trap.moment == "before":
                    self._spring(trap)
                    return
                sprung = trap
                if trap.moment != "during":
                    self._holding = trap
            if kind == b"S" and sprung is not None:
                if sprung.moment == "unsynced":
                    head, body = _FLUSH, b""  # its answer comes, its transaction stays open
                elif sprung.moment == "during":
                    self._to_back.write(head + body)
                    await self._to_back.drain()
                    self._spring(sprung)
                    return
                sprung = None
            self._to_back.write(head + body)

    def _caught(self, bind: bytes) -> Trap | None:
        trap = self._wire.trap
        if trap is None or trap.needle not in bind:
            return None
        _, name, _ = bind.split(b"\0", 2)
        if trap.sql.encode() not in self._statements.get(name, b""):
            return None
        trap.nth -= 1
        if trap.nth:
            return None
        self._wire.trap = None
        return trap

    async def _answer(self) -> None:
        while piece := await self._from_back.read(65536):
            if self._holding is None:
                self._to_front.write(piece)
            else:
                await self._hold(self._holding, bytearray(piece))
        raise ConnectionResetError

    async def _hold(self, trap: Trap, kept: bytearray) -> None:
        """Keep everything back until the exchange has come as far as the trap says. `kept` is the answer's beginning."""
        end = _DONE if trap.moment == "unsynced" else _READY
        while not _has_come(end, kept):
            more = await self._from_back.read(65536)
            if not more:
                raise ConnectionResetError
            kept += more
        self._holding = None
        if trap.moment != "held":
            self._spring(trap)
            raise ConnectionResetError
        trap.has_sprung.set()
        if trap.hook is not None:
            await trap.hook()
        self._to_front.write(bytes(kept))

    def _spring(self, trap: Trap) -> None:
        if trap.dark:
            self._wire.darken()
        self.cut()
        trap.has_sprung.set()


def _has_come(kinds: bytes, data: bytearray) -> bool:
    """Whole messages, up to one of these kinds."""
    at = 0
    while at + 5 <= len(data):
        kind, length = data[at], struct.unpack_from("!i", data, at + 1)[0]
        at += 1 + length
        if kind in kinds and at <= len(data):
            return True
    return False


@asynccontextmanager
async def pg_wire(upstream: str) -> AsyncGenerator[PgWire]:
    wire = PgWire(upstream)
    server = await asyncio.start_server(wire.carry, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        server.close()
        await wire.fall_silent()
