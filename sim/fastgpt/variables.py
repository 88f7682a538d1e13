"""Declared variables of a workflow: which request keys count, how values are coerced, what is stored and what is sent back.

A variable without a value is UNDEFINED, not null: it is left out of what is sent, is stored as null, and comes back as null from the next
turn on. That is how the real server behaves, odd as it looks, and clients must cope with it.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

Json = Any

SYSTEM_NAMES = ("userId", "appId", "chatId", "responseChatItemId", "histories", "cTime")


class Undefined(Enum):
    UNDEFINED = "undefined"


UNDEFINED = Undefined.UNDEFINED


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    key: str
    label: str
    type: str
    default: str | None = None


def merged(declared: Iterable[Declared], stored: Mapping[str, Json], sent: Mapping[str, Json]) -> dict[str, Json]:
    """All declared keys in their order. Sent beats stored beats default; a sent label beats a sent key; other names are dropped."""
    given = {**stored, **sent}
    values: dict[str, Json] = {}
    for item in declared:
        if item.label in given:
            values[item.key] = coerced(given[item.label], item.type)
        elif item.key in given:
            values[item.key] = coerced(given[item.key], item.type)
        else:
            values[item.key] = UNDEFINED if item.default is None else coerced(item.default, item.type)
    return values


def coerced(value: Json, kind: str) -> Json:
    """The server's own type rules. null stays null; bad numbers become null; any text but "true" is a false boolean."""
    if value is None or value is UNDEFINED:
        return value
    match kind:
        case "string":
            return value if isinstance(value, str) else dumps(value)
        case "number":
            return _number(value)
        case "boolean":
            return value.lower() == "true" if isinstance(value, str) else bool(value)
        case "object":
            return _object(value)
        case _:
            return value


def visible(values: Mapping[str, Json]) -> dict[str, Json]:
    """What is sent to a client: everything that has a value."""
    return {key: value for key, value in values.items() if value is not UNDEFINED}


def storable(values: Mapping[str, Json]) -> dict[str, Json]:
    """What is kept with the chat."""
    return {key: None if value is UNDEFINED else value for key, value in values.items()}


def dumps(value: Json) -> str:
    """JSON as JavaScript writes it: no spaces, no escapes for other alphabets, whole numbers without a point."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _number(value: Json) -> int | float | None:
    if isinstance(value, bool):
        return int(value)
    try:
        number = float(value) if value != "" else 0.0
    except (TypeError, ValueError):
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _object(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    try:
        parsed: Json = json.loads(value)
    except ValueError:
        return {}
    return cast("Json", parsed) if isinstance(parsed, (dict, list)) else {}
