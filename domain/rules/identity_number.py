"""A resident identity number (GB 11643): 18 characters with area, birth date and check character.

Fifteen-digit numbers of the old series are completed; who took one from speech must ask for confirmation (`is_old_series`).
"""

import re
from datetime import date, datetime

from stdnum.cn import ric

from domain.rules.field_error import FieldError
from domain.rules.wording import digit_text, number_text

MAX_AGE_YEARS = 110
_OLD_SERIES_AGES = range(16, 101)  # a shown number of the old series is an adult's; beyond, the digits are part of a longer number
_TAIL = re.compile(r"(?:叉|×|\*|艾克斯|埃克斯)$")
_PROVINCES = frozenset(
    map(
        str,
        (*range(11, 16), *range(21, 24), *range(31, 38), *range(41, 47), *range(50, 55), *range(61, 66), 71, 81, 82, 83, *range(91, 100)),
    )
)  # 9x: the permanent residence card of foreigners


def identity_number(raw: object, label: str, today: date) -> str:
    """Eighteen characters, upper case. Raises FieldError: length, format, area, date, age, check character."""
    number = identity_text(number_text(raw, label, 40))
    if is_old_series(number):
        number = completed(number)
    if len(number) != 18:
        raise FieldError("身份证号应为18位")
    if not re.fullmatch(r"[1-9][0-9]{16}[0-9X]", number):
        raise FieldError("身份证号格式不正确")
    if number[:2] not in _PROVINCES:
        raise FieldError("身份证号地区代码不正确")
    try:
        born = birth_date(number)
    except ValueError as error:
        raise FieldError("身份证号中的出生日期不正确") from error
    if born.year < 1900 or born > today or age_on(number, today) > MAX_AGE_YEARS:
        raise FieldError("身份证号中的出生日期不合理")
    if ric.calc_check_digit(number) != number[-1]:
        raise FieldError("身份证号校验位不正确，请核对")
    return number


def identity_text(text: str) -> str:
    """Spoken digits as digits, and the spoken last character as X. The result may be incomplete."""
    return _TAIL.sub("X", digit_text(text)).upper()


def is_old_series(number: str) -> bool:
    return re.fullmatch(r"[1-9][0-9]{14}", number) is not None


def is_plausible_old_series(number: str, today: date) -> bool:
    """Fifteen digits that somebody may really hold: known area, a real day, and an age that goes with the old series."""
    if not is_old_series(number) or number[:2] not in _PROVINCES:
        return False
    try:
        return age_on(completed(number), today) in _OLD_SERIES_AGES
    except ValueError:
        return False


def completed(number: str) -> str:
    """The 18-character form of a 15-digit number."""
    body = f"{number[:6]}19{number[6:]}"
    return body + ric.calc_check_digit(body + "0")


def birth_date(number: str) -> date:
    """Of an 18-character number. Raises ValueError when there is no such day."""
    return date(int(number[6:10]), int(number[10:12]), int(number[12:14]))


def age_on(number: str, day: date | datetime) -> int:
    born = birth_date(number)
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))
