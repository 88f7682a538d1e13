"""Plate type codes of the police dictionary, and the words people use for them."""

from domain.rules.field_error import FieldError
from domain.rules.wording import ascii_digits, normal, number_text

MAX_CHARS = 10

PLATE_TYPES: dict[str, str] = {
    "01": "大型汽车", "02": "小型汽车", "03": "使馆汽车", "04": "领馆汽车", "05": "境外汽车", "06": "外籍汽车", "07": "普通摩托车",
    "08": "轻便摩托车", "09": "使馆摩托车", "10": "领馆摩托车", "11": "境外摩托车", "12": "外籍摩托车", "13": "低速车", "14": "拖拉机",
    "15": "挂车", "16": "教练汽车", "17": "教练摩托车", "18": "试验汽车", "19": "试验摩托车", "20": "临时入境汽车",
    "21": "临时入境摩托车", "22": "临时行驶车", "23": "警用汽车", "24": "警用摩托", "25": "原农机号牌", "26": "香港入出境车",
    "27": "澳门入出境车", "31": "武警号牌", "32": "军队号牌", "41": "无号牌", "42": "假号牌", "43": "挪用号牌", "51": "大型新能源汽车",
    "52": "小型新能源汽车", "99": "其他号牌",
}  # fmt: skip

MOTORCYCLE_TYPES = frozenset({"07", "08", "09", "10", "11", "12", "17", "19", "21", "24"})
UNPLATED_TYPES = frozenset({"41", "42", "43"})
ONLINE_TYPES = frozenset({"02", "16", "26", "27", "51", "52"})  # every other type needs a person; 01 and 15 until a policy allows them

GREEN = "绿牌"  # small or large: the number says which (domain/fields.py)
_WORDS = {
    "蓝牌": "02",
    "小车": "02",
    "轿车": "02",
    "黄牌": "01",
    "大车": "01",
    "货车": "01",
    "大客": "01",
    "大货车": "01",
    "大客车": "01",
    GREEN: "52",
    "摩托": "07",
    "摩托车": "07",
}
_CODES = {label: code for code, label in PLATE_TYPES.items()}


def plate_type(raw: object, label: str) -> str:
    """A two-digit code. Raises FieldError when there is no such type."""
    word = ascii_digits(number_text(raw, label, MAX_CHARS)).replace(" ", "")
    code = word.zfill(2) if word.isascii() and word.isdigit() else _CODES.get(word) or _WORDS.get(word, "")
    if code not in PLATE_TYPES:
        raise FieldError("号牌种类代码不存在")
    return code


def is_green(raw: object) -> bool:
    """The speaker names the colour of new-energy plates, not one of their two sizes."""
    return isinstance(raw, str) and len(raw) <= MAX_CHARS and normal(raw).replace(" ", "") == GREEN
