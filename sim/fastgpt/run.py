"""One run of the workflow: what its nodes read and write. The nodes know nothing of HTTP; a Listener hears what they say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from sim.fastgpt.model_client import ModelClient
from sim.fastgpt.variables import UNDEFINED, dumps
from sim.fastgpt.workflow import VARIABLES_NODE, Workflow

_NODE_OUTPUT = re.compile(r"\{\{\$([\w-]+)\.(\w+)\$\}\}")
_VARIABLE = re.compile(r"\{\{(\w+)\}\}")


class Listener(Protocol):
    """Hears the run as it goes. `is_gone`: nobody listens any more, so no further node is worth starting."""

    @property
    def is_gone(self) -> bool: ...

    async def node_began(self, name: str) -> None: ...

    async def node_ended(self, record: Mapping[str, Any]) -> None: ...

    async def text(self, piece: str) -> None: ...

    async def fixed_text(self, text: str) -> None: ...

    async def variables(self, values: Mapping[str, Any]) -> None: ...


@dataclass(slots=True, kw_only=True)
class Run:
    """`history` is oldest first, pairs of side ("Human" or "AI") and text. `answer` is everything said so far."""

    workflow: Workflow
    question: str
    history: list[tuple[str, str]]
    system_text: str
    variables: dict[str, Any]
    now: datetime
    plants: frozenset[str]
    noise_seed: int | None
    model: ModelClient
    listener: Listener
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    answer: str = ""

    def value(self, reference: list[str]) -> Any:
        """What a `[node, key]` reference points to; UNDEFINED when there is nothing. An empty node makes `key` a literal."""
        node, key = reference
        if not node:
            return key
        if node == VARIABLES_NODE:
            return self.variables.get(key, UNDEFINED)
        return self.outputs.get(node, {}).get(key, UNDEFINED)

    def filled(self, template: str) -> str:
        """The template with variables and node outputs put in. Inserted text is not read as a template again."""
        parts = re.compile(f"{_NODE_OUTPUT.pattern}|{_VARIABLE.pattern}")
        return parts.sub(lambda match: self._shown(match), template)

    def _shown(self, match: re.Match[str]) -> str:
        node, key, variable = match.groups()
        value = self.variables.get(variable, UNDEFINED) if variable else self.value([node, key])
        if value is UNDEFINED or value is None:
            return ""
        return value if isinstance(value, str) else dumps(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResult:
    """`details` go first into the node's record; `handle` None ends the flow (a failed node)."""

    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    handle: str | None = "right"
