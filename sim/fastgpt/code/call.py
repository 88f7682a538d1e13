"""What a code node's function is called with."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeCall:
    """`data` are the node's inputs, `variables` all declared variables (None: unset), `now` local time of the accident's place.

    `plants` are the differences planted in this session.
    """

    data: Mapping[str, Any]
    variables: Mapping[str, Any]
    words: Mapping[str, str]
    texts: Mapping[str, Any]
    now: datetime
    plants: frozenset[str] = field(default_factory=frozenset[str])

    def says(self, name: str, text: str) -> bool:
        return re.search(self.words[name], text) is not None

    def without(self, name: str, text: str) -> str:
        return re.sub(self.words[name], "", text)

    def count(self, name: str) -> int:
        value = self.variables.get(name)
        return int(value) if isinstance(value, (int, float)) else 0

    def table(self, name: str) -> dict[str, Any]:
        """An object variable; empty when unset."""
        value = self.variables.get(name)
        return dict(cast("dict[str, Any]", value)) if isinstance(value, dict) else {}

    def known(self) -> dict[str, Any]:
        """All variables, and `candidate_<field>` for each value that waits for a yes or is not complete yet."""
        waiting = self.table("partials") | self.table("candidates")
        return dict(self.variables) | {f"candidate_{key}": value for key, value in waiting.items()}

    def text_of(self, name: str) -> str:
        value = self.variables.get(name)
        return value if isinstance(value, str) else ""

    @property
    def stage(self) -> str:
        return self.text_of("stage_code") or "1001"


def dense(text: str) -> str:
    return re.sub(r"\s+", "", text)
