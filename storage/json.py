"""JSON as PostgreSQL's jsonb takes and gives it. Its text holds no NUL and no lone surrogate: the door removes them."""

from typing import Any

import orjson


def dumps(value: Any) -> str:
    """Str-enums and dataclasses come out as their plain JSON."""
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


def loads(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)
