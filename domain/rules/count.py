"""How many motor vehicles: 0 to 99, as a number or as people say it (`两辆`)."""

import re

from domain.rules.field_error import FieldError
from domain.rules.wording import ascii_digits, numeral, spoken_text

MAX_CHARS = 10
_MEASURE = re.compile(r"(?:[辆台部个](?:机动车|小车|轿车|汽车|车)?|(?:机动车|小车|轿车|汽车|车))\Z")
_OUT_OF_RANGE = "机动车数量应为0到99的整数"


def vehicle_count(raw: object, label: str) -> int:
    """Raises FieldError for fractions, words that are no number, and anything outside 0 to 99."""
    if isinstance(raw, (dict, list)):
        raise FieldError(f"{label}类型不正确")
    if isinstance(raw, int) and not isinstance(raw, bool):
        return _in_range(raw)
    if not isinstance(raw, str):
        raise FieldError(_OUT_OF_RANGE)
    text = ascii_digits(spoken_text(raw, label, MAX_CHARS)).replace(" ", "")
    number = numeral(_MEASURE.sub("", text))
    if number is None:
        raise FieldError(_OUT_OF_RANGE)
    return _in_range(number)


def _in_range(number: int) -> int:
    if not 0 <= number <= 99:
        raise FieldError(_OUT_OF_RANGE)
    return number
