"""The event decoder: every cut, byte by byte, its limits, and an end in the middle."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract import sse
from contract.sse import KEEP_ALIVE, MalformedStream, ServerSentEvent, SseDecoder, encode_event

pytestmark = pytest.mark.unit

WIRE = (
    ": heartbeat\n\n"
    'event: answer\ndata: {"text":"一\u2028二\u0085三"}\n\n'
    "data: unnamed\r\n\r\n"
    "id: 7\nretry: 100\nevent: two\ndata: first\ndata:second\n\n"
    "event: nothing\n\n"
    "data: [DONE]\n\n"
).encode()

EVENTS = [
    ServerSentEvent("answer", '{"text":"一\u2028二\u0085三"}'),
    ServerSentEvent(None, "unnamed"),
    ServerSentEvent("two", "first\nsecond"),
    ServerSentEvent(None, "[DONE]"),
]


def decode(*pieces: bytes) -> list[ServerSentEvent]:
    decoder = SseDecoder()
    events: list[ServerSentEvent] = []
    for piece in pieces:
        events.extend(decoder.feed(piece))
    return [*events, *decoder.finish()]


@pytest.mark.parametrize("cut", range(len(WIRE) + 1))
def test_events_do_not_depend_on_where_the_bytes_are_cut(cut: int) -> None:
    assert decode(WIRE[:cut], WIRE[cut:]) == EVENTS


def test_events_do_not_depend_on_bytes_coming_one_by_one() -> None:
    assert decode(*(WIRE[at : at + 1] for at in range(len(WIRE)))) == EVENTS


def test_an_event_is_given_out_as_soon_as_its_blank_line_came() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"event: a\ndata: 1\n") == []
    assert decoder.feed(b"\n") == [ServerSentEvent("a", "1")]


def test_a_name_belongs_to_its_own_block_only() -> None:
    assert decode(b"event: a\n\ndata: 1\n\n") == [ServerSentEvent(None, "1")]


def test_an_empty_data_line_is_an_event_with_empty_data() -> None:
    assert decode(b"data:\n\n") == [ServerSentEvent(None, "")]


def test_only_one_space_after_the_colon_is_taken_off() -> None:
    assert decode(b"data:  x\n\n") == [ServerSentEvent(None, " x")]


@pytest.mark.parametrize("ending", [b"", b"\n", b"\n\n", b"\r\n\r\n"])
def test_a_last_event_counts_without_its_blank_line(ending: bytes) -> None:
    assert decode(b"event: a\ndata: 1" + ending) == [ServerSentEvent("a", "1")]


def test_an_end_without_bytes_is_no_event() -> None:
    assert decode() == []
    assert decode(b"event: a\n") == []


@pytest.mark.parametrize("cut", [1, 2])
def test_an_end_inside_a_character_is_malformed(cut: int) -> None:
    with pytest.raises(MalformedStream, match="UTF-8"):
        decode(b"data: " + "车".encode()[:cut])


@pytest.mark.parametrize("line", [b"d", b"dat", b"even", b"event: answer", b": heart"])
def test_an_end_before_any_data_is_no_event(line: bytes) -> None:
    assert decode(line) == []


@pytest.mark.parametrize("wire", [b"data: \xff\n\n", b"event: \xc3\n\ndata: 1\n\n"])
def test_a_line_that_is_not_utf8_is_refused(wire: bytes) -> None:
    with pytest.raises(MalformedStream, match="UTF-8"):
        decode(wire)


def test_an_event_at_the_limit_passes_and_one_over_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 20)
    assert decode(b"data: " + b"x" * 14 + b"\n\n") == [ServerSentEvent(None, "x" * 14)]
    with pytest.raises(MalformedStream, match="too large"):
        decode(b"data: " + b"x" * 15 + b"\n\n")


def test_a_line_without_end_is_refused_while_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 20)
    decoder = SseDecoder()
    decoder.feed(b"data: " + b"x" * 14)
    with pytest.raises(MalformedStream, match="too large"):
        decoder.feed(b"x")


def test_many_short_lines_of_one_event_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 20)
    with pytest.raises(MalformedStream, match="too large"):
        decode(b"data: 1\n" * 3)


def test_the_limit_holds_for_one_event_not_for_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 20)
    assert len(decode(b"data: 1\n\n" * 50)) == 50


def test_a_keep_alive_is_no_event() -> None:
    assert decode(KEEP_ALIVE, encode_event("a", b"1"), KEEP_ALIVE) == [ServerSentEvent("a", "1")]


_LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=20)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["answer", "done", "x"]), _LINE), max_size=5), st.data())
def test_what_is_encoded_is_decoded_however_it_is_cut(pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    wire = b"".join(encode_event(name, text.encode()) for name, text in pairs)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=6)))
    pieces = [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    assert decode(*pieces) == [ServerSentEvent(name, text) for name, text in pairs]
