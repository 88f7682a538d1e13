"""Yes or no, as JSON or as a word."""

from domain.rules.field_error import FieldError
from domain.rules.wording import spoken_text

MAX_CHARS = 10
_TRUE = frozenset({"true", "1", "yes", "y", "是", "有", "对"})
_FALSE = frozenset({"false", "0", "no", "n", "否", "无", "没有", "不对"})


def boolean(raw: object, label: str) -> bool:
    """Raises FieldError: 只能为是或否, 不能为空 for blanks, or too long."""
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, int) and raw in (0, 1):
        return raw == 1
    if isinstance(raw, (dict, list)):
        raise FieldError(f"{label}类型不正确")
    word = spoken_text(raw, label, MAX_CHARS).lower() if isinstance(raw, str) else ""
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise FieldError(f"{label}只能为是或否")
