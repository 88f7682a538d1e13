"""Collect what one answer says about form fields, from the sources the configuration names, and merge it.
A source states a field by a usable value; an empty one states nothing and never clears what we know. Pure."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, cast

import orjson

from backends.fastgpt.config import FastGptConfig, FormSource
from domain.fields import FIELDS, FieldError, accept
from domain.session import FieldValue, Form

# Where a node record keeps its result, by source.
_RESULTS: tuple[tuple[FormSource, str], ...] = (
    ("extract", "extractResult"),
    ("code", "customOutputs"),
    ("http", "httpResult"),
    ("plugin", "pluginOutput"),
    ("form_input", "formInputResult"),
)
_CHILDREN = ("pluginDetail", "toolDetail", "loopDetail", "childrenResponses")


def records_within(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The record and, behind it, those of its child nodes, in order; without recursion, so that depth costs nothing."""
    waiting: list[Mapping[str, Any]] = [record]
    while waiting:
        here = waiting.pop()
        yield here
        for name in _CHILDREN:
            children = here.get(name)
            if isinstance(children, list):
                rows = cast("list[Any]", children)
                waiting.extend(cast("Mapping[str, Any]", row) for row in reversed(rows) if isinstance(row, dict))


class FormReader:
    """One answer. `known` is the form before the turn; `report` takes the names of violations."""

    __slots__ = ("_config", "_known", "_names_seen", "_now", "_report", "_said")

    def __init__(
        self, config: FastGptConfig, known: Form, now: datetime, report: Callable[[str], None], names_seen: set[str] | None = None
    ) -> None:
        self._config = config
        self._known = known
        self._now = now
        self._report = report
        self._names_seen = set[str]() if names_seen is None else names_seen
        self._said: dict[FormSource, dict[str, FieldValue]] = {}

    def see_variables(self, raw: Mapping[str, Any]) -> None:
        """The whole set after an update: it replaces what an earlier set of this answer said."""
        if "variables" in self._config.form_sources:
            self._said["variables"] = self._statements(raw, names_erasures=True)
            self._name_the_missing(raw)

    def _name_the_missing(self, raw: Mapping[str, Any]) -> None:
        """A node without a result writes undefined, and the variable is gone from the set. Only one that the app has told before can be:
        the workflow may not declare all our fields. Missing or empty, it never clears what we know."""
        for key, name in self._config.variables.items():
            if name in raw:
                self._names_seen.add(name)
            elif name in self._names_seen and self._known.get(key) is not None:
                self._report(f"erased_field:{key}")

    def see_record(self, record: Mapping[str, Any]) -> None:
        """One node's record, without its children."""
        nodes = self._config.form_nodes
        if nodes and record.get("nodeId") not in nodes:
            return
        for source, key in _RESULTS:
            raw = record.get(key)
            if source in self._config.form_sources and isinstance(raw, dict) and "error" not in raw:
                self._said.setdefault(source, {}).update(self._statements(cast("Mapping[str, Any]", raw), names_erasures=False))

    def see_block(self, text: str) -> None:
        """A form block in front of the text; this backend's workflows are not asked for one."""
        if "form_block" not in self._config.form_sources:
            self._report("form_block_ignored")
            return
        try:
            raw = orjson.loads(text)
        except orjson.JSONDecodeError:
            raw = None
        if isinstance(raw, dict):
            self._said["form_block"] = self._statements(cast("Mapping[str, Any]", raw), names_erasures=False)
        else:
            self._report("form_block_broken")

    def patch(self) -> dict[str, FieldValue]:
        """The fields that differ from the known form, in registry order."""
        merged: dict[str, FieldValue] = {}
        for source in reversed(self._config.form_sources):
            merged.update(self._said.get(source, {}))
        known = self._known
        return {key: merged[key] for key in FIELDS if key in merged and merged[key] != known.get(key)}

    def _statements(self, raw: Mapping[str, Any], *, names_erasures: bool) -> dict[str, FieldValue]:
        said: dict[str, FieldValue] = {}
        for key, name in self._config.variables.items():
            if name not in raw:
                continue
            value, known = raw[name], self._known.get(key)
            if value is None or value == "" or value == [] or value == {}:
                if names_erasures and known is not None:
                    self._report(f"erased_field:{key}")
            elif value == known:  # most variables of most turns: nothing to check again
                said[key] = known
            else:
                try:
                    said[key] = accept(key, value, self._now)
                except FieldError:
                    self._report(f"invalid_field:{key}")
        return said
