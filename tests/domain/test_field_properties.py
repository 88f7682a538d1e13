"""What holds of every field for any input: the door is idempotent, lets nothing through that the rule forbids, and stores plain digits."""

import re
import unicodedata
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.fields import FIELDS, FieldError, accept
from domain.rules.cause import CAUSES
from domain.rules.plate_type import PLATE_TYPES
from domain.rules.reporter import ROLES
from tests.fakes.values import NOON

pytestmark = pytest.mark.unit

WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
PROVINCES = "京津冀晋蒙辽吉黑沪苏浙皖闽赣鲁豫鄂湘粤桂琼渝川贵云藏陕甘青宁新使"
DIGITS = "0123456789０１２３４５６７８９零一二三四五六七八九幺洞拐勾两٣४௫"
NOISE = " -—·.()（）,，　\u200b\ufeff"


def _is_identity(value: str) -> bool:
    born = date(int(value[6:10]), int(value[10:12]), int(value[12:14]))
    check = "10X98765432"[sum(int(digit) * weight for digit, weight in zip(value[:17], WEIGHTS, strict=True)) % 11]
    return bool(re.fullmatch(r"[1-9][0-9]{16}[0-9X]", value)) and value[17] == check and date(1900, 1, 1) <= born <= NOON.date()


def _is_time(value: str) -> bool:
    when = datetime.strptime(value, "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 - the wire's time has no zone
    return when.year >= 2000 and when.second == 0 and value <= "2026-07-27 15:25:00"


RULES: dict[str, Any] = {
    "bool": lambda value: isinstance(value, bool),
    "jdcsl": lambda value: type(value) is int and 0 <= value <= 99,
    "sgfssj": _is_time,
    "bjrjs": lambda value: value in ROLES,
    "sgyy": lambda value: value in CAUSES or (0 < len(value) <= 200 and not re.search(r"[0-9]{6}", value)),
    "xm": lambda value: 2 <= len(value) <= 20 and not any(char.isdigit() for char in value),
    "hpzl": lambda value: value in PLATE_TYPES,
    "hphm": lambda value: 7 <= len(value) <= 8 and (value[0] in PROVINCES or value[0].isdigit()),
    "sfzmhm": _is_identity,
    "sjhm": lambda value: re.fullmatch(r"1[3-9][0-9]{9}", value) is not None,
}


def rule_of(key: str) -> Any:
    return RULES["bool"] if FIELDS[key].kind == "bool" else RULES.get(key) or RULES[key[:-1]]


def spoken(digits: str) -> st.SearchStrategy[str]:
    """The digits of a number as people and recognisers write them, with noise in between."""
    ways = {str(number): [char for char in DIGITS if unicodedata.numeric(char, -1) == number] for number in range(10)}
    each = [st.tuples(st.sampled_from(ways.get(digit) or [digit]), st.sampled_from(["", *NOISE])) for digit in digits]
    return st.tuples(*each).map(lambda pairs: "".join(char + noise for char, noise in pairs))


PLATES = st.builds(
    lambda province, letter, rest: province + letter + rest,
    st.sampled_from(PROVINCES),
    st.sampled_from("ABCDEFGHIJKLMNOPZ"),
    st.text(alphabet="0123456789ABDFIO挂警港学·", min_size=3, max_size=8),
)
TIMES = st.builds(
    lambda day, part, hour, rest: day + part + hour + rest,
    st.sampled_from(["", "昨天", "今天", "前天", "上周五", "7月25号", "2026-07-25", "明天"]),
    st.sampled_from(["", "上午", "下午", "晚上", "凌晨", "中午"]),
    st.sampled_from(["", "三点", "3点", "十二点", "25点", "15:20", "8点半", "十分钟前"]),
    st.sampled_from(["", "左右", "。", "的时候", "发生的"]),
)
RAW = st.one_of(
    st.text(max_size=60),
    st.text(alphabet=DIGITS + NOISE + "XxＸ叉是否有无没辆台点半年月日", max_size=40),
    st.integers(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.booleans(),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    PLATES,
    TIMES,
    spoken("13800138000"),
    spoken("11010519491231002"),
    st.sampled_from([*PLATE_TYPES, *PLATE_TYPES.values(), *ROLES, *CAUSES, "蓝牌", "绿牌", "张三", "买买提·吐尔逊", "弓长张"]),
)


def door(key: str, raw: object) -> tuple[Any, str]:
    """The stored value, or None and why not."""
    try:
        return accept(key, raw, NOON), ""
    except FieldError as error:
        return None, str(error)


@given(st.sampled_from(list(FIELDS)), RAW)
def test_what_passes_the_door_obeys_its_rule_and_passes_again_unchanged(key: str, raw: object):
    value, message = door(key, raw)
    assert (value is None) is bool(message)
    if value is None:
        return
    assert rule_of(key)(value), (key, value)
    assert accept(key, value, NOON) == value
    assert all(char in "0123456789" for char in str(value) if char.isdigit())


@given(st.sampled_from(list(FIELDS)), st.text(min_size=4, max_size=60))
def test_a_refusal_never_holds_what_was_refused(key: str, raw: str):
    _, message = door(key, raw)
    assert raw.strip() not in message or raw.strip() in FIELDS[key].label


@given(spoken("13800138000"))
def test_a_phone_number_is_understood_however_it_is_written(raw: str):
    assert door("sjhm1", raw) in (("13800138000", ""), (None, "手机号过长，最多30个字符"))


@pytest.mark.parametrize("key", FIELDS)
@pytest.mark.parametrize("raw", [b"1", object(), {"a": 1}, [1], float("nan"), float("inf"), 10**400, "\ud800", "\x00", "1" * 5000])
def test_whatever_is_no_value_is_refused_and_nothing_breaks(key: str, raw: object):
    with pytest.raises(FieldError):
        accept(key, raw, NOON)
