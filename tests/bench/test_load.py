"""The load generator against a server that says what the test wants."""

import asyncio
import os
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from bench.load import Load, Target, WrongAnswer, for_calls, in_sessions, side_by_side

pytestmark = pytest.mark.unit

WHOLE = b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"code":"200"}'
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nevent: a\n\r\n9\r\ndata: 1\n\n\r\nd\r\ndata: done!\n\n\r\n0\r\n\r\n"


@asynccontextmanager
async def server(answer: bytes, *, pieces: int = 1) -> AsyncGenerator[Callable[[bytes], Target]]:
    """Says `answer`, cut in so many pieces, to every request; then waits for the next one."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(2)
                size = -(-len(answer) // pieces) if answer else 1
                for start in range(0, len(answer), size):
                    writer.write(answer[start : start + size])
                    await writer.drain()
                    await asyncio.sleep(0)
                if not answer:
                    return
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        yield lambda proof: Target(name="t", port=port, pid=os.getpid(), path="/", body=_body, proof=proof)


def _body(session_id: str, text: str) -> bytes:
    return b"{}"


async def test_every_call_of_a_connection_is_counted_once():
    async with server(WHOLE) as target:
        load = await for_calls(target(b'"code":"200"'), "hello", 25)
    assert load.calls == 25
    assert len(load.first_byte_ms) == 25
    assert load.gap_ms == []


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 50, len(CHUNKED)])
async def test_a_streamed_body_has_a_gap_between_its_data_lines_however_it_is_cut(pieces: int):
    async with server(CHUNKED, pieces=pieces) as target:
        load = await for_calls(target(b"done!"), "hello", 3)
    assert load.calls == 3
    assert len(load.gap_ms) == 3  # two data lines a call: the event's name, written apart, is none


@pytest.mark.parametrize(
    "answer", [WHOLE.replace(b"200 OK", b"500 No"), WHOLE.replace(b"code", b"kode"), b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""]
)
async def test_a_wrong_answer_ends_the_measurement(answer: bytes):
    async with server(answer) as target:
        with pytest.RaisesGroup(WrongAnswer):
            await for_calls(target(b'"code":"200"'), "hello", 3)


async def test_sessions_are_played_for_so_many_turns_each_and_counted_together():
    asked: list[str] = []

    def body(session_id: str, text: str) -> bytes:
        asked.append(session_id)
        return b"{}"

    async with server(WHOLE) as target:
        load = await in_sessions(replace(target(b'"code":"200"'), body=body, turns_per_session=2), "hello", ["a", "b"], 5)
    assert sorted(asked) == ["a"] * 5 + ["b"] * 5
    assert load.calls == 10


async def test_a_target_names_its_sessions_and_how_long_they_last():
    names, asked = iter("abc"), list[str]()

    def body(session_id: str, text: str) -> bytes:
        asked.append(session_id)
        return b"{}"

    async with server(WHOLE) as target:
        door = replace(target(b'"code":"200"'), body=body, turns_per_session=2, next_session=lambda: next(names))
        await for_calls(door, "hello", 5)
    assert asked == ["a", "a", "b", "b", "c"]


async def test_side_by_side_visits_every_part_the_same_number_of_times_and_sums_it_up():
    visited: list[str] = []

    def part(name: str) -> Callable[[], asyncio.Future[Load]]:
        async def visit() -> Load:
            visited.append(name)
            return Load(elapsed_s=1.0, cpu_s=0.5, total_ms=[2.0])

        return lambda: asyncio.ensure_future(visit())

    loads = await side_by_side({"a": part("a"), "b": part("b")}, times=10, order=random.Random(1))
    assert sorted(visited) == ["a"] * 10 + ["b"] * 10
    assert visited != ["a", "b"] * 10
    assert loads["a"].calls == 10
    assert loads["a"].cpu_ms_per_call == 500.0
