"""The state prefix parser: every cut, character by character, its limits, and an end in the middle."""

from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.state_prefix import (
    MAX_FORM_BYTES,
    MAX_PREFIX_CHARS,
    BodyText,
    FormBlock,
    Irregularity,
    MalformedReply,
    PrefixEvent,
    StatePrefixParser,
    StateTag,
)

pytestmark = pytest.mark.unit


def parse(*pieces: str) -> list[PrefixEvent]:
    """The events, with neighbouring texts joined: how text is portioned is the stream's business."""
    parser = StatePrefixParser()
    events: list[PrefixEvent] = []
    for piece in pieces:
        events.extend(parser.feed(piece))
    events.extend(parser.finish())
    joined: list[PrefixEvent] = []
    for is_text, group in groupby(events, key=lambda event: isinstance(event, BodyText)):
        run = list(group)
        joined.extend([BodyText("".join(event.text for event in run if isinstance(event, BodyText)))] if is_text else run)
    return joined


REPLIES: dict[str, list[PrefixEvent]] = {
    "<state>1002</state>请问？": [StateTag("1002"), BodyText("请问？")],
    "\n<state>1002</state>\n请问？\n": [StateTag("1002"), BodyText("请问？\n")],
    "\ufeff\u3000 <state>0000</state>": [StateTag("0000")],
    '<state>1002</state><form>{"fields":{"jdcsl":1}}</form>好': [StateTag("1002"), FormBlock('{"fields":{"jdcsl":1}}'), BodyText("好")],
    "<state>1002</state>\n<form>{}</form>\n\n好<form>": [StateTag("1002"), FormBlock("{}"), BodyText("好<form>")],
    "<state>1006</state><state>1002</state>好": [StateTag("1006"), Irregularity("duplicate"), BodyText("好")],
    "<state>1002</state>一<state>2001</state>二": [StateTag("1002"), BodyText("一"), Irregularity("duplicate_late"), BodyText("二")],
    "<state>1002</state>a<b <state> <state>12x4</state> </state>": [StateTag("1002"), BodyText("a<b <state> <state>12x4</state> </state>")],
    "<state>1002</state>1<sta": [StateTag("1002"), BodyText("1<sta")],
    "<state>1002</state><f": [StateTag("1002"), BodyText("<f")],
    "<state>1002</state><sta<state>1001</state>te>1002</state>尾": [
        StateTag("1002"),
        Irregularity("duplicate_late"),
        Irregularity("duplicate_late"),
        BodyText("尾"),
    ],
    "```\n<state>1002</state>好": [Irregularity("code_fence"), StateTag("1002"), BodyText("好")],
}


def without_texts_between(events: list[PrefixEvent]) -> tuple[list[PrefixEvent], str]:
    """What came, and the whole text: an irregularity inside the text may be told before or after a piece of it."""
    text = "".join(event.text for event in events if isinstance(event, BodyText))
    return [event for event in events if not isinstance(event, BodyText)], text


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_splits_into_its_state_form_and_text(reply: str) -> None:
    assert without_texts_between(parse(reply)) == without_texts_between(REPLIES[reply])


@pytest.mark.parametrize("reply", REPLIES)
def test_the_split_does_not_depend_on_where_the_text_is_cut(reply: str) -> None:
    whole = without_texts_between(parse(reply))
    for cut in range(len(reply) + 1):
        assert without_texts_between(parse(reply[:cut], reply[cut:])) == whole, cut
    assert without_texts_between(parse(*reply)) == whole


@pytest.mark.parametrize(
    "reply, reason",
    [
        ("", "missing"),
        (" \n", "missing"),
        ("您好", "missing"),
        ("<form>{}</form>", "missing"),
        ("<state>", "malformed"),
        ("<state>1002</sta", "malformed"),
        ("<state>10x2</state>", "malformed"),
        ("<state>１００２</state>", "malformed"),
        ("<state>10022</state>", "malformed"),
        ("<state>1002<state>", "malformed"),
        (" " * (MAX_PREFIX_CHARS + 1), "too_long"),
        ("<state>1002</state><form>{", "form_unclosed"),
        ("<state>1002</state><form>" + "x" * (MAX_FORM_BYTES + 8), "form_too_long"),
        ("<state>1002</state><form>" + "车" * (MAX_FORM_BYTES // 3 + 1) + "</form>", "form_too_long"),
    ],
)
def test_a_reply_that_does_not_begin_as_agreed_is_refused_wherever_it_is_cut(reply: str, reason: str) -> None:
    for pieces in ([reply], list(reply), [reply[: len(reply) // 2], reply[len(reply) // 2 :]]):
        with pytest.raises(MalformedReply) as caught:
            parse(*pieces)
        assert caught.value.reason == reason


def test_a_form_block_at_the_limit_passes() -> None:
    block = "x" * MAX_FORM_BYTES
    assert parse(f"<state>1002</state><form>{block}</form>好") == [StateTag("1002"), FormBlock(block), BodyText("好")]


def test_a_text_without_a_tag_is_refused_at_its_first_character() -> None:
    with pytest.raises(MalformedReply):
        StatePrefixParser().feed("您")


def test_a_tag_cut_in_two_is_held_back() -> None:
    parser = StatePrefixParser()
    assert parser.feed("<state>10") == []
    assert not parser.has_state
    assert parser.feed("02</state>") == [StateTag("1002")]
    assert parser.has_state
    assert not parser.in_body
    assert parser.feed("好") == [BodyText("好")]
    assert parser.in_body


def test_text_is_not_held_back_without_need() -> None:
    parser = StatePrefixParser()
    parser.feed("<state>1002</state>")
    assert parser.feed("一二三") == [BodyText("一二三")]
    assert parser.feed("a < b") == [BodyText("a < b")]
    assert parser.feed("见<") == [BodyText("见")]
    assert parser.feed("好>") == [BodyText("<好>")]


def test_no_more_than_the_agreed_length_of_text_is_held_back() -> None:
    parser = StatePrefixParser()
    parser.feed("<state>1002</state>")
    events = parser.feed("<sta" * 40)
    said = "".join(event.text for event in events if isinstance(event, BodyText))
    assert len("<sta" * 40) - len(said) <= MAX_PREFIX_CHARS


_PIECES = st.sampled_from(
    ["<state>1002</state>", "<state>", "</state>", "<form>", "{}", "</form>", "1002", "<", "好", "\n", " ", "<sta", "te>", "```"]
)


def outcome(pieces: list[str]) -> object:
    try:
        return without_texts_between(parse(*pieces))
    except MalformedReply as error:
        return error.reason


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=12), st.data())
def test_any_text_gives_the_same_result_however_it_is_cut(pieces: list[str], data: st.DataObject) -> None:
    reply = "".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(reply)), max_size=5)))
    portions = [reply[a:b] for a, b in zip([0, *cuts], [*cuts, len(reply)], strict=True)]
    assert outcome(portions) == outcome([reply]) == outcome(list(reply))


@settings(max_examples=100, deadline=None)
@given(st.lists(_PIECES, max_size=12))
def test_no_state_tag_is_ever_left_in_the_text(pieces: list[str]) -> None:
    try:
        _, text = without_texts_between(parse("<state>1002</state>好" + "".join(pieces)))
    except MalformedReply:
        return
    assert "<state>1002</state>" not in text
