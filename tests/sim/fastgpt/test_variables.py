"""Declared variables: which keys count, how values are coerced."""

from typing import Any

import pytest

from sim.fastgpt.variables import UNDEFINED, Declared, coerced, merged, storable, visible

pytestmark = pytest.mark.unit

DECLARED = (
    Declared(key="plate", label="车牌号", type="string"),
    Declared(key="count", label="count", type="number", default="0"),
    Declared(key="agree", label="agree", type="boolean"),
)


@pytest.mark.parametrize(
    ("value", "kind", "result"),
    [
        (12, "string", "12"),
        ({"a": 1}, "string", '{"a":1}'),
        ("12", "number", 12),
        ("1.5", "number", 1.5),
        ("", "number", 0),
        ("abc", "number", None),
        (True, "number", 1),
        ("True", "boolean", True),
        ("yes", "boolean", False),
        ("", "boolean", False),
        (1, "boolean", True),
        ('{"a":1}', "object", {"a": 1}),
        ("notjson", "object", {}),
        (None, "boolean", None),
    ],
)
def test_values_take_the_declared_type(value: Any, kind: str, result: Any):
    assert coerced(value, kind) == result


def test_sent_beats_stored_beats_default():
    assert merged(DECLARED, {"count": 2, "plate": "a"}, {"plate": "b"}) == {"plate": "b", "count": 2, "agree": UNDEFINED}
    assert merged(DECLARED, {}, {})["count"] == 0


def test_a_label_is_looked_up_before_the_key():
    assert merged(DECLARED, {}, {"车牌号": "by label", "plate": "by key"})["plate"] == "by label"


def test_undeclared_names_are_dropped_also_the_servers_own():
    assert set(merged(DECLARED, {}, {"other": 1, "userId": "x", "chatId": "y"})) == {"plate", "count", "agree"}


def test_a_missing_value_is_not_sent_but_is_stored_as_null():
    values = merged(DECLARED, {}, {})
    assert visible(values) == {"count": 0}
    assert storable(values) == {"plate": None, "count": 0, "agree": None}
