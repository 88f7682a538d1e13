"""The load: keep-alive connections that each wait for an answer before they ask again, and the clock beside them.

HTTP/1.1 by hand over asyncio streams, because a client library costs more than what it would measure. An answer that isn't the expected
one ends the run: figures of failed calls would be flattering and worthless.
"""

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import psutil

TURNS_PER_SESSION = 10
ANSWER_SECONDS = 20.0
_sessions = itertools.count()


def fresh_session() -> str:
    return f"bench-{next(_sessions)}"


class WrongAnswer(Exception):
    """A target did not do what it is measured for; the message holds the beginning of what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A door to knock at. `body` makes a request of session id and text; `proof` is in every right answer. After so many turns a connection
    asks for the next session's name."""

    name: str
    port: int
    pid: int
    path: str
    body: Callable[[str, str], bytes]
    proof: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    next_session: Callable[[], str] = fresh_session
    turns_per_session: int = TURNS_PER_SESSION


@dataclass(slots=True, kw_only=True)
class Load:
    """What one target did in one cell of the run."""

    elapsed_s: float = 0.0
    cpu_s: float = 0.0  # of the target's process, user and system
    total_ms: list[float] = field(default_factory=list[float])
    first_byte_ms: list[float] = field(default_factory=list[float])  # of the body; of a stream: its first data line
    gap_ms: list[float] = field(default_factory=list[float])  # between two pieces of one body that hold data lines
    stored_bytes: list[float] = field(default_factory=list[float])  # a turn, one value a cell, where a part asked for it

    def add(self, other: "Load") -> None:
        self.elapsed_s += other.elapsed_s
        self.cpu_s += other.cpu_s
        self.total_ms += other.total_ms
        self.first_byte_ms += other.first_byte_ms
        self.gap_ms += other.gap_ms
        self.stored_bytes += other.stored_bytes

    @property
    def calls(self) -> int:
        return len(self.total_ms)

    @property
    def cpu_ms_per_call(self) -> float:
        return self.cpu_s * 1000 / self.calls

    @property
    def calls_per_s(self) -> float:
        return self.calls / self.elapsed_s


async def for_seconds(target: Target, text: str, seconds: float, *, connections: int) -> Load:
    """Closed loop; calls under way at the end are finished and counted. Raises WrongAnswer."""
    until = time.perf_counter() + seconds
    return await _run([target] * connections, text, lambda _: time.perf_counter() < until)


async def for_calls(target: Target, text: str, calls: int) -> Load:
    """One connection, so many calls. Raises WrongAnswer."""
    return await _run([target], text, lambda made: made < calls)


async def in_sessions(target: Target, text: str, sessions: Sequence[str], turns: int) -> Load:
    """So many turns in each of these sessions, one connection each. Raises WrongAnswer."""
    doors = [replace(target, next_session=partial(str, session)) for session in sessions]
    return await _run(doors, text, lambda made: made < turns)


async def side_by_side(parts: Mapping[str, Callable[[], Awaitable[Load]]], *, times: int, order: random.Random) -> dict[str, Load]:
    """Each part so many times, in an order drawn anew each time: what else the machine does meets all of them alike."""
    loads = {name: Load() for name in parts}
    for _ in range(times):
        for name in order.sample(list(parts), len(parts)):
            loads[name].add(await parts[name]())
    return loads


async def _run(doors: Sequence[Target], text: str, may_call: Callable[[int], bool]) -> Load:
    """One connection for each door; all doors are of one process."""
    load, pid = Load(), doors[0].pid
    began, cpu_before = time.perf_counter(), cpu_seconds(pid)
    async with asyncio.TaskGroup() as group:
        for door in doors:
            group.create_task(_knock(door, text, load, may_call))
    load.elapsed_s = time.perf_counter() - began
    load.cpu_s = cpu_seconds(pid) - cpu_before
    if not load.calls:
        raise WrongAnswer(f"{doors[0].name}: no call was made")
    return load


def cpu_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


async def _knock(target: Target, text: str, load: Load, may_call: Callable[[int], bool]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    try:
        made, session_id = 0, ""
        while may_call(made):
            if made % target.turns_per_session == 0:
                session_id = target.next_session()
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    await _call(target, target.body(session_id, text), reader, writer, load)
            except TimeoutError:
                raise WrongAnswer(f"{target.name} did not answer within {ANSWER_SECONDS:g} s") from None
            made += 1
    finally:
        writer.close()


async def _call(target: Target, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, load: Load) -> None:
    extra = "".join(f"{name}: {value}\r\n" for name, value in target.headers.items())
    head = f"POST {target.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    began = time.perf_counter()
    writer.write(head.encode() + body)
    try:
        status, length = _read_head(await reader.readuntil(b"\r\n\r\n"))
        said, arrivals = await _read_chunks(reader) if length is None else (await reader.readexactly(length), [time.perf_counter()])
    except asyncio.IncompleteReadError as error:
        raise WrongAnswer(f"{target.name} hung up after {error.partial[:300]!r}") from error
    ended = time.perf_counter()
    if status != 200 or target.proof not in said:
        raise WrongAnswer(f"{target.name} answered {status}: {said[:300]!r}")
    load.total_ms.append((ended - began) * 1000)
    load.first_byte_ms.append((arrivals[0] - began) * 1000)
    load.gap_ms.extend((after - before) * 1000 for before, after in itertools.pairwise(arrivals))


def _read_head(head: bytes) -> tuple[int, int | None]:
    """Status and length of the body; None: it comes in chunks."""
    lines = head.lower().split(b"\r\n")
    length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), None)
    return int(lines[0].split(b" ", 2)[1]), length


async def _read_chunks(reader: asyncio.StreamReader) -> tuple[bytes, list[float]]:
    """The body, and when each of its pieces that hold a data line came (the upstream writes an event's name apart)."""
    pieces: list[bytes] = []
    arrivals: list[float] = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        piece = await reader.readexactly(size + 2)
        if b"data: " in piece:
            arrivals.append(time.perf_counter())
        pieces.append(piece[:-2])
    await reader.readexactly(2)
    return b"".join(pieces), arrivals
