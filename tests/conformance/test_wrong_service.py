"""A service that breaks one promise at a time: the check for it turns red, and no check that has nothing to do with it."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest
import pytest_asyncio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conformance.caller import Caller
from conformance.checks import CHECKS, run_checks
from domain.backend_name import BackendName
from tests.fakes.both_sides import both_backends, upstreams
from tests.fakes.house import House, open_house
from wiring.clock import SystemClock
from wiring.database import Database

pytestmark = [pytest.mark.contract, pytest.mark.integration]

Change = Callable[[str, bytes, bytes], bytes]


class Broken:
    """The real service behind a wire that changes what it says. `change(path, asked, told)`: bodies whole."""

    def __init__(self, app: ASGIApp, change: Change, *, drops: str = "") -> None:
        self._app, self._change, self._drops = app, change, drops.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked, told, start = bytearray(), bytearray(), dict[str, Message]()
        if self._drops:
            scope = {**scope, "headers": [row for row in scope["headers"] if row[0] != self._drops]}

        async def hear() -> Message:
            message = await receive()
            asked.extend(message.get("body", b""))
            return message

        async def say(message: Message) -> None:
            if message["type"] == "http.response.start":
                start["start"] = message
                return
            told.extend(message.get("body", b""))
            if not message.get("more_body"):
                body = self._change(scope["path"], bytes(asked), bytes(told))
                headers = [row for row in start["start"]["headers"] if row[0] != b"content-length"]
                await send({**start["start"], "headers": headers})
                await send({"type": "http.response.body", "body": body})

        await self._app(scope, hear, say)


def said(asked: bytes) -> str:
    try:
        return str(json.loads(asked).get("text"))
    except (ValueError, AttributeError):
        return ""


def replaced(old: str, new: str, *, where: str = "/chat", when: str = "") -> Change:
    def change(path: str, asked: bytes, told: bytes) -> bytes:
        return told.replace(old.encode(), new.encode()) if path == where and when in said(asked) else told

    return change


def as_is(path: str, asked: bytes, told: bytes) -> bytes:
    return told


def reordered(path: str, asked: bytes, told: bytes) -> bytes:
    if path != "/chat" or not told.startswith(b'{"code":"200"'):
        return told
    row = json.loads(told)
    return json.dumps({"msg": row.pop("msg"), **row}, ensure_ascii=False).encode()


def said_twice(path: str, asked: bytes, told: bytes) -> bytes:
    at = told.find(b"event: done")
    return told + told[at:] if at >= 0 and "准备好了，没有" in said(asked) else told


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def house(database: Database) -> AsyncGenerator[House]:
    async with (
        upstreams() as up,
        both_backends(database, up) as backends,
        open_house(database, backends, SystemClock(), default=BackendName.LANGGRAPH, shadow_enabled=False) as opened,
    ):
        yield opened


@asynccontextmanager
async def calling(house: House, change: Change, drops: str = "") -> AsyncGenerator[Caller]:
    app = Broken(house.app, change, drops=drops)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://wrong") as http:
        yield Caller(http, house.keys["acme"])


BREAKS: dict[str, tuple[Change, str, set[str]]] = {
    "keys in another order": (reordered, "", {"whole_answer"}),
    "a message of its own": (replaced('"msg":"success","sessionId"', '"msg":"ok","sessionId"'), "", {"whole_answer"}),
    "two ends": (said_twice, "", {"streamed_answer"}),
    "another stage for somebody hurt": (replaced('"0003"', '"0002"', when="昏迷"), "", {"injury"}),
    "another stage for a person": (replaced('"0001"', '"0002"', when="太麻烦了"), "", {"person_wanted"}),
    "silence is borne": (replaced('"0004"', '"1001"'), "", {"silence"}),
    "plates as they were said": (replaced("京A12345", "京a 12345", where="/get_info"), "", {"written_field"}),
    "no message with an error": (replaced("会话不存在", "", where="/set_info"), "", {"unknown_session"}),
    "another code for a key used twice": (replaced('"409"', '"500"', when="没有人受伤"), "", {"keyed_conflict", "event_retry"}),
    "keys are not heard of": (as_is, "idempotency-key", {"keyed_retry", "keyed_conflict"}),
    "groups in another order": (replaced(r"{\"acdinfo\"", r"{\"x\":1,\"acdinfo\"", where="/get_info"), "", {"read_groups"}),
}


@pytest.mark.asyncio(loop_scope="module")
async def test_the_service_as_it_is_keeps_every_promise(house: House):
    async with calling(house, as_is) as caller:
        assert [result.check.name async for result in run_checks(caller) if not result.has_passed] == []


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("broken", BREAKS)
async def test_each_break_turns_its_own_check_red(house: House, broken: str):
    change, drops, expected = BREAKS[broken]
    async with calling(house, change, drops) as caller:
        results = [result async for result in run_checks(caller)]
    red = {result.check.name for result in results if not result.has_passed}
    # Without keys two photos within a second are one: the wire asks partners to name them.
    assert red - {"photo_steps"} == expected
    assert all(result.expected and house.keys["acme"] not in result.expected + result.seen for result in results if not result.has_passed)


@pytest.mark.asyncio(loop_scope="module")
async def test_what_crossfade_adds_can_be_left_out(house: House):
    async with calling(house, as_is) as caller:
        names = {result.check.name async for result in run_checks(caller, with_ours=False)}
    assert names == {check.name for check in CHECKS if not check.is_ours}
