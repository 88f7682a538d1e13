"""A body as bytes: what its first bytes decide, broken connections, limits."""

from collections.abc import Callable
from typing import Any

import pytest

from backends.fastgpt.answer import FastGptAnswer
from backends.fastgpt.refusal import MAX_BODY_BYTES
from backends.fastgpt.translate import FastGptReply
from contract import sse
from domain.errors import BackendError, FailureKind

pytestmark = pytest.mark.unit

TEXT = 'event: answer\ndata: {"choices":[{"delta":{"content":"<state>1002</state>好"},"finish_reason":null}]}\n\n'.encode()
STOP = b'event: answer\ndata: {"choices":[{"delta":{"content":null},"finish_reason":"stop"}]}\n\n'
DONE = b"event: answer\ndata: [DONE]\n\n"
BROKEN = BackendError(FailureKind.INTERRUPTED, "ReadError")


@pytest.fixture
def answer_of(make_config: Callable[..., Any], session: Any, now: Any) -> Callable[..., FastGptAnswer]:
    def make(*pieces: bytes, status: int = 200) -> FastGptAnswer:
        answer = FastGptAnswer(status, FastGptReply(make_config(), session, now))
        for piece in pieces:
            answer.feed(piece)
        return answer

    return make


def failure(call: Callable[[], object]) -> tuple[FailureKind, str]:
    with pytest.raises(BackendError) as caught:
        call()
    return caught.value.failure.kind, caught.value.failure.note


@pytest.mark.parametrize("lead", [b"", b"\n", b" \r\n", b"\xef\xbb\xbf", b": hello\n\n"])
def test_a_stream_is_read_whatever_stands_before_its_first_event(lead: bytes, answer_of: Callable[..., FastGptAnswer]) -> None:
    body = lead + TEXT + STOP
    for cut in range(len(body) + 1):
        assert answer_of(body[:cut], body[cut:]).finish().reply.text == "好", cut


@pytest.mark.parametrize(
    "status, body, expected",
    [
        (500, b'{"code":514,"statusText":"unAuthApiKey","message":"x","data":null}', (FailureKind.CONFIGURATION, "unAuthApiKey")),
        (429, b'{"code":429,"statusText":"error","message":"Rate limit"}', (FailureKind.REFUSED, "error_429")),
        (504, b"<html><h1>504 Gateway Time-out</h1></html>", (FailureKind.REFUSED, "http_504")),
        (200, b"<html>login</html>", (FailureKind.CONFIGURATION, "html_200")),
        (200, b"\x13\x37 garbage", (FailureKind.MALFORMED, "http_200")),
        (200, b"{}", (FailureKind.MALFORMED, "json_200")),
        (200, b"", (FailureKind.INTERRUPTED, "no_body")),
        (200, b"dat", (FailureKind.INTERRUPTED, "no_stop")),
        (200, b": heartbeat\n\n", (FailureKind.INTERRUPTED, "no_stop")),
    ],
)
def test_a_body_that_is_no_answer_fails_alike_wherever_it_is_cut(
    status: int, body: bytes, expected: object, answer_of: Callable[..., FastGptAnswer]
) -> None:
    for cut in range(len(body) + 1):
        assert failure(lambda cut=cut: answer_of(body[:cut], body[cut:], status=status).finish()) == expected, cut


def test_a_stream_with_an_error_status_is_still_decided_by_its_content(answer_of: Callable[..., FastGptAnswer]) -> None:
    assert answer_of(TEXT + STOP, status=500).finish().reply.text == "好"


def test_an_endless_page_is_refused_at_the_limit(answer_of: Callable[..., FastGptAnswer]) -> None:
    answer = answer_of(b"<html>" + b"x" * MAX_BODY_BYTES, status=502)
    assert failure(lambda: answer.feed(b"x")) == (FailureKind.REFUSED, "http_502")


def test_endless_blanks_are_not_collected_for_ever(answer_of: Callable[..., FastGptAnswer]) -> None:
    answer = answer_of(b"\n" * MAX_BODY_BYTES)
    assert failure(lambda: answer.feed(b"\n")) == (FailureKind.INTERRUPTED, "no_body")


@pytest.mark.parametrize("wire", [b"data: \xff\xfe\n\n", b"data: " + b"x" * 100])
def test_bytes_that_are_no_events_are_malformed(
    wire: bytes, answer_of: Callable[..., FastGptAnswer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 50)
    assert failure(lambda: answer_of(wire))[0] is FailureKind.MALFORMED


def test_a_connection_lost_before_the_stop_fails_and_one_lost_after_it_does_not(answer_of: Callable[..., FastGptAnswer]) -> None:
    assert failure(lambda: answer_of(TEXT).break_off(BROKEN)) == (FailureKind.INTERRUPTED, "ReadError")
    finished = answer_of(TEXT, STOP).break_off(BROKEN)
    assert (finished.reply.text, finished.violations) == ("好", ("tail_lost",))


@pytest.mark.parametrize("tail", [b'event: flowResponses\ndata: [{"cut', b"event: flowResponses\ndata: \xe8"])
def test_node_records_cut_at_the_end_are_reported_as_lost(tail: bytes, answer_of: Callable[..., FastGptAnswer]) -> None:
    finished = answer_of(TEXT + STOP + DONE + tail).finish()
    assert (finished.reply.text, finished.violations) == ("好", ("tail_lost",))


def test_an_error_in_the_last_event_counts_without_its_blank_line(answer_of: Callable[..., FastGptAnswer]) -> None:
    answer = answer_of(TEXT + STOP + b'event: error\ndata: {"message":"boom"}')
    assert failure(answer.finish) == (FailureKind.REFUSED, "unnamed")


def test_a_stop_in_the_last_event_counts_without_its_blank_line(answer_of: Callable[..., FastGptAnswer]) -> None:
    answer = answer_of(TEXT + STOP.rstrip())
    assert not answer.has_stopped
    assert answer.finish().reply.text == "好"


def test_a_connection_lost_after_any_byte_is_a_failed_turn_until_the_stop(answer_of: Callable[..., FastGptAnswer]) -> None:
    body = TEXT + TEXT.replace(b"<state>1002</state>", b"") + STOP + DONE
    stops_at = body.index(STOP) + len(STOP)
    for cut in range(len(body) + 1):
        answer = answer_of(body[:cut])
        if cut < stops_at:
            assert failure(lambda answer=answer: answer.break_off(BROKEN)) == (FailureKind.INTERRUPTED, "ReadError"), cut
        else:
            assert answer.break_off(BROKEN).reply.text == "好好", cut
