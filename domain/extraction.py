"""What code can read out of one utterance by itself: facts of the accident, data of a party, dictated digits, a verdict on a shown value.

Pure: text, session and clock in, an `Extraction` out; nothing is merged here. A value that must be said back first is a candidate.
Whatever is not certain is left out: the model may fill a gap, and a gap is asked for.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from domain.answers import is_correction, yes_or_no
from domain.fields import FieldError, accept, derive, require_consistent
from domain.numbers import number_candidates, said_plate
from domain.questions import QuestionId, fields_of, party_of
from domain.rules.accident_time import TimeReading, checked, read_time, wire_time
from domain.rules.cause import cause_label
from domain.rules.identity_number import identity_text
from domain.rules.name import bare_name
from domain.rules.reporter import role_in
from domain.rules.wording import NUMERAL, normal, numeral
from domain.session import FieldValue, SessionState

_Q = QuestionId
_TARGET_DIGITS = {"sfzmhm": 18, "sjhm": 11}

_CLAUSE = re.compile(r"[,，。.!！;；、\n]|但是|不过|可是")
_UNSURE = re.compile(r"没注意|没看|不知道|不清楚|不确定|有没有|是不是|吗|\?")
_NEGATION = r"(?:没有|没得|没|无|木有|冇得|冇|不是|不涉及)"
_NON_MOTOR = re.compile(r"非机动车|(?<!新能源)电动(?:自行)?车|电瓶车|小?电驴子?|自行车|三轮车|外卖车|共享单车")
_ELECTRIC_CAR = re.compile(r"电动汽车|新能源车|电动小汽车|四轮电动")
_MOTORCYCLE = re.compile(r"摩托(?:车)?|(?<!司)机车(?!速)|踏板车|磨托")
_NOTHING_OF_IT = re.compile(r"(?:都|全)?(?:没有|没|无|没得|木有|冇)(?:的|啊|了|呢)*[。.!]?")
_AT_SCENE = re.compile(r"(?:在|到|回来?)(?:事故)?现场|没走|没动|没挪窝|还在(?:这|原地)|就在这")
_LEFT_SCENE = re.compile(
    r"(?:不在|离开)(?:了)?(?:事故)?现场|(?:我|我们)[^,，。]{0,4}(?:离开了|开走了|回家了|走了)|回到?家了|在修理厂|在4s店"
)
_COUNTED = re.compile(rf"(?P<only>就|只有?|一共|总共|共)?(?:是|有)?(?P<n>{NUMERAL})[辆台部](?:小|轿|私家|机动|汽)?车?")
_ALONE = re.compile(r"就我(?:自己)?(?:一辆|一个|一台)?(?:车)?$|单方(?:事故)?|没有(?:别的|其他)(?:的)?车|只有我(?:一辆|自己)?")
_BARE_COUNT = re.compile(rf"(?:就|一共|总共|有|是|对[,，]?)?(?P<n>{NUMERAL})(?:[辆台部个])?(?:小|轿|汽)?车?[。.!]?")
_ACCIDENT_VERB = re.compile(r"发生|撞|追|刮|碰|蹭|出的?事")
_EXACT_TIME = re.compile(
    r"前|凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|半夜|今天|昨|今早|今晚|明|后天|星期|周|礼拜|\d{4}[-/年]|[0-9一二三四五六七八九十]+月|刚"
)
_NAMED = re.compile(r"(?:我叫|对方叫|他叫|她叫|姓名(?:是|叫|[:：])|名字(?:是|叫))\s*(?P<name>[\u3400-\u9fff·]{2,6})(?=$|[,，。.!！;；\s])")
_PLATE_COLOUR = re.compile(r"(?P<colour>蓝牌|黄牌|绿牌)")
_TAIL_DIGITS = re.compile(r"(?:后面|最后|末尾|尾号)[^0-9零一二三四五六七八九十]*[一二两三四五六七八0-9]?位?(?:是|应该是|为)(?P<digits>.+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """`values` may be stored now, `candidates` only after a "yes". `partials` replaces the dictated digits of its fields ("" drops them).
    `verdict` answers a confirmation that was open; `refusal` is the message of a value that broke its rule."""

    values: Mapping[str, FieldValue] = field(default_factory=dict[str, FieldValue])
    candidates: Mapping[str, FieldValue] = field(default_factory=dict[str, FieldValue])
    partials: Mapping[str, str] = field(default_factory=dict[str, str])
    verdict: bool | None = None
    is_correction: bool = False
    refusal: str | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.values or self.candidates or self.partials or self.verdict is not None or self.refusal)


class _Reader:
    """Collects the parts of one extraction; one instance an utterance."""

    def __init__(self, text: str, session: SessionState, now: datetime) -> None:
        self.text = normal(text)
        self.session = session
        self.now = now
        self.pending = session.dialogue.pending_question or ""
        self.values: dict[str, FieldValue] = {}
        self.candidates: dict[str, FieldValue] = {}
        self.partials: dict[str, str] = {}
        self.refusal: str | None = None

    def store(self, key: str, raw: object) -> None:
        """Accept a value; a refused one leaves its message."""
        try:
            value = accept(key, raw, self.now)
            derived = derive(key, value, self.session.form)
            require_consistent({**self.session.form, **self.values, **derived}, derived)
        except FieldError as error:
            self.refusal = str(error)
        else:
            self.values |= derived


def extract(text: str, session: SessionState, now: datetime) -> Extraction:
    """Read one utterance. Total: what cannot be read is simply not in the result."""
    reader = _Reader(text, session, now)
    pending = reader.pending
    is_confirmation = pending.startswith(("CONFIRM_", "SUMMARY_")) and pending != _Q.CONFIRM_INJURY
    party = party_of(session.stage)
    readers: tuple[Callable[[_Reader], None], ...] = (_party_data, _dictation) if party else (_facts, _early_numbers)
    for read in readers:
        read(reader)
    return Extraction(
        values=reader.values,
        candidates=reader.candidates,
        partials=reader.partials,
        verdict=yes_or_no(text) if is_confirmation else None,
        is_correction=is_correction(text),
        refusal=reader.refusal,
    )


def _facts(reader: _Reader) -> None:
    _read_two_wheelers(reader)
    _read_scene(reader)
    _read_count(reader)
    _read_time(reader)
    if label := cause_label(reader.text):
        reader.values["sgyy"] = label
    if role := role_in(reader.text):
        reader.values["bjrjs"] = role


def _read_two_wheelers(reader: _Reader) -> None:
    if reader.pending == _Q.FJDC_MTC and _NOTHING_OF_IT.fullmatch(reader.text):
        reader.values |= {"ywfjdc": False, "ywmtc": False}
        return
    for clause in _CLAUSE.split(_ELECTRIC_CAR.sub("汽车", reader.text)):
        for key, pattern in (("ywfjdc", _NON_MOTOR), ("ywmtc", _MOTORCYCLE)):
            match = pattern.search(clause)
            if match is None or _UNSURE.search(clause):
                continue
            is_denied = re.search(_NEGATION, clause[: match.start()]) is not None
            reader.values[key] = not is_denied or reader.values.get(key) is True


def _read_scene(reader: _Reader) -> None:
    if _UNSURE.search(reader.text):
        return
    if _LEFT_SCENE.search(reader.text):
        reader.candidates["sfsgxc"] = False
    elif _AT_SCENE.search(reader.text):
        reader.values["sfsgxc"] = True
    elif reader.pending == _Q.SFSGXC:
        if re.fullmatch(r"(?:还|都|我)*在(?:的|呢|啊|这|这里|这儿)*[。.!]?", reader.text) or yes_or_no(reader.text) is True:
            reader.values["sfsgxc"] = True
        elif re.fullmatch(r"(?:已经|都)?(?:不在|没在|离开|走)(?:了|的|啊)*[。.!]?", reader.text):
            reader.candidates["sfsgxc"] = False


def _read_count(reader: _Reader) -> None:
    """Only counts that are said: one car among others ("前面一辆车") is no count."""
    bare = _BARE_COUNT.fullmatch(reader.text) if reader.pending in (_Q.JDCSL, _Q.CONFIRM_JDCSL) else None
    if bare:
        reader.store("jdcsl", numeral(bare["n"]))
        return
    if reader.pending == _Q.JDCSL and _ALONE.search(reader.text):
        reader.values["jdcsl"] = 1
        return
    for match in _COUNTED.finditer(reader.text):
        number = numeral(match["n"])
        if number == 2 or (number == 1 and match["only"]):
            reader.values["jdcsl"] = number
            return


def _read_time(reader: _Reader) -> None:
    is_asked = reader.pending in (_Q.SGFSSJ, _Q.CONFIRM_SGFSSJ)
    if not is_asked and not (_EXACT_TIME.search(reader.text) and _ACCIDENT_VERB.search(reader.text)):
        return
    reading = read_time(reader.text, reader.now)
    if reading is None or reading.needs_hour:
        return
    _take_time(reader, reading)


def _take_time(reader: _Reader, reading: TimeReading) -> None:
    try:
        value = wire_time(checked(reading.when, reader.now))
    except FieldError as error:
        reader.refusal = str(error)
        return
    (reader.candidates if reading.is_doubtful else reader.values)["sgfssj"] = value


def _early_numbers(reader: _Reader) -> None:
    """Numbers said before their question are kept for it. Before verification the speaker is party 1."""
    found = number_candidates(reader.text, 1, reader.now)
    reader.candidates |= {key: value for key, value in found.items() if reader.session.form.get(key) is None}


def _party_data(reader: _Reader) -> None:
    party = party_of(reader.session.stage)
    if found := said_plate(reader.text):
        if found.is_doubtful:
            reader.candidates[f"hphm{party}"] = found.number
        else:
            reader.store(f"hphm{party}", found.number)
    if colour := _PLATE_COLOUR.search(reader.text):
        _read_colour(reader, party, colour["colour"])
    if named := _NAMED.search(reader.text):
        reader.store(f"xm{party}", named["name"])
    elif reader.pending == f"XM_{party}" and (name := bare_name(reader.text)):
        reader.store(f"xm{party}", name)
    reader.candidates |= number_candidates(reader.text, party, reader.now)


def _read_colour(reader: _Reader, party: int, colour: str) -> None:
    """A green plate's size shows in its pattern, which has set the type already."""
    if colour != "绿牌" and reader.session.form.get(f"hphm{party}") is not None:
        reader.store(f"hpzl{party}", colour)


def _dictation(reader: _Reader) -> None:
    """Digits in pieces: only while the number (or the confirmation of it) is the open question, and only in an utterance of digits."""
    key = next((name for name in fields_of(reader.pending) if name[:-1] in _TARGET_DIGITS), None)
    if key is None or reader.pending.startswith("SUMMARY") or key in reader.candidates:
        return
    target = _TARGET_DIGITS[key[:-1]]
    known = str(reader.session.dialogue.candidates.get(key) or "")
    if tail := _TAIL_DIGITS.search(reader.text):
        digits = identity_text(tail["digits"])
        if known and re.fullmatch(r"[0-9]+X?", digits) and len(digits) < len(known):
            _complete(reader, key, known[: -len(digits)] + digits)
        return
    digits = identity_text(reader.text)
    if not re.fullmatch(r"[0-9]+X?", digits):
        return
    said = reader.session.dialogue.partials.get(key, "") + digits
    if len(said) < target:
        is_phone_for_identity = key.startswith("sfzmhm") and number_candidates(digits, 1, reader.now)
        if not is_phone_for_identity:
            reader.partials[key] = said
    else:
        _complete(reader, key, said)


def _complete(reader: _Reader, key: str, number: str) -> None:
    """Enough digits: a valid number waits for its "yes", any other is refused and dropped."""
    reader.partials[key] = ""
    try:
        value = accept(key, number, reader.now)
        require_consistent({**reader.session.form, key: value}, (key,))
    except FieldError as error:
        reader.refusal = str(error)
    else:
        reader.candidates[key] = value
