"""How form fields are collected: sources, their order, empty values, invalid values, child nodes."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from backends.fastgpt.form import FormReader, records_within
from domain.session import Form

pytestmark = pytest.mark.unit

NAMES = {"hphm1": "plateNo", "ywrysw": "injured", "jdcsl": "count", "sgyy": "accidentType"}


@pytest.fixture
def reader(make_config: Callable[..., Any], now: datetime) -> Callable[..., tuple[FormReader, list[str]]]:
    def make(known: Form | None = None, **changes: Any) -> tuple[FormReader, list[str]]:
        violations: list[str] = []
        return FormReader(make_config(variables=NAMES, **changes), known or {}, now, violations.append), violations

    return make


def test_only_what_differs_from_the_known_form_is_a_change(reader: Callable[..., Any]) -> None:
    form, violations = reader({"hphm1": "京A12345", "jdcsl": 2})
    form.see_variables({"plateNo": "京A12345", "injured": "无", "count": 1, "place": "朝阳路", "caseNo": "C-1"})
    assert form.patch() == {"ywrysw": False, "jdcsl": 1}
    assert violations == []


def test_changes_come_in_registry_order(reader: Callable[..., Any]) -> None:
    form, _ = reader()
    form.see_variables({"plateNo": "京A12345", "count": 1, "injured": False})
    assert list(form.patch()) == ["ywrysw", "jdcsl", "hphm1"]


def test_values_are_normalised_before_they_are_compared(reader: Callable[..., Any]) -> None:
    form, _ = reader({"hphm1": "京A12345"})
    form.see_variables({"plateNo": " 京a·12345 "})
    assert form.patch() == {}


@pytest.mark.parametrize("empty", [None, "", [], {}])
def test_an_empty_variable_never_clears_what_is_known_and_is_reported(empty: object, reader: Callable[..., Any]) -> None:
    form, violations = reader({"hphm1": "京A12345"})
    form.see_variables({"plateNo": empty, "injured": empty})
    assert form.patch() == {}
    assert violations == ["erased_field:hphm1"]


def test_a_missing_variable_says_nothing(reader: Callable[..., Any]) -> None:
    form, violations = reader({"hphm1": "京A12345"})
    form.see_variables({})
    assert (form.patch(), violations) == ({}, [])


def test_an_empty_extraction_is_an_everyday_result(reader: Callable[..., Any]) -> None:
    form, violations = reader({"hphm1": "京A12345"})
    form.see_record({"extractResult": {"plateNo": ""}})
    assert (form.patch(), violations) == ({}, [])


@pytest.mark.parametrize("wrong", ["京A1", 7, ["京A12345"], {"a": 1}, True, "null"])
def test_an_invalid_value_is_dropped_and_reported_without_itself(wrong: object, reader: Callable[..., Any]) -> None:
    form, violations = reader()
    form.see_variables({"plateNo": wrong, "count": 2})
    assert form.patch() == {"jdcsl": 2}
    assert violations == ["invalid_field:hphm1"]


def test_the_earlier_source_wins_field_by_field_whichever_came_first(reader: Callable[..., Any]) -> None:
    form, _ = reader()
    form.see_record({"extractResult": {"plateNo": "京B67890", "accidentType": "追尾"}})
    form.see_variables({"plateNo": "京A12345"})
    assert form.patch() == {"hphm1": "京A12345", "sgyy": "追尾"}
    form, _ = reader(form_sources=("extract", "variables"))
    form.see_record({"extractResult": {"plateNo": "京B67890"}})
    form.see_variables({"plateNo": "京A12345", "count": 1})
    assert form.patch() == {"jdcsl": 1, "hphm1": "京B67890"}


def test_a_later_set_of_variables_replaces_the_earlier_one(reader: Callable[..., Any]) -> None:
    form, _ = reader()
    form.see_variables({"plateNo": "京A12345", "count": 1})
    form.see_variables({"plateNo": "京B67890"})
    assert form.patch() == {"hphm1": "京B67890"}


@pytest.mark.parametrize(
    "source, key",
    [
        ("extract", "extractResult"),
        ("code", "customOutputs"),
        ("http", "httpResult"),
        ("plugin", "pluginOutput"),
        ("form_input", "formInputResult"),
    ],
)
def test_a_node_result_is_read_only_when_its_source_is_named(source: Any, key: str, reader: Callable[..., Any]) -> None:
    record = {"nodeId": "n1", key: {"plateNo": "京A12345"}}
    form, _ = reader(form_sources=(source,))
    form.see_record(record)
    assert form.patch() == {"hphm1": "京A12345"}
    form, _ = reader(form_sources=("variables",))
    form.see_record(record)
    assert form.patch() == {}


@pytest.mark.parametrize("result", [{"error": {"message": "x"}, "plateNo": "京A12345"}, "京A12345", None, ["京A12345"]])
def test_a_result_that_is_an_error_or_no_object_is_no_form(result: object, reader: Callable[..., Any]) -> None:
    form, _ = reader(form_sources=("http",))
    form.see_record({"httpResult": result})
    assert form.patch() == {}


def test_named_nodes_alone_are_read_when_any_are_named(reader: Callable[..., Any]) -> None:
    form, _ = reader(form_nodes=frozenset({"n2"}))
    form.see_record({"nodeId": "n1", "extractResult": {"plateNo": "京A12345"}})
    form.see_record({"nodeId": "n2", "extractResult": {"count": 2}})
    assert form.patch() == {"jdcsl": 2}


@pytest.mark.parametrize(
    "sources, block, patch, violations",
    [
        (("form_block",), '{"plateNo":"京A12345"}', {"hphm1": "京A12345"}, []),
        (("form_block",), "{", {}, ["form_block_broken"]),
        (("form_block",), "[]", {}, ["form_block_broken"]),
        (("variables",), '{"plateNo":"京A12345"}', {}, ["form_block_ignored"]),
    ],
)
def test_a_form_block_counts_only_as_a_named_source(
    sources: Any, block: str, patch: Any, violations: list[str], reader: Callable[..., Any]
) -> None:
    form, reported = reader(form_sources=sources)
    form.see_block(block)
    assert (form.patch(), reported) == (patch, violations)


def test_child_nodes_are_walked_in_order_and_odd_children_are_passed_over() -> None:
    record = {
        "n": 1,
        "pluginDetail": [{"n": 2, "loopDetail": [{"n": 3}]}, None, "x", {"n": 4}],
        "childrenResponses": "none",
        "toolDetail": [{"n": 5}],
    }
    assert sorted(one["n"] for one in records_within(record)) == [1, 2, 3, 4, 5]
    assert [one["n"] for one in records_within({"n": 1, "loopDetail": [{"n": 2, "loopDetail": [{"n": 3}]}, {"n": 4}]})] == [1, 2, 3, 4]


def test_deeply_nested_children_need_no_recursion() -> None:
    record: dict[str, Any] = {}
    for _ in range(5000):
        record = {"childrenResponses": [record]}
    assert sum(1 for _ in records_within(record)) == 5001
