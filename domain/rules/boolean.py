"""Yes or no, as JSON or as a word."""

from domain.rules.field_error import FieldError
from domain.rules.wording import normal

_TRUE = frozenset({"true", "1", "yes", "y", "是", "有", "对"})
_FALSE = frozenset({"false", "0", "no", "n", "否", "无", "没有", "不对"})


def boolean(raw: object, label: str) -> bool:
    """Raises FieldError: 只能为是或否, or 不能为空 for blanks."""
    if isinstance(raw, bool):
        return raw
    word = str(raw) if isinstance(raw, int) else raw
    if not isinstance(word, str):
        raise FieldError(f"{label}类型不正确" if isinstance(raw, (dict, list)) else f"{label}只能为是或否")
    word = normal(word).lower()
    if not word:
        raise FieldError(f"{label}不能为空")
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise FieldError(f"{label}只能为是或否")
