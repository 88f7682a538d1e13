"""Normalise what people and speech recognisers write, before any rule looks at it.

`normal` is for all text; `digit_text` also turns spoken digits into ASCII ones, so it is only for fields that are numbers.
Both are idempotent.
"""

import re
import unicodedata

from domain.rules.field_error import FieldError

_SPOKEN = dict(zip("零〇○洞一幺妖腰二两三四五六七拐八九勾", "0000111122345677899", strict=True))
_DROPPED = ("Cf", "Cs")
_KEYCAPS = "\ufe0f\u20e3"
_DIGIT_NOISE = re.compile(r"[\s_.,，。·•・‧∙⋅、−]")
_NUMERALS = dict(zip("零〇一二两俩三仨四五六七八九", (0, 0, 1, 2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9), strict=True))


def normal(text: str) -> str:
    """NFKC, no invisible format characters or lone surrogates, control characters as spaces, single spaces, trimmed."""
    folded = unicodedata.normalize("NFKC", text)
    visible = "".join(" " if unicodedata.category(char) == "Cc" else char for char in folded if unicodedata.category(char) not in _DROPPED)
    # Dropping a format character can bring two composable characters together.
    return unicodedata.normalize("NFKC", re.sub(r"\s+", " ", visible).strip())


def ascii_digits(text: str) -> str:
    """Every Unicode decimal digit as ASCII."""
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)


def digit_text(text: str) -> str:
    """`normal`, spoken digits as ASCII, and without the spaces, dots and dashes people put between digits."""
    spoken = "".join(_SPOKEN.get(char, char) for char in ascii_digits(normal(text)) if char not in _KEYCAPS)
    without_dashes = "".join(char for char in spoken if unicodedata.category(char) != "Pd")
    return _DIGIT_NOISE.sub("", without_dashes)


def numeral(text: str) -> int | None:
    """A spoken or written whole number from 0 to 99 (`两`, `十二`, `12`); None when it is none."""
    if re.fullmatch(r"[0-9]{1,2}", text):
        return int(text)
    if re.fullmatch(r"[零〇一二两俩三仨四五六七八九]", text):
        return _NUMERALS[text]
    match = re.fullmatch(r"([一二三四五六七八九]?)十([一二三四五六七八九]?)", text)
    if match is None:
        return None
    tens, ones = match.groups()
    return 10 * (_NUMERALS[tens] if tens else 1) + (_NUMERALS[ones] if ones else 0)


NUMERAL = r"(?:[0-9]{1,2}|[一二三四五六七八九]?十[一二三四五六七八九]?|[零〇一二两俩三仨四五六七八九])"


def spoken_text(raw: object, label: str, max_chars: int) -> str:
    """The text of a field value: not blank, at most `max_chars` before and after normalisation. Raises FieldError."""
    if not isinstance(raw, str):
        raise FieldError(f"{label}类型不正确")
    # The cap comes first: normalising costs more than its input when somebody piles up combining marks.
    too_long = FieldError(f"{label}过长，最多{max_chars}个字符")
    if len(raw.strip()) > max_chars:
        raise too_long
    text = normal(raw)
    if not text:
        raise FieldError(f"{label}不能为空")
    if len(text) > max_chars:
        raise too_long
    return text


def number_text(raw: object, label: str, max_chars: int) -> str:
    """Like `spoken_text` for fields whose values look like numbers: a JSON integer is its digits, a fraction is refused."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        if abs(raw) >= 10**max_chars:  # Python refuses to write out an integer of thousands of digits
            raise FieldError(f"{label}过长，最多{max_chars}个字符")
        raw = str(raw)
    return spoken_text(raw, label, max_chars)
