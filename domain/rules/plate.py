"""A vehicle plate (GA 36): which pattern it has, and which plate type that pattern says.

Normalisation never guesses silently: a letter I or O in the serial part becomes a digit, a word that sounds like a province becomes it, and
`Plate.is_doubtful` says so. A province that was named is never exchanged for another, and a word that may be two provinces is none.
"""

import re
from dataclasses import dataclass

from domain.rules.field_error import FieldError
from domain.rules.wording import ascii_digits, digit_text, normal, spoken_text

MAX_CHARS = 12
PROVINCES = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"
_LETTER = "A-HJ-NP-Z"
_ENERGY = "A-HJK"  # ten letters: A-H, J, K without I

PROVINCE_NAMES = {
    "北京": "京", "天津": "津", "上海": "沪", "重庆": "渝", "河北": "冀", "河南": "豫", "云南": "云", "辽宁": "辽", "黑龙江": "黑",
    "湖南": "湘", "安徽": "皖", "山东": "鲁", "新疆": "新", "江苏": "苏", "浙江": "浙", "江西": "赣", "湖北": "鄂", "广西": "桂",
    "甘肃": "甘", "山西": "晋", "内蒙古": "蒙", "陕西": "陕", "吉林": "吉", "福建": "闽", "贵州": "贵", "广东": "粤", "青海": "青",
    "西藏": "藏", "四川": "川", "宁夏": "宁", "海南": "琼",
}  # fmt: skip

NAME_ENDINGS = ("维吾尔族自治区", "维吾尔自治区", "壮族自治区", "回族自治区", "自治区", "省", "市")
# What a speech recogniser writes for a province, none of them one themselves. 金 is left out: it may be 京 or 津.
HOMOPHONES = {
    "这": "浙", "月": "粤", "越": "粤", "输": "苏", "护": "沪", "户": "沪", "路": "鲁", "穿": "川", "预": "豫", "玉": "豫", "计": "冀",
    "晚": "皖", "碗": "皖",
}  # fmt: skip
AMBIGUOUS = "金"

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

_SPECIAL = re.compile(
    rf"[{PROVINCES}]O[{_LETTER}0-9]{{5}}"  # the old series of police and government
    rf"|WJ[{PROVINCES}]?[0-9]{{4}}[0-9A-Z]|WJ[0-9]{{2}}[{PROVINCES}]?[0-9]{{4}}[0-9A-Z]"  # armed police
    r"|[军海空][A-Z][0-9]{5}"  # the forces
)
_MARKED_ENDINGS = frozenset("挂学警领港澳")

ORDINARY_TYPE = "02"  # an ordinary plate until somebody says otherwise; read back in the summary
ENERGY_TYPES = frozenset({"51", "52"})


@dataclass(frozen=True, slots=True)
class Plate:
    number: str
    type_code: str | None  # what the pattern says; None for an ordinary plate
    is_doubtful: bool = False  # a letter was read as a digit: ask before storing


def plate(raw: object, label: str) -> Plate:
    """Raises FieldError: province, letter, length, pattern."""
    number, is_doubtful = _written(spoken_text(raw, label, MAX_CHARS))
    for pattern, type_code in _PATTERNS:
        if pattern.fullmatch(number):
            return Plate(number, type_code, is_doubtful)
    raise FieldError(_why_not(number))


def is_special_plate(text: str) -> bool:
    """A plate of the forces, the armed police or the old government series: recognised, never stored, a case for a person."""
    plain = digit_text(text).upper()
    return _SPECIAL.fullmatch(plain) is not None


def plate_number(raw: object, label: str) -> str:
    return plate(raw, label).number


def type_of_pattern(number: str) -> str | None:
    """What a stored plate's pattern says about its type."""
    return next((type_code for pattern, type_code in _PATTERNS if pattern.fullmatch(number)), None)


def is_type_possible(number: str, type_code: str) -> bool:
    """False when plate and type contradict each other. New-energy types and patterns go together; an ordinary plate may be any other."""
    said = type_of_pattern(number)
    return type_code not in ENERGY_TYPES if said is None else said == type_code


def _written(text: str) -> tuple[str, bool]:
    """Upper case, province short, spoken digits after the first character, look-alike letters of the serial part as digits."""
    plain = _with_short_province(ascii_digits(normal(text)).upper().replace(" ", ""))
    heard = HOMOPHONES.get(plain[:1])
    if heard is not None:
        plain = heard + plain[1:]
    plain = plain[:1] + digit_text(plain[1:]).upper() if plain[:1] in PROVINCES else digit_text(plain).upper()
    head, serial = plain[:2], plain[2:]
    repaired = serial.replace("I", "1").replace("O", "0")
    return head + repaired, repaired != serial or heard is not None


def _with_short_province(plain: str) -> str:
    name = next((name for name in PROVINCE_NAMES if plain.startswith(name)), None)
    if name is None:
        return plain
    rest = plain.removeprefix(name)
    ending = next((ending for ending in NAME_ENDINGS if rest.startswith(ending)), "")
    return PROVINCE_NAMES[name] + rest.removeprefix(ending)


def _why_not(number: str) -> str:
    if number[:1] not in PROVINCES:
        return '车牌号应以省份简称开头，如"京A12345"'
    if not re.fullmatch(rf"[{_LETTER}]", number[1:2]):
        return "车牌号第二位应为字母且不含I、O"
    if len(number) not in ((7,) if number[-1] in _MARKED_ENDINGS else (7, 8)):
        return "车牌号位数不对，普通车牌7位，新能源车牌8位"
    return "车牌号格式不正确"
