"""A lost answer is read back when the server proves that it stored all of it, and stays lost otherwise."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
import respx

from backends.fastgpt.chats import ChatRecord
from backends.fastgpt.recovery import may_be_stored, waits_for, whole_answer
from domain.errors import BackendFailure, FailureKind
from domain.outcome import Failed, Replied, TextPiece
from domain.session import SessionState
from tests.backends.fastgpt.test_backend import BODY, Played, answer, events_of, http, make_backend, upstream

pytestmark = pytest.mark.unit
__all__ = ["http", "make_backend", "upstream"]  # fixtures of the same room

K = FailureKind
WHOLE = "<state>1002</state>请问时间？"
SPOKEN = {"moduleType": "chatNode", "nodeId": "n1", "finishReason": "stop", "model": "m", "historyPreview": [{}]}
READ = {"moduleType": "contentExtract", "nodeId": "n0", "model": "m", "extractResult": {"accidentType": "追尾"}}


def record(text: str, data_id: str = "turn-1", side: Any = "AI") -> ChatRecord:
    return ChatRecord(data_id=data_id, side=side, text=text, at=datetime(2026, 7, 27, tzinfo=UTC))


@pytest.mark.parametrize(
    ("failure", "looks"),
    [
        ((K.INTERRUPTED, "ReadError"), 1),
        ((K.INTERRUPTED, "no_stop"), 1),
        ((K.TIMEOUT, "idle"), 4),
        ((K.TIMEOUT, "first_byte"), 4),
        ((K.REFUSED, "http_504"), 4),
        ((K.REFUSED, "chatIsGenerating"), 4),
        ((K.UNREACHABLE, "ConnectError"), 0),
        ((K.CONFIGURATION, "unAuthApiKey"), 0),
        ((K.REFUSED, "unnamed"), 0),
        ((K.NODE_FAILED, ""), 0),
        ((K.EMPTY, ""), 0),
    ],
)
def test_only_what_the_server_may_have_answered_is_looked_for(failure, looks):
    told = BackendFailure(kind=failure[0], note=failure[1])
    assert may_be_stored(told) is (looks > 0)
    if looks:
        assert len(waits_for(told)) == looks


@pytest.mark.parametrize(
    ("records", "details", "is_whole"),
    [
        ([record("问", side="Human"), record(WHOLE)], [READ, SPOKEN], True),
        ([record(WHOLE)], [READ], True),  # a fixed reply: no model spoke, so none was cut
        ([record("<state>1002</sta")], [READ, SPOKEN | {"finishReason": "close"}], False),
        ([record(WHOLE)], [READ, SPOKEN | {"finishReason": "length"}], False),
        ([record(WHOLE)], [READ, {key: value for key, value in SPOKEN.items() if key != "finishReason"}], False),  # the oldest release
        ([record(WHOLE)], [], False),
        ([record(WHOLE, data_id="another")], [SPOKEN], False),
        ([record(WHOLE, side="Human")], [SPOKEN], False),
        ([record("")], [SPOKEN], False),
        ([], [SPOKEN], False),
    ],
)
def test_a_stored_text_counts_with_proof_that_nothing_was_cut(records, details, is_whole):
    stored = whole_answer("turn-1", records, details)
    assert (stored is not None) is is_whole
    if stored:
        assert (stored.text, stored.records) == (WHOLE, details)


def _stores(upstream: respx.Router, text: str, details: list[dict[str, Any]]) -> None:
    upstream.routes.clear()
    rows = [{"dataId": "turn-1", "obj": "AI", "value": [{"type": "text", "text": {"content": text}}], "time": "2026-07-27T07:30:00Z"}]
    upstream.post(path__regex="getPaginationRecords").mock(httpx.Response(200, json={"code": 200, "data": {"list": rows, "total": 1}}))
    upstream.get(path__regex="getResData").mock(httpx.Response(200, json={"code": 200, "data": details}))
    header = {"code": 200, "data": {"title": "t", "variables": {"plateNo": "京A12345", "injured": "无"}}}
    upstream.get("/api/core/chat/init").mock(httpx.Response(200, json=header))


@pytest.mark.parametrize(
    "cut", [0, 30, BODY.index(b"1002") + 2, BODY.index(json.dumps("时间")[1:-1].encode()) + 3, BODY.index(b'"stop"') - 30]
)
async def test_what_was_already_told_is_not_told_again(
    cut: int, upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    _stores(upstream, WHOLE, [READ, SPOKEN])
    broken = Played(BODY[:cut], httpx.ReadError("gone"))
    upstream.post("/api/v1/chat/completions").mock(httpx.Response(200, stream=broken))
    *events, end = await events_of(make_backend(), make_turn(), session)
    assert isinstance(end, Replied)
    assert "".join(event.text for event in events if isinstance(event, TextPiece)) == "请问时间？"
    assert end.outcome.reply is not None
    assert (end.outcome.reply.text, end.after.form["hphm1"], end.after.form["ywrysw"]) == ("请问时间？", "京A12345", False)
    assert "read_back" in end.outcome.violations
    sent = [call for call in upstream.calls if call.request.url.path.endswith("completions")]
    assert len(sent) == 1  # never asked twice
    assert json.loads(sent[0].request.content)["responseChatItemId"] == "turn-1"


@pytest.mark.parametrize("status", [500, 502, 504])
async def test_a_gateway_that_gave_up_does_not_cost_the_answer(
    status: int, upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    _stores(upstream, WHOLE, [READ, SPOKEN])
    upstream.post("/api/v1/chat/completions").mock(httpx.Response(status, html="<html>gateway</html>"))
    end = (await events_of(make_backend(), make_turn(), session))[-1]
    assert isinstance(end, Replied)
    assert end.after.form["sgyy"] == "追尾"


@pytest.mark.parametrize(
    ("text", "details"),
    [("<state>1002</sta", [SPOKEN | {"finishReason": "close"}]), (WHOLE, []), ("<state>1002</state>别的话", [SPOKEN])],
)
async def test_a_part_or_another_answer_stays_a_failed_turn(
    text: str,
    details: list[dict[str, Any]],
    upstream: respx.Router,
    make_backend: Callable[..., Any],
    make_turn: Callable[..., Any],
    session: SessionState,
) -> None:
    _stores(upstream, text, details)
    broken = Played(answer("<state>1002</state>") + answer("请问"), httpx.ReadError("gone"))
    upstream.post("/api/v1/chat/completions").mock(httpx.Response(200, stream=broken))
    end = (await events_of(make_backend(), make_turn(), session))[-1]
    assert isinstance(end, Failed)


async def test_without_an_app_id_nothing_is_looked_for(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    upstream.routes.clear()
    upstream.post("/api/v1/chat/completions").mock(httpx.Response(504, html="<html></html>"))
    end = (await events_of(make_backend(app_id=None), make_turn(), session))[-1]
    assert isinstance(end, Failed)
    assert len(upstream.calls) == 1


async def test_a_shadow_turn_is_not_read_back(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    _stores(upstream, WHOLE, [SPOKEN])
    upstream.post("/api/v1/chat/completions").mock(httpx.Response(504, html="<html></html>"))
    upstream.delete("/api/core/chat/delHistory").mock(httpx.Response(200, json={"code": 200, "data": None}))
    backend = make_backend("shadow")
    assert isinstance((await events_of(backend, make_turn(), session))[-1], Failed)
    await backend.aclose()
    assert not [call for call in upstream.calls if "Records" in call.request.url.path]
