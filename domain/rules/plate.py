"""A vehicle plate (GA 36): which pattern it has, and which plate type that pattern says.

Normalisation never guesses silently: a letter I or O in the serial part becomes a digit and `Plate.is_doubtful` says so.
"""

import re
from dataclasses import dataclass

from domain.rules.field_error import FieldError
from domain.rules.wording import ascii_digits, digit_text, normal, spoken_text

PROVINCES = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"
_LETTER = "A-HJ-NP-Z"
_ENERGY = "A-HJK"  # ten letters: A-H, J, K without I

PROVINCE_NAMES = {
    "北京": "京", "天津": "津", "上海": "沪", "重庆": "渝", "河北": "冀", "河南": "豫", "云南": "云", "辽宁": "辽", "黑龙江": "黑",
    "湖南": "湘", "安徽": "皖", "山东": "鲁", "新疆": "新", "江苏": "苏", "浙江": "浙", "江西": "赣", "湖北": "鄂", "广西": "桂",
    "甘肃": "甘", "山西": "晋", "内蒙古": "蒙", "陕西": "陕", "吉林": "吉", "福建": "闽", "贵州": "贵", "广东": "粤", "青海": "青",
    "西藏": "藏", "四川": "川", "宁夏": "宁", "海南": "琼",
}  # fmt: skip

# Pattern → the plate type it says; None: an ordinary plate says nothing about its type. The first that matches holds.
_PATTERNS: tuple[tuple[re.Pattern[str], str | None], ...] = (
    (re.compile(rf"[{PROVINCES}][{_LETTER}][{_ENERGY}][{_LETTER}0-9][0-9]{{4}}"), "52"),
    (re.compile(rf"[{PROVINCES}][{_LETTER}][0-9]{{5}}[{_ENERGY}]"), "51"),
    (re.compile(rf"[{PROVINCES}][{_LETTER}][{_LETTER}0-9]{{4}}挂"), "15"),
    (re.compile(rf"[{PROVINCES}][{_LETTER}][{_LETTER}0-9]{{4}}学"), "16"),
    (re.compile(rf"[{PROVINCES}][{_LETTER}][{_LETTER}0-9]{{4}}警"), "23"),
    (re.compile(rf"粤Z[{_LETTER}0-9]{{4}}港"), "26"),
    (re.compile(rf"粤Z[{_LETTER}0-9]{{4}}澳"), "27"),
    (re.compile(r"[0-9]{6}使"), "03"),
    (re.compile(rf"[{PROVINCES}][{_LETTER}][{_LETTER}0-9]{{4}}领"), "04"),
    (re.compile(rf"[{PROVINCES}][{_LETTER}][{_LETTER}0-9]{{5}}"), None),
)

ORDINARY_TYPE = "02"  # an ordinary plate until somebody says otherwise; read back in the summary
_ENERGY_TYPES = frozenset({"51", "52"})


@dataclass(frozen=True, slots=True)
class Plate:
    number: str
    type_code: str | None  # what the pattern says; None for an ordinary plate
    is_doubtful: bool = False  # a letter was read as a digit: ask before storing


def plate(raw: object, label: str) -> Plate:
    """Raises FieldError: province, letter, length, pattern."""
    number, is_doubtful = _written(spoken_text(raw, label, 12))
    for pattern, type_code in _PATTERNS:
        if pattern.fullmatch(number):
            return Plate(number, type_code, is_doubtful)
    raise FieldError(_why_not(number))


def plate_number(raw: object, label: str) -> str:
    return plate(raw, label).number


def type_of_pattern(number: str) -> str | None:
    """What a stored plate's pattern says about its type."""
    return next((type_code for pattern, type_code in _PATTERNS if pattern.fullmatch(number)), None)


def is_type_possible(number: str, type_code: str) -> bool:
    """False when plate and type contradict each other. New-energy types and patterns go together; an ordinary plate may be any other."""
    said = type_of_pattern(number)
    return type_code not in _ENERGY_TYPES if said is None else said == type_code


def _written(text: str) -> tuple[str, bool]:
    """Upper case, province short, spoken digits after the first character, look-alike letters of the serial part as digits."""
    plain = ascii_digits(normal(text)).upper().replace(" ", "")
    for name, short in PROVINCE_NAMES.items():
        if plain.startswith(name):
            plain = short + plain[len(name) :]
            break
    plain = plain[:1] + digit_text(plain[1:]).upper() if plain[:1] in PROVINCES else digit_text(plain).upper()
    head, serial = plain[:2], plain[2:]
    repaired = serial.replace("I", "1").replace("O", "0")
    return head + repaired, repaired != serial


def _why_not(number: str) -> str:
    if number[:1] not in PROVINCES:
        return '车牌号应以省份简称开头，如"京A12345"'
    if not re.fullmatch(rf"[{_LETTER}]", number[1:2]):
        return "车牌号第二位应为字母且不含I、O"
    if len(number) not in (7, 8):
        return "车牌号位数不对，普通车牌7位，新能源车牌8位"
    return "车牌号格式不正确"
