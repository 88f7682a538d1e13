"""One turn through the whole backend over a played upstream: events, outcome, errors, time limits, shadow chats."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
import respx
from structlog.testing import capture_logs

from backends.fastgpt.backend import FastGptBackend
from domain.backend_name import BackendName
from domain.errors import BackendFailure, FailureKind
from domain.handoff_reason import HandoffReason
from domain.outcome import Failed, FormChanged, Receipt, Replied, StageDecided, TextPiece
from domain.session import Message, SessionState
from domain.stages import StageCode
from domain.turn import NoResponse, SetInfo

pytestmark = pytest.mark.unit

URL = "http://fastgpt.test/api/v1/chat/completions"
DELETE_URL = "http://fastgpt.test/api/core/chat/delHistory"
INIT_URL = "http://fastgpt.test/api/core/chat/init"
DELETED = {"code": 200, "statusText": "", "message": "", "data": None}


def answer(text: str, name: str = "answer") -> bytes:
    return f"event: {name}\ndata: {json.dumps({'choices': [{'delta': {'content': text}}]})}\n\n".encode()


VARIABLES = 'event: updateVariables\ndata: {"plateNo":"京A12345","injured":"无"}\n\n'.encode()
STOP = b'event: answer\ndata: {"choices":[{"delta":{"content":null},"finish_reason":"stop"}]}\n\n'
BODY = VARIABLES + answer("<state>1002</state>") + answer("请问") + answer("时间？") + STOP + b"event: answer\ndata: [DONE]\n\n"


class Played(httpx.AsyncByteStream):
    """Pieces of a body; a float is a pause in seconds, an exception breaks the connection."""

    def __init__(self, *pieces: bytes | float | Exception) -> None:
        self.pieces = pieces
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, bytes):
                yield piece
            else:
                await asyncio.sleep(piece)

    async def aclose(self) -> None:
        self.is_closed = True


class StandingClock:
    """Every look at it is one millisecond later."""

    def __init__(self) -> None:
        self.ms = 0.0

    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC)

    def monotonic_ms(self) -> float:
        self.ms += 1
        return self.ms


@pytest.fixture
def upstream() -> respx.Router:
    router = respx.Router(assert_all_called=False, assert_all_mocked=True)
    router.route(path__regex="getPaginationRecords|getResData").mock(httpx.Response(404, html="<html>404</html>"))  # nothing is stored
    return router


@pytest.fixture
async def http(upstream: respx.Router) -> AsyncIterator[httpx.AsyncBaseTransport]:
    async with httpx.MockTransport(upstream.async_handler) as client:
        yield client


@pytest.fixture
def make_backend(http: httpx.AsyncBaseTransport, make_config: Callable[..., Any]) -> Callable[..., FastGptBackend]:
    def make(namespace: Any = "live", **changes: Any) -> FastGptBackend:
        fresh = iter(f"fresh{number}" for number in range(9))
        return FastGptBackend(make_config(**changes), http, StandingClock(), namespace=namespace, new_id=lambda: next(fresh))

    return make


async def events_of(backend: FastGptBackend, turn: Any, session: SessionState) -> list[Any]:
    return [event async for event in backend.reply(turn, session)]


async def failure_of(backend: FastGptBackend, turn: Any, session: SessionState) -> BackendFailure:
    last = (await events_of(backend, turn, session))[-1]
    assert isinstance(last, Failed)
    assert last.outcome.failure is not None
    return last.outcome.failure


async def test_a_turn_is_answered_event_by_event(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    upstream.post(URL).respond(200, content=BODY)
    backend = make_backend(build="fastgpt-4.11.1")
    *parts, last = await events_of(backend, make_turn(), session)
    patch = {"ywrysw": False, "hphm1": "京A12345"}
    assert parts == [StageDecided(StageCode.COLLECTING), FormChanged(patch), TextPiece("请问"), TextPiece("时间？")]
    assert isinstance(last, Replied)
    outcome = last.outcome
    assert outcome.reply is not None
    assert (outcome.reply.stage, outcome.reply.text, outcome.reply.patch) == ("1002", "请问时间？", patch)
    assert outcome.receipt is not None
    assert outcome.receipt.memory is not None
    assert outcome.receipt == Receipt(backend=BackendName.FASTGPT, build="fastgpt-4.11.1", turn_id="turn-1", memory=outcome.receipt.memory)
    assert outcome.first_text_ms is not None
    assert 0 < outcome.first_text_ms < outcome.total_ms
    assert last.after.form == patch
    assert last.after.stage is StageCode.COLLECTING


async def test_a_field_told_too_late_for_the_reply_is_in_the_form_afterwards(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    late = 'event: flowResponses\ndata: [{"extractResult":{"accidentType":"追尾"}}]\n\n'
    upstream.post(URL).respond(200, content=BODY + late.encode())
    last = (await events_of(make_backend(), make_turn(), session))[-1]
    assert isinstance(last, Replied)
    assert last.outcome.reply is not None
    assert "sgyy" not in last.outcome.reply.patch
    assert last.after.form["sgyy"] == "追尾"
    assert last.outcome.violations == ("late_field:sgyy",)


async def test_the_request_is_what_a_fastgpt_expects(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    route = upstream.post("http://fastgpt.test/api/v2/chat/completions").respond(200, content=BODY)
    await events_of(make_backend(api="v2"), make_turn(), session)
    sent = route.calls.last.request
    assert sent.headers["authorization"] == "Bearer fastgpt-made-up-key"
    assert sent.headers["accept-encoding"] == "identity"
    assert "if-none-match" not in sent.headers
    body = json.loads(sent.content)
    assert (body["stream"], body["detail"], body["responseChatItemId"]) == (True, True, "turn-1")


async def test_text_is_given_out_while_the_upstream_still_writes(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    gate = asyncio.Event()

    class Gated(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield answer("<state>1002</state>一")
            await gate.wait()
            yield answer("二") + STOP

    upstream.post(URL).mock(return_value=httpx.Response(200, stream=Gated()))
    events = make_backend().reply(make_turn(), session)
    assert await anext(events) == StageDecided(StageCode.COLLECTING)
    assert await anext(events) == TextPiece("一")
    gate.set()
    assert await anext(events) == TextPiece("二")
    assert isinstance(await anext(events), Replied)
    assert [event async for event in events] == []


async def test_the_state_afterwards_follows_the_event_and_the_stage(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    upstream.post(URL).respond(200, content=answer("<state>1002</state>您好？") + STOP)
    *_, last = await events_of(make_backend(), make_turn("【用户无回复】", event=NoResponse()), session)
    assert last.after.dialogue.no_response_count == 1
    upstream.post(URL).respond(200, content=answer("<state>0001</state>为您转人工") + STOP)
    *_, last = await events_of(make_backend(), make_turn("转人工"), session)
    assert last.outcome.reply.handoff_reason is HandoffReason.EXPLICIT_REQUEST
    assert last.after.dialogue.handoff_reason is HandoffReason.EXPLICIT_REQUEST


async def test_a_written_field_never_goes_upstream(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    route = upstream.post(URL)
    events = await events_of(make_backend(), make_turn("", event=SetInfo("jdcsl", "2")), session)
    assert events[:2] == [StageDecided(StageCode.COLLECTING), FormChanged({"jdcsl": 2})]
    last = events[-1]
    assert isinstance(last, Replied)
    assert last.outcome.reply is not None
    assert (last.outcome.reply.text, last.outcome.reply.patch, last.after.form) == ("", {"jdcsl": 2}, {"jdcsl": 2})
    assert not route.called


async def test_a_written_field_that_changes_nothing_tells_no_change(
    make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    known = replace(session, form={"jdcsl": 2}, stage=None)
    events = await events_of(make_backend(), make_turn("", event=SetInfo("jdcsl", 2)), known)
    assert [type(event) for event in events] == [StageDecided, Replied]
    assert events[0] == StageDecided(StageCode.NOT_READY)


@pytest.mark.parametrize("event", [SetInfo("jdcsl", "many"), SetInfo("nobody", 1)])
async def test_a_field_the_door_should_have_refused_fails_inside(
    event: SetInfo, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    assert (await failure_of(make_backend(), make_turn("", event=event), session)).kind is FailureKind.INTERNAL


@pytest.mark.parametrize(
    "reply, kind, note",
    [
        (httpx.Response(500, json={"code": 514, "statusText": "unAuthApiKey", "message": "x"}), FailureKind.CONFIGURATION, "unAuthApiKey"),
        (httpx.Response(200, json={"code": 500, "statusText": "", "message": "x"}), FailureKind.REFUSED, "unnamed"),
        (httpx.Response(504, html="<html>504</html>"), FailureKind.REFUSED, "http_504"),
        (httpx.Response(302, headers={"location": "http://fastgpt.test/login"}), FailureKind.CONFIGURATION, "http_302"),
        (httpx.Response(304), FailureKind.MALFORMED, "http_304"),
        (httpx.Response(200, content=b'event: error\ndata: {"message":"boom"}\n\n'), FailureKind.REFUSED, "unnamed"),
        (httpx.Response(200, content=answer("<state>1002</state>好")), FailureKind.INTERRUPTED, "no_stop"),
        (httpx.Response(200, content=answer("<state>1002</state>") + STOP), FailureKind.EMPTY, ""),
    ],
)
async def test_an_upstream_error_is_a_failed_turn_and_never_an_exception(
    reply: httpx.Response,
    kind: FailureKind,
    note: str,
    upstream: respx.Router,
    make_backend: Callable[..., Any],
    make_turn: Callable[..., Any],
    session: SessionState,
) -> None:
    route = upstream.post(URL).mock(return_value=reply)
    assert await failure_of(make_backend(), make_turn(), session) == BackendFailure(kind=kind, note=note)
    assert route.call_count == 1


@pytest.mark.parametrize(
    "error, kind",
    [
        (httpx.ConnectError("x"), FailureKind.UNREACHABLE),
        (httpx.ConnectTimeout("x"), FailureKind.UNREACHABLE),
        (httpx.PoolTimeout("x"), FailureKind.UNREACHABLE),
        (httpx.ReadTimeout("x"), FailureKind.TIMEOUT),
        (httpx.WriteError("x"), FailureKind.INTERRUPTED),
        (httpx.RemoteProtocolError("x"), FailureKind.INTERRUPTED),
        (httpx.UnsupportedProtocol("x"), FailureKind.CONFIGURATION),
        (RuntimeError("x"), FailureKind.INTERNAL),
    ],
)
async def test_a_call_that_gets_no_response_is_sent_once_and_fails(
    error: Exception,
    kind: FailureKind,
    upstream: respx.Router,
    make_backend: Callable[..., Any],
    make_turn: Callable[..., Any],
    session: SessionState,
) -> None:
    route = upstream.post(URL).mock(side_effect=error)
    assert (await failure_of(make_backend(), make_turn(), session)).kind is kind
    assert route.call_count == 1


@pytest.mark.parametrize(
    "pieces, limits, note",
    [
        ((0.2, BODY), {"first_byte_s": 0.02}, "first_byte"),
        ((answer("<state>1002</state>好"), 0.2, STOP), {"idle_s": 0.02}, "idle"),
        ((answer("<state>1002</state>好"), 0.2, STOP), {"total_s": 0.03}, "total"),
        ((0.2, BODY), {"total_s": 0.02}, "total"),
    ],
)
async def test_a_silence_ends_the_turn_at_the_limit_that_ran_out(
    pieces: Any,
    limits: dict[str, float],
    note: str,
    upstream: respx.Router,
    make_backend: Callable[..., Any],
    make_turn: Callable[..., Any],
    session: SessionState,
) -> None:
    body = Played(*pieces)
    upstream.post(URL).mock(return_value=httpx.Response(200, stream=body))
    failure = await failure_of(make_backend(**limits), make_turn(), session)
    assert failure == BackendFailure(kind=FailureKind.TIMEOUT, note=note)
    assert body.is_closed


async def test_heartbeats_keep_a_slow_turn_alive(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    beats = [piece for _ in range(4) for piece in (answer(""), 0.02)]
    upstream.post(URL).mock(return_value=httpx.Response(200, stream=Played(*beats, BODY)))
    *_, last = await events_of(make_backend(idle_s=0.2), make_turn(), session)
    assert isinstance(last, Replied)


@pytest.mark.parametrize(
    "ending, kind",
    [
        (httpx.ReadError("x"), FailureKind.INTERRUPTED),
        (httpx.DecodingError("x"), FailureKind.MALFORMED),
        (httpx.ReadTimeout("x"), FailureKind.TIMEOUT),
        (httpx.RemoteProtocolError("x"), FailureKind.INTERRUPTED),
    ],
)
async def test_a_connection_that_breaks_before_the_stop_fails_the_turn(
    ending: Exception,
    kind: FailureKind,
    upstream: respx.Router,
    make_backend: Callable[..., Any],
    make_turn: Callable[..., Any],
    session: SessionState,
) -> None:
    upstream.post(URL).mock(return_value=httpx.Response(200, stream=Played(answer("<state>1002</state>好"), ending)))
    assert (await failure_of(make_backend(), make_turn(), session)).kind is kind


@pytest.mark.parametrize("ending", [httpx.ReadError("x"), 0.2])
async def test_after_the_stop_a_lost_or_silent_connection_does_not_cost_the_answer(
    ending: Any, upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    upstream.post(URL).mock(return_value=httpx.Response(200, stream=Played(BODY, ending, b"event: x\n")))
    *_, last = await events_of(make_backend(tail_s=0.02), make_turn(), session)
    assert isinstance(last, Replied)
    assert last.outcome.violations == ("tail_lost",)


async def test_leaving_in_the_middle_closes_the_connection(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    body = Played(answer("<state>1002</state>一"), 0.2, STOP)
    upstream.post(URL).mock(return_value=httpx.Response(200, stream=body))
    events: Any = make_backend().reply(make_turn(), session)
    await anext(events)
    await events.aclose()
    assert body.is_closed


async def test_cancelling_in_the_middle_closes_the_connection_and_stays_a_cancellation(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    reached = asyncio.Event()
    body = Played(answer("<state>1002</state>一"), 0.2, STOP)
    upstream.post(URL).mock(return_value=httpx.Response(200, stream=body))

    async def consume() -> None:
        async for _ in make_backend().reply(make_turn(), session):
            reached.set()

    task = asyncio.create_task(consume())
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert body.is_closed


async def test_no_log_line_holds_the_callers_words(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    upstream.post(URL).mock(side_effect=RuntimeError("京A12345"))
    with capture_logs() as logs:
        await events_of(make_backend(), make_turn("我的车牌是京A12345"), session)
    assert [line["event"] for line in logs] == ["fastgpt_reply_crashed"]
    assert "京A12345" not in str(logs)


async def test_a_shadow_turn_runs_in_a_fresh_seeded_chat_that_is_deleted_afterwards(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    call, deletion = upstream.post(URL).respond(200, content=BODY), upstream.delete(DELETE_URL).respond(200, json=DELETED)
    backend = make_backend("shadow")
    lived = replace(session, form={"hphm1": "京A12345"}, transcript=(Message("user", "我追尾了"), Message("assistant", "车牌？")))
    for _ in range(2):
        *_, last = await events_of(backend, make_turn(), lived)
        assert isinstance(last, Replied)
    await backend.aclose()
    bodies = [json.loads(one.request.content) for one in call.calls]
    assert [body["chatId"] for body in bodies] == ["cf-shadow-fresh0", "cf-shadow-fresh1"]
    assert bodies[0]["variables"] == {"plateNo": "京A12345", "stage_code": "1002", "now": "2026-07-27 15:30:00"}
    assert [message["content"] for message in bodies[0]["messages"]] == ["我追尾了", "车牌？", "车牌京A12345"]
    gone = [dict(one.request.url.params) for one in deletion.calls]
    assert gone == [{"chatId": "cf-shadow-fresh0", "appId": "app-1"}, {"chatId": "cf-shadow-fresh1", "appId": "app-1"}]


async def test_the_reply_of_a_shadow_turn_does_not_wait_for_the_deletion(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    gate = asyncio.Event()

    async def delete(request: httpx.Request) -> httpx.Response:
        await gate.wait()
        return httpx.Response(200, json=DELETED)

    upstream.post(URL).respond(200, content=BODY)
    deletion = upstream.delete(DELETE_URL).mock(side_effect=delete)
    backend = make_backend("shadow")
    *_, last = await events_of(backend, make_turn(), session)
    assert isinstance(last, Replied)
    assert not deletion.called
    gate.set()
    await backend.aclose()
    assert deletion.called


async def test_a_failed_or_abandoned_shadow_turn_leaves_no_chat_behind_either(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    deletion = upstream.delete(DELETE_URL).respond(200, json=DELETED)
    backend = make_backend("shadow")
    upstream.post(URL).respond(200, content=answer("<state>1002</state>好"))
    await events_of(backend, make_turn(), session)
    upstream.post(URL).respond(200, content=BODY)
    events: Any = backend.reply(make_turn(), session)
    await anext(events)
    await events.aclose()
    await backend.aclose()
    assert deletion.call_count == 2


async def test_a_shadow_turn_that_never_reached_the_upstream_has_nothing_to_delete(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    deletion = upstream.delete(DELETE_URL).respond(200, json=DELETED)
    upstream.post(URL).mock(side_effect=httpx.ConnectError("x"))
    backend = make_backend("shadow")
    await events_of(backend, make_turn(), session)
    await backend.aclose()
    assert not deletion.called


@pytest.mark.parametrize(
    "reply",
    [httpx.Response(500, json={"code": 500, "statusText": "", "message": "x"}), httpx.Response(200, json={"code": 403, "message": "x"})],
)
async def test_a_chat_that_could_not_be_deleted_is_counted_in_the_log(
    reply: httpx.Response, upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    upstream.post(URL).respond(200, content=BODY)
    upstream.delete(DELETE_URL).mock(return_value=reply)
    backend = make_backend("shadow")
    with capture_logs() as logs:
        for _ in range(2):
            await events_of(backend, make_turn(), session)
            await backend.aclose()
    assert [line["left_behind"] for line in logs if line["event"] == "shadow_chat_left_behind"] == [1, 2]


async def test_a_live_chat_is_never_deleted(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    deletion = upstream.delete(DELETE_URL).respond(200, json=DELETED)
    upstream.post(URL).respond(200, content=BODY)
    backend = make_backend()
    await events_of(backend, make_turn(), session)
    await backend.aclose()
    assert not deletion.called


def test_a_shadow_that_could_not_delete_its_chats_is_refused(make_backend: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="app id"):
        make_backend("shadow", app_id=None)


@pytest.mark.parametrize(
    "reply, answer",
    [
        (httpx.Response(200, json={"code": 200, "data": {"chatId": "crossfade-probe"}}), None),
        (httpx.Response(500, json={"code": 514, "statusText": "unAuthApiKey"}), "FastGPT: configuration (unAuthApiKey)"),
        (httpx.Response(404, html="<html>"), "FastGPT: configuration (html_404)"),
        (httpx.Response(502, html="<html>"), "FastGPT: refused (http_502)"),
    ],
)
async def test_the_probe_reads_the_app_and_calls_no_model(
    reply: httpx.Response, answer: str | None, upstream: respx.Router, make_backend: Callable[..., Any]
) -> None:
    upstream.get(INIT_URL).mock(return_value=reply)
    assert await make_backend().probe() == answer


@pytest.mark.parametrize(
    "reply, answer",
    [
        (httpx.Response(500, json={"code": 500, "statusText": "error", "message": "messages is empty"}), None),
        (httpx.Response(500, json={"code": 514, "statusText": "unAuthApiKey"}), "FastGPT: configuration (unAuthApiKey)"),
    ],
)
async def test_the_probe_without_an_app_id_asks_nothing_and_reads_the_refusal(
    reply: httpx.Response, answer: str | None, upstream: respx.Router, make_backend: Callable[..., Any]
) -> None:
    route = upstream.post(URL).mock(return_value=reply)
    assert await make_backend(app_id=None).probe() == answer
    assert json.loads(route.calls.last.request.content)["messages"] == []


async def test_the_probe_names_a_server_that_does_not_answer(upstream: respx.Router, make_backend: Callable[..., Any]) -> None:
    upstream.get(INIT_URL).mock(side_effect=httpx.ConnectError("x"))
    assert await make_backend().probe() == "FastGPT: unreachable (ConnectError)"


def test_it_is_named_and_finishes_what_it_began(make_backend: Callable[..., Any]) -> None:
    backend = make_backend()
    assert backend.name is BackendName.FASTGPT
    assert backend.finishes_when_abandoned
