"""What a checkpoint may hold: JSON's own types, small ones. Pure.

A checkpoint that keeps a text, an object or a growing list would carry personal data, tie stored rows to classes, and grow with the
conversation. So it is refused when it is written, by name of the offending place and never by its value.
"""

MAX_DEPTH = 2  # a channel may hold a list or a mapping of scalars, no more
MAX_ITEMS = 64
MAX_CHARS = 64
MAX_INTEGER = 2**53  # what every reader of JSON gives back unchanged

_SCALARS = (bool, int, str, type(None))


class NotPlain(Exception):
    """A value no checkpoint holds; `place` names it by keys and positions."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place


def check_plain(value: object, place: str = "state", depth: int = 0) -> None:
    """Raises NotPlain. Exact types only: an enum member is a string to Python and a class to whoever loads it."""
    kind = type(value)
    if kind in _SCALARS:
        _check_scalar(value, place)
    elif depth > MAX_DEPTH or kind not in (dict, list):
        raise NotPlain(place, f"{kind.__name__} at depth {depth}")
    else:
        _check_items(value, place, depth)


def _check_scalar(value: object, place: str) -> None:
    if isinstance(value, str):
        if len(value) > MAX_CHARS:
            raise NotPlain(place, f"{len(value)} characters")
    elif isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise NotPlain(place, "integer too large")


def _check_items(value: object, place: str, depth: int) -> None:
    assert isinstance(value, dict | list)
    if len(value) > MAX_ITEMS:
        raise NotPlain(place, f"{len(value)} items")
    if isinstance(value, dict):
        for key, item in value.items():
            if type(key) is not str or len(key) > MAX_CHARS:
                raise NotPlain(place, "a key that is no short string")
            check_plain(item, f"{place}.{key}", depth + 1)
    else:
        for position, item in enumerate(value):
            check_plain(item, f"{place}[{position}]", depth + 1)
