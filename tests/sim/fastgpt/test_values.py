"""Raw words to stored values, and what an identity number tells."""

from datetime import datetime

import pytest

from sim.fastgpt.code.values import accident_time, age_on, identity, mobile, numeral, plate, plate_kind

pytestmark = pytest.mark.unit

NOW = datetime(2026, 7, 27, 15, 20)  # noqa: DTZ001 - the flow knows local time only


@pytest.mark.parametrize(
    ("phrase", "stored"),
    [
        ("刚刚", "2026-07-27 15:20:00"),
        ("十分钟前", "2026-07-27 15:10:00"),
        ("大概半小时前", "2026-07-27 14:50:00"),
        ("一个半小时前", "2026-07-27 13:50:00"),
        ("三天前", "2026-07-24 15:20:00"),
        ("三点", "2026-07-27 15:00:00"),
        ("四点", "2026-07-27 04:00:00"),
        ("今天下午三点", "2026-07-27 15:00:00"),
        ("早上八点半", "2026-07-27 08:30:00"),
        ("两点一刻", "2026-07-27 14:15:00"),
        ("昨天下午三点", "2026-07-26 15:00:00"),
        ("昨晚十一点", "2026-07-26 23:00:00"),
        ("7月25号下午3点", "2026-07-25 15:00:00"),
        ("2026-07-25 15:00", "2026-07-25 15:00:00"),
        ("2026-07-27 15:22", "2026-07-27 15:20:00"),
        ("明天下午三点", None),
        ("下午五点", None),
        ("2026-02-30 10:00", None),
        ("二十五点", None),
        ("昨天", None),
    ],
)
def test_a_spoken_time_becomes_a_moment_that_has_passed(phrase: str, stored: str | None):
    assert accident_time(phrase, NOW) == stored


@pytest.mark.parametrize(
    ("word", "number"), [("十", 10), ("二十", 20), ("十五", 15), ("两", 2), ("九十九", 99), ("7", 7), ("好", None), ("十好", None)]
)
def test_chinese_numerals_up_to_ninety_nine(word: str, number: int | None):
    assert numeral(word) == number


@pytest.mark.parametrize(("raw", "number"), [("京a 12345", "京A12345"), ("粤BD12345", "粤BD12345"), ("京A1234", None), ("A12345", None)])
def test_a_plate_is_upper_case_without_gaps(raw: str, number: str | None):
    assert plate(raw) == number


@pytest.mark.parametrize(("number", "kind"), [("京A12345", "02"), ("粤BD12345", "52"), ("粤B12345D", "51"), ("苏A1234挂", "15")])
def test_the_pattern_of_a_plate_tells_its_kind(number: str, kind: str):
    assert plate_kind(number) == kind


def test_an_identity_number_needs_its_check_character():
    assert identity("11010519491231002x") == "11010519491231002X"
    assert identity("110105194912310021") is None
    assert age_on("11010519491231002X", NOW) == 76


@pytest.mark.parametrize(("raw", "number"), [("138 0013 8000", "13800138000"), ("12800138000", None), ("1380013800", None)])
def test_a_mobile_has_eleven_digits(raw: str, number: str | None):
    assert mobile(raw) == number
