"""When the accident happened: literal times and the ways people say it, read against a clock.

The stored value is the wire string "YYYY-MM-DD HH:MM:SS" in China Standard Time, to the minute. China has one offset and no summer time,
so a fixed offset is exact. `read_time` finds a time in running text; `accident_time` takes a whole value.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from domain.rules.field_error import FieldError
from domain.rules.wording import NUMERAL, ascii_digits, normal, numeral, spoken_text

CHINA = timezone(timedelta(hours=8), "Asia/Shanghai")
_WIRE = "%Y-%m-%d %H:%M:%S"
MAX_CHARS = 40
TOLERANCE = timedelta(minutes=5)  # a phone's clock may run ahead of ours
_HALF = r"半|一刻|三刻"

_LITERAL = re.compile(
    r"(?P<year>\d{4})[-/.年](?P<month>\d{1,2})[-/.月](?P<day>\d{1,2})日?[T ]*"
    r"(?:(?P<hour>\d{1,2})[:点时](?P<minute>\d{1,2})?分?(?::(?P<second>\d{1,2})(?:\.\d+)?)?"
    r" ?(?P<half>[AaPp][Mm])?(?P<zone>Z|z|[+-]\d{2}(?::?\d{2})?)?)?"
)
_AGO = re.compile(
    rf"(?:(?P<hours>(?<![0-9]){NUMERAL})个?(?:小时|钟头)零?)?(?P<n>(?<![0-9])(?:[0-9]{{3}}|{NUMERAL})|半|几)?个?"
    r"(?P<half1>半)?多?(?P<unit>分钟|小时|钟头|刻钟|天)(?P<half2>半)?多?(?:左右)?(?:之前|以前|前)"
)
_JUST_NOW = re.compile(r"刚刚|刚才|就在刚|刚发生|刚出|刚撞|刚追|刚刮|刚碰|^(?:就是)?现在[。.!]?$|^刚[。.!]?$")
_DAY = r"大前天|前天|前晚|前夜|昨天|昨日|昨儿|昨晚|昨夜|今天|今日|今儿|今早|今晚|明天|明儿|明早|明晚|后天"
_WEEKDAY = r"(?P<last>上)?(?:个)?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])"
_DATE = rf"(?:(?:(?P<y>[0-9]{{4}})年)?(?P<m>{NUMERAL})月)?(?P<d>{NUMERAL}|[二三]十[一二三四五六七八九]?)[号日]"
_PERIOD = r"凌晨|清晨|早上|早晨|上午|中午|下午|午后|傍晚|晚上|夜里|半夜|夜间"
_CLOCK = rf"(?P<hour>(?<![0-9]){NUMERAL})(?:[点时:](?:钟|整)?)(?P<minute>{_HALF}|[0-9]{{1,2}}|[零〇]?{NUMERAL})?分?"
# Words that move what the rules below would read: not for them (domain/rules/loose_time.py may know, and the speaker confirms).
_BEYOND = re.compile(
    r"差[一二两三四五六七八九十0-9]{1,3}[分刻]|上个?月|上上|去年|前年|周末|元旦|除夕|春节|清明|端午|中秋|国庆|正月|腊月|农历"
)
_HAS_SPOKEN_HOUR = re.compile(rf"{_PERIOD}|[0-9一二两三四五六七八九十]点")
_SPOKEN = re.compile(rf"(?:(?P<dayword>{_DAY})|{_WEEKDAY}|{_DATE})?的?(?P<period>{_PERIOD})?的?(?:{_CLOCK})?")


_PERIODS_IN_DAYS = {"晚": "晚上", "夜": "晚上", "早": "早上"}  # last night, this morning: the day word says the part too
_NIGHT_DAYS = frozenset({"前晚", "前夜", "昨晚", "昨夜"})


@dataclass(frozen=True, slots=True)
class TimeReading:
    """`when` is aware, to the minute. `is_doubtful`: say it back before storing. `needs_hour`: only the day or its part is known."""

    when: datetime
    is_doubtful: bool = False
    needs_hour: bool = False


def wire_time(when: datetime) -> str:
    return when.astimezone(CHINA).replace(second=0, microsecond=0).strftime(_WIRE)


def time_from_wire(text: str) -> datetime:
    return datetime.strptime(text, _WIRE).replace(tzinfo=CHINA)


def accident_time(raw: object, label: str, now: datetime) -> str:
    """The wire string. Raises FieldError: unreadable, future, before 2000."""
    if isinstance(raw, (dict, list)):
        raise FieldError(f"{label}类型不正确")
    if isinstance(raw, str):
        spoken_text(raw, label, MAX_CHARS)
    return wire_time(checked(_whole(raw, now), now))


def checked(when: datetime | None, now: datetime) -> datetime:
    """A time that may be stored; within the tolerance ahead of the clock it is now. Raises FieldError."""
    if when is None:
        raise FieldError("无法识别事故发生时间")
    if when > now + TOLERANCE:
        raise FieldError("事故发生时间不能晚于当前时间")
    if when.astimezone(CHINA).year < 2000:
        raise FieldError("事故发生时间不合理")
    return min(when, now)


def _whole(raw: object, now: datetime) -> datetime | None:
    if isinstance(raw, bool) or not isinstance(raw, (int, str)) or (isinstance(raw, int) and not 0 <= raw < 10**13):
        return None
    text = ascii_digits(normal(str(raw)))
    if re.fullmatch(r"\d{10}|\d{13}", text):
        return datetime.fromtimestamp(int(text) / (1000 if len(text) == 13 else 1), CHINA)
    reading = read_time(text, now)
    return None if reading is None or reading.needs_hour else reading.when


def read_time(text: str, now: datetime) -> TimeReading | None:
    """The time a text names; it may lie in the future (see `checked`). None when it names none."""
    plain = ascii_digits(normal(text))
    if _BEYOND.search(plain):
        return None
    clock = now.astimezone(CHINA).replace(second=0, microsecond=0)
    readers: tuple[Callable[[str, datetime], TimeReading | None], ...] = (_literal, _ago, _spoken, _just_now)
    try:
        return next((reading for read in readers if (reading := read(plain, clock)) is not None), None)
    except (ValueError, OverflowError):  # 32 o'clock, 30 February
        return None


def _literal(text: str, clock: datetime) -> TimeReading | None:
    match = _LITERAL.search(text)
    if match is None or (match["hour"] is None and _HAS_SPOKEN_HOUR.search(text)):
        return None
    hour = int(match["hour"] or 0)
    if match["half"] and hour <= 12:
        hour = hour % 12 + (12 if match["half"].lower() == "pm" else 0)
    zone = CHINA
    if match["zone"] and match["zone"] not in "Zz":
        sign = -1 if match["zone"][0] == "-" else 1
        digits = match["zone"][1:].replace(":", "")
        zone = timezone(sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0)))
    elif match["zone"]:
        zone = timezone(timedelta(0))
    when = datetime(int(match["year"]), int(match["month"]), int(match["day"]), hour, int(match["minute"] or 0), tzinfo=zone)
    return TimeReading(when.astimezone(CHINA), needs_hour=match["hour"] is None)


def _ago(text: str, clock: datetime) -> TimeReading | None:
    match = _AGO.search(text.replace(" ", ""))
    if match is None or not (match["n"] or match["half1"]) or match["n"] == "几":
        return None
    amount = 0.5 if match["n"] == "半" else float(_amount(match["n"])) if match["n"] else 0.0
    amount += 0.5 if match["half1"] else 0
    amount += 0.5 if match["half2"] else 0
    unit = {"分钟": timedelta(minutes=1), "刻钟": timedelta(minutes=15), "天": timedelta(days=1)}.get(match["unit"], timedelta(hours=1))
    return TimeReading(clock - amount * unit - timedelta(hours=numeral(match["hours"] or "0") or 0))


def _amount(text: str) -> int:
    return int(text) if text.isdecimal() else numeral(text) or 0


def _just_now(text: str, clock: datetime) -> TimeReading | None:
    return TimeReading(clock) if _JUST_NOW.search(text.replace(" ", "")) else None


def _spoken(text: str, clock: datetime) -> TimeReading | None:
    for match in _SPOKEN.finditer(text.replace(" ", "")):
        if match["hour"] or match["dayword"] or match["weekday"] or match["d"] or match["period"]:
            return _on_day(match, clock)
    return None


def _on_day(match: re.Match[str], clock: datetime) -> TimeReading:
    day, is_named = _day(match, clock)
    period = match["period"] or _PERIODS_IN_DAYS.get((match["dayword"] or "")[-1:])
    if match["hour"] is None:
        noon = day.replace(hour=12, minute=0)
        return TimeReading(noon) if period == "中午" else TimeReading(noon, needs_hour=True)
    hour, minute = _hour(match, period)
    if hour > 24:
        raise ValueError("no such hour")
    if period is None and not is_named and hour <= 12:
        return _latest_past(hour, minute, clock)
    # 12 at night is the start of the next day; one o'clock "last night" already was today's.
    past_midnight = period in ("晚上", "夜里", "半夜") and (hour == 24 or (match["dayword"] in _NIGHT_DAYS and hour < 5))
    when = day.replace(hour=hour % 24, minute=minute) + timedelta(days=1 if past_midnight else 0)
    if is_named and period is None and hour < 12:
        return TimeReading(when, is_doubtful=True)
    return TimeReading(when, is_doubtful=past_midnight and hour < 5)


def _hour(match: re.Match[str], period: str | None) -> tuple[int, int]:
    hour = numeral(match["hour"]) or 0
    minute_text = match["minute"] or ""
    minute = {"": 0, "半": 30, "一刻": 15, "三刻": 45}.get(minute_text)
    if minute is None:
        minute = numeral(minute_text.lstrip("零〇") or "0") or 0
    if (
        (period in ("下午", "午后", "傍晚") and hour < 12)
        or (period in ("晚上", "夜里", "半夜", "夜间") and 5 <= hour <= 12)
        or (period == "中午" and hour < 3)
    ):
        hour += 12
    elif period == "凌晨" and hour == 12:
        hour = 0
    return hour, minute


def _latest_past(hour: int, minute: int, clock: datetime) -> TimeReading:
    """A bare hour: the latest past of its two readings; doubtful when the nearer one lies ahead."""
    today = [clock.replace(hour=one % 24, minute=minute) for one in (hour % 12, hour % 12 + 12)]
    past = [when for when in today if when <= clock]
    if not past:
        return TimeReading(today[1] - timedelta(days=1), is_doubtful=True)
    return TimeReading(past[-1], is_doubtful=len(past) == 1)


def _day(match: re.Match[str], clock: datetime) -> tuple[datetime, bool]:
    """The day a match names, at the clock's hour, and whether it names one."""
    word = match["dayword"]
    if word:
        offset = {"大前天": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后天": 2}
        return clock + timedelta(days=next(days for start, days in offset.items() if word.startswith(start))), True
    if match["weekday"]:
        wanted = "一二三四五六日".index(match["weekday"].replace("天", "日"))
        back = clock.weekday() - wanted
        return clock - timedelta(days=back + 7 if match["last"] else back % 7), True
    if match["d"]:
        if match["y"]:
            return clock.replace(year=int(match["y"]), month=numeral(match["m"]) or 0, day=numeral(match["d"]) or 0), True
        return _past_date(numeral(match["m"]) if match["m"] else None, numeral(match["d"]) or 0, clock), True
    return clock, False


def _past_date(month: int | None, day: int, clock: datetime) -> datetime:
    """The nearest past date of that name. Raises ValueError for a day that does not exist."""
    if month is not None:
        when = clock.replace(month=month, day=day)
        return when if when <= clock else when.replace(year=clock.year - 1)
    if day <= clock.day:
        return clock.replace(day=day)
    return (clock.replace(day=1) - timedelta(days=1)).replace(day=day)
