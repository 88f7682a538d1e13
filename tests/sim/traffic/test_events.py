"""The partner's event reader: the same events wherever the stream is cut, and what makes a stream good."""

import json
from typing import Any

import pytest

from sim.traffic.events import BadStream, EventReader, outcome_of

pytestmark = pytest.mark.unit

STREAM = (
    'event: stage_code\ndata: {"nextStageCode":"1002"}\n\n: keep-alive\n\n'
    'event: text_delta\r\ndata: {"text":"请问\u2028…"}\r\n\r\nevent: done\ndata: {"code":"200"}\n\n'
).encode()
EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("stage_code", {"nextStageCode": "1002"}),
    ("text_delta", {"text": "请问\u2028…"}),
    ("done", {"code": "200"}),
]


@pytest.mark.parametrize("cut", range(len(STREAM) + 1))
def test_events_do_not_depend_on_where_the_stream_is_cut(cut: int):
    reader = EventReader()
    assert reader.feed(STREAM[:cut]) + reader.feed(STREAM[cut:]) == EVENTS


def test_events_come_out_byte_by_byte():
    reader = EventReader()
    assert [event for index in range(len(STREAM)) for event in reader.feed(STREAM[index : index + 1])] == EVENTS


def test_an_event_without_its_end_is_not_told():
    assert EventReader().feed(b'event: done\ndata: {"code":"200"}') == []


@pytest.mark.parametrize("payload", [b"nonsense", b"[]", b'"x"'])
def test_a_payload_that_is_no_object_is_refused(payload: bytes):
    with pytest.raises(BadStream):
        EventReader().feed(b"data: " + payload + b"\n")


def test_a_good_stream_tells_code_and_stage():
    assert outcome_of(EVENTS) == ("200", "1002")


def test_an_error_event_is_the_outcome():
    assert outcome_of([*EVENTS[:2], ("error", {"code": "500"})]) == ("500", "")


@pytest.mark.parametrize(
    "events",
    [[], EVENTS[:2], [*EVENTS, EVENTS[2]], [*EVENTS, EVENTS[1]], EVENTS[1:], [EVENTS[0], *EVENTS]],
    ids=["empty", "no done", "two dones", "text after done", "no stage", "two stages"],
)
def test_a_stream_must_end_with_its_one_done(events: list[tuple[str, dict[str, Any]]]):
    with pytest.raises(BadStream):
        outcome_of(events)


def test_reports_hold_no_text_of_the_stream():
    with pytest.raises(BadStream, match=r"^sse_payload_not_json$"):
        EventReader().feed(f"data: {json.dumps('x')[:-1]} 张三\n".encode())
