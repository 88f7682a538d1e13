"""Partners at a door that is played by this test: what they send, when they stop, what they report."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from sim.traffic.partner import CallReport
from sim.traffic.playing import Play, Tally, play
from sim.traffic.scenario import Say, Scenario, SetInfo

pytestmark = pytest.mark.unit

TALK = Scenario(name="talk", weight=1, steps=(Say("一"), SetInfo("jdcsl", "2"), Say("二"), Say("三")))
STAGES = {"一": "1002", "二": "0001"}


@dataclass(slots=True)
class Door:
    """Answers like the proxy; `broken` says which text is answered how instead."""

    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list[tuple[str, str, dict[str, Any]]])
    broken: dict[str, Callable[[], web.Response]] = field(default_factory=dict[str, Callable[[], web.Response]])

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.calls.append((request.path, request.headers["X-API-Key"], body))
        if request.path != "/chat":
            return web.json_response({"code": "200", "msg": "success"})
        if (broken := self.broken.get(body["text"])) is not None:
            return broken()
        stage = {"nextStageCode": STAGES[body["text"]], "nextStageName": "x"}
        if request.query.get("stream") != "true":
            return web.json_response({"code": "200", "outputText": "x"} | stage)
        events = [("stage_code", stage), ("text_delta", {"text": "x"}), ("done", {"code": "200"})]
        text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
        return web.Response(text=text, content_type="text/event-stream")


@pytest.fixture
async def door() -> AsyncIterator[tuple[Door, str]]:
    opened = Door()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", opened.handle)
    server = TestServer(app)
    await server.start_server()
    yield opened, str(server.make_url("/"))
    await server.close()


async def played(base_url: str, *, stream_share: float = 0.0, sessions: int = 1) -> tuple[Tally, list[CallReport]]:
    reports: list[CallReport] = []
    plan = Play(base_url=base_url, callers=[("a", "key-a"), ("b", "key-b")], scenarios=[TALK], sessions=sessions, stream_share=stream_share)
    return await play(plan, reports.append), reports


@pytest.mark.parametrize("stream_share", [0.0, 1.0])
async def test_a_conversation_stops_at_a_terminal_stage_and_reads_its_fields(door: tuple[Door, str], stream_share: float):
    opened, url = door
    tally, reports = await played(url, stream_share=stream_share)
    assert [path for path, _, _ in opened.calls] == ["/chat", "/set_info", "/chat", "/get_info"]
    assert [report.stage for report in reports] == ["1002", "", "0001", ""]
    assert tally.is_clean
    assert tally.summary() == {"done": True, "turns": 4, "answered": 4, "errors": []}


async def test_partners_take_turns_with_their_own_keys_and_sessions(door: tuple[Door, str]):
    opened, url = door
    await played(url, sessions=4)
    assert {key for _, key, _ in opened.calls} == {"key-a", "key-b"}
    assert len({body["sessionId"] for _, _, body in opened.calls}) == 4


async def test_two_runs_never_share_a_session(door: tuple[Door, str]):
    opened, url = door
    await played(url)
    await played(url)
    assert len({body["sessionId"] for _, _, body in opened.calls}) == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda: web.json_response({"code": "500", "msg": "x"}), "code_500"),
        (lambda: web.Response(text="<html>", status=504), "http_504_not_json"),
        (lambda: web.json_response([]), "http_200_not_object"),
        (lambda: web.json_response({}), "code_missing"),
        (lambda: web.Response(text="event: done\ndata: nonsense\n\n", content_type="text/event-stream"), "sse_payload_not_json"),
        (lambda: web.Response(text="", content_type="text/event-stream"), "sse_empty"),
    ],
)
async def test_a_bad_answer_ends_the_conversation_and_the_run_is_not_clean(door: tuple[Door, str], answer: Any, error: str):
    opened, url = door
    opened.broken["二"] = answer
    tally, reports = await played(url, stream_share=1.0)
    assert reports[2].error == error
    assert not reports[2].ok
    assert not tally.is_clean
    assert tally.summary()["errors"] == [f"chat:{error} x1"]


async def test_a_report_names_the_call_and_never_the_text(door: tuple[Door, str]):
    _, url = door
    _, reports = await played(url)
    line = json.loads(reports[0].line())
    assert list(line) == ["session", "caller", "call", "turn", "stream", "ok", "code", "stage", "ms", "error"]
    assert "一" not in reports[0].line()
    assert "key-a" not in reports[0].line()


def test_a_run_without_any_turn_is_not_clean():
    assert not Tally().is_clean
