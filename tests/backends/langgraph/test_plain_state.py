"""What a checkpoint may hold: small plain data. Anything else is refused before it is written, and the state's own fields are such data."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.langgraph.accident.state import AccidentState
from backends.langgraph.plain_state import MAX_CHARS, MAX_ITEMS, NotPlain, check_plain
from domain.fields import FIELDS
from domain.handoff_reason import HandoffReason
from domain.questions import QuestionId
from domain.stages import StageCode

pytestmark = pytest.mark.unit


class Colour(StrEnum):
    RED = "red"


@dataclass
class Thing:
    name: str = "x"


PLAIN = [None, True, 0, -(2**53), "", "x" * MAX_CHARS, [], {}, [1, "a", None], {"a": 1}, {"a": [1], "b": {"c": True}}, ["x"] * MAX_ITEMS]
REFUSED = [
    pytest.param("x" * (MAX_CHARS + 1), id="a text"),
    pytest.param(["x"] * (MAX_ITEMS + 1), id="a list that grows"),
    pytest.param({str(number): 1 for number in range(MAX_ITEMS + 1)}, id="a mapping that grows"),
    pytest.param({"x" * (MAX_CHARS + 1): 1}, id="a text as a key"),
    pytest.param({1: "a"}, id="a key that JSON would turn into another"),
    pytest.param({Colour.RED: 1}, id="an enum key"),
    pytest.param([[[[1]]]], id="depth"),
    pytest.param(2**53 + 1, id="an integer that a reader would round"),
    pytest.param(1.5, id="a float"),
    pytest.param((1, 2), id="a tuple comes back as a list"),
    pytest.param({1, 2}, id="a set"),
    pytest.param(b"x", id="bytes"),
    pytest.param(Colour.RED, id="an enum comes back as a string"),
    pytest.param(Thing(), id="an object"),
    pytest.param(datetime(2026, 7, 27, tzinfo=UTC), id="a moment"),
    pytest.param(print, id="a function"),
]


@pytest.mark.parametrize("value", PLAIN)
def test_small_plain_data_is_taken(value: object):
    check_plain({"channel": value})


@pytest.mark.parametrize("value", REFUSED)
@pytest.mark.parametrize(
    "wrap", [lambda value: value, lambda value: [value], lambda value: {"inner": value}], ids=["itself", "in a list", "in a mapping"]
)
def test_anything_else_is_refused(value: object, wrap: Any):
    with pytest.raises(NotPlain) as refused:
        check_plain({"channel": wrap(value)})
    assert refused.value.place.startswith("state.channel")


def test_a_refusal_names_the_place_and_never_the_value():
    with pytest.raises(NotPlain) as refused:
        check_plain({"channel": ["a", "13800138000" * 10]})
    assert "channel[1]" in str(refused.value)
    assert "13800138000" not in str(refused.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)


@given(JSON)
def test_what_is_taken_is_small(value: Any):
    try:
        check_plain(value)
    except NotPlain:
        return
    assert _leaves(value) <= MAX_ITEMS**3


def _leaves(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_leaves, inner))


@pytest.mark.parametrize("name, kind", get_type_hints(AccidentState).items())
def test_every_field_of_the_state_is_declared_as_plain_data(name: str, kind: Any):
    """A field for a transcript, a form or an object has no place in this list; that is the point."""
    assert kind in (str, int, bool, str | None) or (get_origin(kind), get_args(kind)) in ((list, (str,)), (dict, (str, int))), name


def test_the_lists_of_the_state_have_room_for_all_they_can_name():
    for names in (FIELDS, QuestionId, StageCode, HandoffReason):
        assert len(names) <= MAX_ITEMS
        assert all(len(str(getattr(name, "value", name))) <= MAX_CHARS for name in names)
