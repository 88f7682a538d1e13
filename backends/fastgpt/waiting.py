"""A FastGPT node that waits for the user takes ANY next message of the chat as its answer. Text that is none of its options skips every
branch: the answer comes empty, and the question is used up. Served as today; what is remembered here lets somebody see why. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

MAX_OPTIONS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """`options`: the values a choice accepts; empty for a form, which takes anything."""

    options: tuple[str, ...]


def asked_by(interactive: Any) -> Asked | None:
    """From the `interactive` event of any release; the real question may be nested in a loop, a tool or a child app."""
    node: Any = interactive
    while isinstance(node, dict):
        row = cast("Mapping[str, Any]", node)
        params: Any = row.get("params")
        if not isinstance(params, dict):
            return None
        known = cast("Mapping[str, Any]", params)
        child = known.get("childrenResponse")
        if isinstance(child, dict):
            node = cast("Any", child)
            continue
        options: Any = known.get("userSelectOptions")
        rows = cast("list[Any]", options if isinstance(options, list) else [])
        values = [cast("Mapping[str, Any]", one).get("value") for one in rows if isinstance(one, dict)]
        return Asked(options=tuple(value for value in values[:MAX_OPTIONS] if isinstance(value, str)))
    return None


def is_no_answer(options: tuple[str, ...], said: str) -> bool:
    """Whether a message will be taken as the answer of a choice that does not know it."""
    return bool(options) and said.strip() not in options
