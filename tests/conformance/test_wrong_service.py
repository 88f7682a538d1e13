"""A service that breaks one promise at a time: the check for it turns red, and no check that has nothing to do with it."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest
import pytest_asyncio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cli.contract import _is_address, _print
from conformance.caller import Caller, KeyRejected, Mismatch
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
async def calling(house: House, change: Change, drops: str = "", *, core: bool = False) -> AsyncGenerator[Caller]:
    app = Broken(house.app, change, drops=drops)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://wrong") as http:
        yield Caller(http, house.keys["acme"], core=core)


def with_fields(path: str, asked: bytes, told: bytes) -> bytes:
    """Tells fields although nobody asked for them."""
    if path != "/chat" or b'"needFormUpdate":false' not in asked or not told.startswith(b'{"code":"200"'):
        return told
    return told.replace(b'"formUpdate":{}', b'"formUpdate":{"sgyy":"x"}')


def in_one_piece(path: str, asked: bytes, told: bytes) -> bytes:
    """Does not cut for speech: one long piece more."""
    if b'"useTextChunk":true' not in asked:
        return told
    piece = f"event: text_delta\ndata: {json.dumps({'text': '好' * 60})}\n\n".encode()
    return told.replace(b"event: done", piece + b"event: done")


def accepted(code: str, *, where: str, when: bytes = b"") -> Change:
    """Says success where that code was due."""

    def change(path: str, asked: bytes, told: bytes) -> bytes:
        is_meant = path == where and when in asked and f'"code":"{code}"'.encode() in told
        return b'{"code":"200","msg":"success","value":"null"}' if is_meant else told

    return change


def changed_bytes(key: bytes) -> Change:
    """The same answer, spelt otherwise, for a request that holds `key` and is repeated."""
    seen: set[bytes] = set()

    def change(path: str, asked: bytes, told: bytes) -> bytes:
        if key not in asked:
            return told
        is_repeated = asked in seen
        seen.add(asked)
        return told.replace(b"success", b"Success") if is_repeated else told

    return change


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
    "another first stage": (replaced('"nextStageCode":"1001"', '"nextStageCode":"1002"', when="会话开始"), "", {"opening"}),
    "blank texts go on": (accepted("400", where="/chat", when=b'"text":""'), "", {"blank_opening"}),
    "fields nobody asked for": (with_fields, "", {"streamed_without_form"}),
    "pieces too long to speak": (in_one_piece, "", {"pieces_for_speech"}),
    "a version that stands still": (replaced('"stateVersion":5', '"stateVersion":4', when="还在现场"), "", {"versions"}),
    "fields under other values": (replaced('"sgyy":"倒车"', '"sgyy":"追尾"', when="我开的车"), "", {"fields_learnt"}),
    "a photo too far": (replaced('"2002"', '"2003"', when="拍摄完成"), "", {"photo_steps"}),
    "what has ended goes on": (replaced('"0001"', '"1002"', when="你好"), "", {"finished_stays"}),
    "unknown fields are taken": (accepted("400", where="/set_info", when=b"nosuchfield"), "", {"unknown_field"}),
    "wrong values are taken": (accepted("400", where="/set_info", when=b"sfzmhm1"), "", {"wrong_value"}),
    "broken bodies are taken": (accepted("400", where="/chat", when=b"[]"), "", {"broken_body"}),
    "a session id is not needed": (accepted("400", where="/chat", when=b'{"text":'), "", {"wrong_body"}),
    "any key will do": (accepted("401", where="/chat"), "", {"wrong_key"}),
    "a retry in other words": (changed_bytes(b'"eventId"'), "", {"event_retry"}),
    "the same value counts": (replaced('"stateVersion":3', '"stateVersion":4', when="准备好了"), "", {"same_value"}),
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
    assert (red - {"photo_steps"} if drops else red) == expected
    assert all(result.expected and house.keys["acme"] not in result.expected + result.seen for result in results if not result.has_passed)


@pytest.mark.asyncio(loop_scope="module")
async def test_what_crossfade_adds_can_be_left_out(house: House):
    """As the service of before may be: no versions, and an error is an error whatever its code."""

    def before(path: str, asked: bytes, told: bytes) -> bytes:
        told = re.sub(rb',"stateVersion":\d+', b"", told)
        return told if b'"code":"200"' in told else re.sub(rb'"code":"(400|404|409)"', b'"code":"500"', told)

    async with calling(house, before, core=True) as caller:
        results = [result async for result in run_checks(caller)]
    assert {result.check.name for result in results} == {check.name for check in CHECKS if not check.is_ours}
    assert [result.check.name for result in results if not result.has_passed] == []


def test_every_check_has_a_break_that_turns_it_red():
    assert {name for _, _, red in BREAKS.values() for name in red} == {check.name for check in CHECKS}


def answering(body: bytes, status: int = 200, kind: bytes = b"application/json") -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": body})

    return app


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    for _ in range(64):
        await send({"type": "http.response.body", "body": b" " * 65536, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


SECRET = "cfk_secret_secret_secret"
ODD: dict[str, ASGIApp] = {
    "markup": answering(b'{"code":"[/red]","msg":"[bold"}'),
    "a number for an object": answering(b'{"code":"200","msg":"success","value":"5","nextStageCode":1,"formUpdate":7}'),
    "null for everything": answering(b'{"code":null,"msg":null,"value":null,"outputText":null,"nextStageCode":null}'),
    "a list": answering(b"[1,2]"),
    "nothing": answering(b""),
    "no text": answering(b"\xff\xfe", kind=b"text/event-stream"),
    "an event without data": answering(b"event: done\n\n", kind=b"text/event-stream"),
    "a page": answering(b"<html>login</html>", status=502, kind=b"text/html"),
    "the key said back": answering(f'{{"code":"{SECRET}","msg":"{SECRET}","value":"{SECRET}"}}'.encode()),
    "the key behind much else": answering(f'{{"code":"{"x" * 100}{SECRET}","msg":"m"}}'.encode()),
    "no end": endless,
}


@pytest.mark.parametrize("odd", ODD)
async def test_a_service_may_say_anything_and_the_kit_says_what_is_wrong(odd: str, capsys: pytest.CaptureFixture[str]):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=ODD[odd]), base_url="http://odd") as http:
        results = [result async for result in run_checks(Caller(http, SECRET))]
    assert len(results) == len(CHECKS)
    assert not all(result.has_passed for result in results)
    _print(results)
    shown = capsys.readouterr().out + repr([(result.expected, result.seen) for result in results])
    assert SECRET[:12] not in shown


@pytest.mark.parametrize("body, status", [(b'{"code":"401","msg":"no"}', 200), (b'{"code":"x"}', 401), (b'{"code":"x"}', 403)])
async def test_a_key_that_is_not_accepted_ends_the_run(body: bytes, status: int):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=answering(body, status)), base_url="http://odd") as http:
        with pytest.raises(KeyRejected):
            await anext(run_checks(Caller(http, SECRET)))


async def test_a_service_that_never_answers_is_bounded():
    async def silent(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=silent), base_url="http://odd", timeout=None) as http:
        with pytest.raises(Mismatch) as told:
            await Caller(http, SECRET, seconds=0.05).chat("s", "你好")
    assert told.value.seen == "none"


@pytest.mark.parametrize(
    ("url", "is_one"),
    [("http://a:8000", True), ("https://a.b/x", True), ("nonsense", False), ("ftp://a", False), ("http://", False), ("http://[bad", False)],
)
def test_an_address_is_judged_before_anything_is_sent(url, is_one):
    assert _is_address(url) is is_one
