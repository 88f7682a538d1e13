"""Raw words of an extraction → values worth storing. Each function gives None for what it cannot make sense of."""

import re
from datetime import datetime, timedelta
from typing import Any

_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_CHECKS = "10X98765432"
_PLATE = re.compile(r"[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-HJ-NP-Z][A-HJ-NP-Z0-9]{4,5}[A-HJ-NP-Z0-9挂学港澳]")
_NUMERALS = {"零": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_AGO = re.compile(r"(半|[零一二两三四五六七八九十]{1,3}|\d{1,3})个?(半)?多?(分钟|小时|钟头|刻钟|天)以?前")
_CLOCK = re.compile(
    r"(今天|昨天|前天|昨晚|今早|今晚|(?P<month>\d{1,2})月(?P<day>\d{1,2})[日号])?(凌晨|早上|上午|中午|下午|傍晚|晚上)?"
    r"([零一二两三四五六七八九十]{1,3}|\d{1,2})(?:点钟?|时|:)(半|一刻|三刻|[零一二三四五六七八九十]{1,3}|\d{1,2})?分?"
)
_STAMP = re.compile(r"(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})日?T?\s*(\d{1,2}):(\d{2})")
_NOW = re.compile(r"刚刚|刚才|刚发生|现在发生|就在刚才")
_MINUTES = {"分钟": 1, "小时": 60, "钟头": 60, "刻钟": 15, "天": 24 * 60}
_AFTERNOON = ("下午", "傍晚", "晚上", "昨晚", "今晚")


def numeral(word: str) -> int | None:
    """0 to 99, in figures or in Chinese."""
    if word.isdigit():
        return int(word)
    tens, has_ten, ones = word.partition("十")
    if not has_ten:
        return _NUMERALS.get(word)
    high, low = _NUMERALS.get(tens, 1 if not tens else None), _NUMERALS.get(ones, 0 if not ones else None)
    return None if high is None or low is None else high * 10 + low


def accident_time(phrase: str, now: datetime, *, is_off: bool = False) -> str | None:
    """Local time as "YYYY-MM-DD HH:MM:SS", whole minutes, never in the future. `is_off` takes every relative time for now."""
    at = _moment(re.sub(r"大概|大约|差不多|左右", "", phrase), now.replace(second=0, microsecond=0), is_off=is_off)
    if at is None or at > now + timedelta(minutes=5):
        return None
    return min(at, now).strftime("%Y-%m-%d %H:%M:00")


def _moment(phrase: str, now: datetime, *, is_off: bool) -> datetime | None:
    if _NOW.search(phrase):
        return now
    if (ago := _AGO.search(phrase)) is not None:
        return now if is_off else _time_ago(ago, now)
    if (stamp := _STAMP.search(phrase)) is not None:
        return _exact(*(int(part) for part in stamp.groups()))
    if (clock := _CLOCK.search(phrase)) is not None and "明天" not in phrase:
        return _clock_time(clock, now)
    return None


def _time_ago(ago: re.Match[str], now: datetime) -> datetime | None:
    word, half, unit = ago.groups()
    amount = 0.5 if word == "半" else numeral(word)
    if amount is None:
        return None
    return now - timedelta(minutes=(amount + (0.5 if half else 0)) * _MINUTES[unit])


def _clock_time(clock: re.Match[str], now: datetime) -> datetime | None:
    day_word, part, hour_word, minute_word = clock.group(1), clock.group(4), clock.group(5), clock.group(6)
    hour = numeral(hour_word)
    minute = {None: 0, "半": 30, "一刻": 15, "三刻": 45}.get(minute_word)
    if minute is None:
        minute = numeral(minute_word or "")
    if hour is None or minute is None or hour > 23 or minute > 59:
        return None
    if hour < 12 and (part in _AFTERNOON or day_word in _AFTERNOON or (part == "中午" and hour < 10)):
        hour += 12
    day = now - timedelta(days={"昨天": 1, "昨晚": 1, "前天": 2}.get(day_word or "", 0))
    if clock.group("month"):
        dated = _exact(now.year, int(clock.group("month")), int(clock.group("day")), 0, 0)
        if dated is None:
            return None
        day = dated
    at = day.replace(hour=hour, minute=minute)
    is_bare = part is None and day_word is None
    if is_bare and hour < 12 and at + timedelta(hours=12) <= now:
        return at + timedelta(hours=12)
    return at


def _exact(year: int, month: int, day: int, hour: int, minute: int) -> datetime | None:
    try:
        return datetime(year, month, day, hour, minute)  # noqa: DTZ001 - the flow knows local time only, as its owner built it
    except ValueError:
        return None


def plate(raw: Any, *, is_wrong: bool = False) -> str | None:
    """Upper case, no separators. `is_wrong` spoils the last digit."""
    text = re.sub(r"[\s·•.\-]", "", str(raw)).upper()
    if not _PLATE.fullmatch(text):
        return None
    if not is_wrong:
        return text
    last = max((index for index, char in enumerate(text) if char.isdigit()), default=None)
    return text if last is None else f"{text[:last]}{(int(text[last]) + 1) % 10}{text[last + 1 :]}"


def plate_kind(number: str) -> str:
    """Type code that the pattern of the number shows, else the small blue plate."""
    if len(number) == 8:
        return "51" if number[-1].isalpha() and number[2:7].isdigit() else "52"
    return {"挂": "15", "学": "16", "港": "26", "澳": "27"}.get(number[-1], "02")


def identity(raw: Any) -> str | None:
    """18 characters with a right check character."""
    text = str(raw).upper()
    if not re.fullmatch(r"[1-9]\d{16}[\dX]", text):
        return None
    total = sum(int(digit) * weight for digit, weight in zip(text, _WEIGHTS, strict=False))
    return text if _CHECKS[total % 11] == text[17] else None


def age_on(number: str, day: datetime) -> int:
    """Whole years of the holder of an identity number."""
    born = (int(number[6:10]), int(number[10:12]), int(number[12:14]))
    return day.year - born[0] - ((day.month, day.day) < born[1:])


def mobile(raw: Any) -> str | None:
    text = re.sub(r"\D", "", str(raw))
    return text if re.fullmatch(r"1[3-9]\d{9}", text) else None
