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
from domain.handoff_reason import HandoffReason
from domain.numbers import number_candidates, said_plate, said_special_plate, said_unclear_province
from domain.questions import CHOICES, QuestionId, fields_of, party_of
from domain.rules.accident_time import CHINA, TimeReading, checked, read_time, wire_time
from domain.rules.cause import cause_label
from domain.rules.identity_number import identity_number, identity_text
from domain.rules.loose_time import loose_reading
from domain.rules.name import bare_name
from domain.rules.plate import AMBIGUOUS
from domain.rules.reporter import DRIVER, role_in
from domain.rules.wording import NUMERAL, normal, numeral
from domain.session import FieldValue, SessionState

_Q = QuestionId
_TARGET_DIGITS = {"sfzmhm": 18, "sjhm": 11}
_OLD_SERIES_DIGITS = 15
_OLD_SERIES = re.compile(r"(?:十五|15)位|[老旧]身份证|一代(?:身份)?证")

_CLAUSE = re.compile(r"[,，。.!！;；、\n]|但是|不过|可是")
_UNSURE = re.compile(r"没注意|没看|不知道|不清楚|不确定|有没有|是不是|吗|\?")
_NEGATION = r"(?:没有|没得|没|无|木有|冇得|冇|不是|不涉及)"
_NON_MOTOR = re.compile(
    r"非机动车|(?<!新能源)电动(?:自行)?车|电瓶车|小?电驴子?|自行车|三轮车|外卖车|共享单车|骑[^,，。]{0,2}单车|两轮(?:的)?电"
)
_ELECTRIC_CAR = re.compile(r"电动汽车|新能源(?:汽车|电车|车)|电动小?(?:汽车|轿车)|四轮(?:的)?电动?车?|纯电(?:动)?(?:汽车|车)")
_ELECTRIC_SOMETHING = re.compile(r"(?<![充发])电车")  # a bicycle to some, a car to others
_TWO_WHEELS = re.compile(r"两轮|二轮|两个轮|电瓶|电驴|自行车|骑|电动车(?!.{0,3}(?:不|没))|前(?:一个|者|面)|第一(?:个|种)")
_FOUR_WHEELS = re.compile(r"四轮|四个轮|汽车|轿车|小车|新能源|后(?:一个|者|面)|第二(?:个|种)")
_MOTORCYCLE = re.compile(r"摩托(?:车)?|(?<!司)机车(?!速)|踏板车|磨托")
_NOTHING_OF_IT = re.compile(r"(?:都|全)?(?:没有|没|无|没得|木有|冇)(?:的|啊|了|呢)*[。.!]?")
_AT_SCENE = re.compile(r"(?:在|到|回来?)(?:事故)?现场|没走|没动|没挪窝|还在(?:这|原地)|就在这")
_LEFT_SCENE = re.compile(
    r"(?:不在|离开)(?:了)?(?:事故)?现场|(?:我|我们)[^,，。]{0,4}(?:离开了|开走了|回家了|走了)|回到?家了|在修理厂|在4s店"
)
# Who drove off is not said: asked, because of the other party it would be flight (domain/hazards.py).
_SOMEBODY_LEFT = re.compile(r"^(?:[车已经都是早就先把车刚]{0,4})(?:开走了|走了|离开了)")
_COUNTED = re.compile(rf"(?P<only>就|只有?|一共|总共|共)?(?:是|有)?(?P<n>{NUMERAL})[辆台部](?:小|轿|私家|机动|汽)?车?")
_ALONE = re.compile(r"就我(?:自己)?(?:一辆|一个|一台)?(?:车)?$|单方(?:事故)?|没有(?:别的|其他)(?:的)?车|只有我(?:一辆|自己)?")
_IMPLIED_ONE = re.compile(r"(?:撞|碰|刮|蹭|剐)[^,，。]{0,4}(?:护栏|柱子?|墙|树|电线杆|路灯|石墩|隔离)|单方")
_IMPLIED_TWO = re.compile(r"追尾|追了尾|对方|前车|后车|另(?:外)?一[辆台部]")
_IMPLIED_MANY = re.compile(r"连环|三[辆台部]?车|[四五六七八九十][辆台部]车|多车|好几[辆台部]|几[辆台部]车")
_BARE_COUNT = re.compile(rf"(?:就|一共|总共|有|是|对[,，]?)?(?P<n>{NUMERAL})(?:[辆台部个])?(?:小|轿|汽)?车?[。.!]?")
_ACCIDENT_VERB = re.compile(r"发生|撞|追|刮|碰|蹭|出的?事")
_EXACT_TIME = re.compile(
    r"前|凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|半夜|今天|昨|今早|今晚|明|后天|星期|周|礼拜|\d{4}[-/年]|"
    r"[0-9一二三四五六七八九十]+月|刚"
)
_NAMED = re.compile(r"(?:我叫|对方叫|他叫|她叫|姓名(?:是|叫|[:：])|名字(?:是|叫))\s*(?P<name>[\u3400-\u9fff·]{2,6})(?=$|[,，。.!！;；\s])")
_PLATE_COLOUR = re.compile(r"(?P<colour>蓝牌|黄牌|绿牌)")
_PLACES = (
    r"[^0-9零一二三四五六七八九十是为]{0,6}(?:[一二两三四五六七八九0-9]{1,2}位)?(?:应该)?(?:数字?|号码?)?(?:应该)?(?:是|为|"
    r"改成)(?P<digits>.{1,30})$"
)
_TAIL_DIGITS = re.compile(rf"(?:后面|最后|末尾|尾号|后(?=[一二两三四五六七八0-9]位)){_PLACES}")
_HEAD_DIGITS = re.compile(rf"(?:前面|开头|最前|前(?=[一二两三四五六七八0-9]位)){_PLACES}")
# What people say around the digits they dictate.
_AROUND_DIGITS = re.compile(
    r"身份证|手机|电话|号码|接下来|接着|然后|后面|继续|应该|那个|就是|不对|不是|错了|说错|改成|前面|嗯|啊|哦|呃|额|吧|呀|哈|了|的|我|"
    r"您|他|再|是|号|好|对|[,，。.:：!！、;；\s]"
)
_CANNOT_REACH = re.compile(
    r"(?:联系|找|叫|问)不[上到着了](?:他|她|司机|驾驶人|驾驶员|车主|本人|人)?|(?:司机|驾驶人|驾驶员|本人|他|她)(?:人)?(?:现在)?(?:不在|"
    r"没在|走了|不接)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """`values` may be stored now, `candidates` only after a "yes". `partials` replaces the dictated digits of its fields ("" drops them).
    `verdict` answers a confirmation that was open; `refusal` is the message of a value that broke its rule; `obstacle` is something that
    cannot be stored and needs a person."""

    values: Mapping[str, FieldValue] = field(default_factory=dict[str, FieldValue])
    candidates: Mapping[str, FieldValue] = field(default_factory=dict[str, FieldValue])
    partials: Mapping[str, str] = field(default_factory=dict[str, str])
    verdict: bool | None = None
    is_correction: bool = False
    refusal: str | None = None
    obstacle: HandoffReason | None = None

    @property
    def is_empty(self) -> bool:
        said = self.values or self.candidates or self.partials
        return not (said or self.verdict is not None or self.refusal or self.obstacle)


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
        self.obstacle: HandoffReason | None = None
        self.verdict: bool | None = None

    def store(self, key: str, raw: object) -> None:
        """Accept a value; a refused one leaves its message."""
        try:
            known = {**self.session.form, **self.values}
            value = accept(key, raw, self.now, known)
            derived = derive(key, value, known)
            require_consistent({**self.session.form, **self.values, **derived}, derived)
        except FieldError as error:
            self.refusal = str(error)
        else:
            self.values |= derived


def extract(text: str, session: SessionState, now: datetime) -> Extraction:
    """Read one utterance. Total: what cannot be read is simply not in the result."""
    reader = _Reader(text, session, now)
    pending = reader.pending
    if pending.startswith(("CONFIRM_", "SUMMARY_")) and pending != _Q.CONFIRM_INJURY and pending not in CHOICES:
        reader.verdict = yes_or_no(text)
    party = party_of(session.stage)
    readers: tuple[Callable[[_Reader], None], ...] = (_party_data, _dictation) if party else (_facts, _early_numbers)
    for read in readers:
        read(reader)
    return Extraction(
        values=reader.values,
        candidates=reader.candidates,
        partials=reader.partials,
        verdict=reader.verdict,
        is_correction=is_correction(text),
        refusal=reader.refusal,
        obstacle=reader.obstacle,
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
    if reader.pending == _Q.CONFIRM_MOTOR_KIND and (kind := _motor_kind(reader.text)) is not None:
        reader.verdict = kind
        return
    plain = _ELECTRIC_CAR.sub("汽车", reader.text)
    for clause in _CLAUSE.split(plain):
        match = _ELECTRIC_SOMETHING.search(clause)
        if match and not _UNSURE.search(clause) and not re.search(_NEGATION, clause[: match.start()]):
            reader.candidates["ywfjdc"] = True
    for clause in _CLAUSE.split(plain):
        for key, pattern in (("ywfjdc", _NON_MOTOR), ("ywmtc", _MOTORCYCLE)):
            match = pattern.search(clause)
            if match is None or _UNSURE.search(clause):
                continue
            is_denied = re.search(_NEGATION, clause[: match.start()]) is not None
            reader.values[key] = not is_denied or reader.values.get(key) is True
    if reader.values.get("ywfjdc") is True:
        reader.candidates.pop("ywfjdc", None)


def _motor_kind(text: str) -> bool | None:
    """True: it is a non-motor vehicle; False: a car; None: neither or both were said."""
    four = _FOUR_WHEELS.search(text) is not None or _ELECTRIC_CAR.search(text) is not None
    two = _TWO_WHEELS.search(_ELECTRIC_CAR.sub("汽车", text)) is not None
    return two if two is not four else None


def _read_scene(reader: _Reader) -> None:
    if _UNSURE.search(reader.text):
        return
    if _LEFT_SCENE.search(reader.text) or any(_SOMEBODY_LEFT.search(clause) for clause in _CLAUSE.split(reader.text)):
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
    if reader.session.form.get("jdcsl") is None and not _IMPLIED_MANY.search(reader.text):
        _read_implied_count(reader)


def _read_implied_count(reader: _Reader) -> None:
    """Nobody counted: what was hit says how many there are, but only a "yes" makes it so when another vehicle is merely mentioned."""
    if _IMPLIED_TWO.search(reader.text):
        reader.candidates["jdcsl"] = 2
    elif _IMPLIED_ONE.search(reader.text):
        reader.values["jdcsl"] = 1


def _read_time(reader: _Reader) -> None:
    is_asked = reader.pending in (_Q.SGFSSJ, _Q.CONFIRM_SGFSSJ)
    if not is_asked and not (_EXACT_TIME.search(reader.text) and _ACCIDENT_VERB.search(reader.text)):
        return
    reading = read_time(reader.text, reader.now)
    if reading is None and is_asked:
        reading = loose_reading(reader.text, reader.now)
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
    if said_special_plate(reader.text):
        reader.obstacle = HandoffReason.SPECIAL_VEHICLE
        return
    if party == 1 and reader.session.form.get("bjrjs") not in (None, DRIVER) and _CANNOT_REACH.search(reader.text):
        reader.obstacle = HandoffReason.OTHER_COMPLEX
        return
    _read_plate(reader, party)
    if named := _NAMED.search(reader.text):
        reader.store(f"xm{party}", named["name"])
    elif reader.pending == f"XM_{party}" and (name := bare_name(reader.text)):
        reader.store(f"xm{party}", name)
    reader.candidates |= number_candidates(reader.text, party, reader.now)


def _read_plate(reader: _Reader, party: int) -> None:
    key = f"hphm{party}"
    if found := said_plate(reader.text):
        if found.is_doubtful:
            reader.candidates[key] = found.number
        else:
            reader.store(key, found.number)
    elif said_unclear_province(reader.text):
        reader.store(key, AMBIGUOUS)  # leaves the message that asks for the province
    colour = _PLATE_COLOUR.search(reader.text)
    if colour and (reader.session.form.get(key) is not None or key in reader.values):
        reader.store(f"hpzl{party}", colour["colour"])


def _dictation(reader: _Reader) -> None:
    """Digits in pieces: only while the number (or the confirmation of it) is the open question, and only in an utterance of digits."""
    key = next((name for name in fields_of(reader.pending) if name[:-1] in _TARGET_DIGITS), None)
    if key is None or reader.pending.startswith("SUMMARY"):
        return
    dialogue = reader.session.dialogue
    known, partial = str(dialogue.candidates.get(key) or ""), dialogue.partials.get(key, "")
    if _completes_identity(reader, key, partial):
        return
    if key in reader.candidates:
        return
    tail, head = _TAIL_DIGITS.search(reader.text), _HEAD_DIGITS.search(reader.text)
    digits = _dictated(tail["digits"] if tail else head["digits"] if head else reader.text)
    if not digits:
        if partial and is_correction(reader.text):
            reader.partials[key] = ""
    elif tail:
        _replace_tail(reader, key, known or partial, digits)
    elif head:
        _grow(reader, key, digits + (known or partial)[len(digits) :])
    elif number_candidates(digits, 1, reader.now) and key.startswith("sfzmhm"):
        return  # a phone number is no part of an identity number: it is a candidate of its own
    else:
        _grow(reader, key, digits if is_correction(reader.text) else partial + digits)


def _dictated(text: str) -> str:
    """The digits of an utterance that holds nothing else of weight; empty when it does."""
    digits = identity_text(_AROUND_DIGITS.sub("", text))
    return digits if re.fullmatch(r"[0-9]*X?", digits) else ""


def _completes_identity(reader: _Reader, key: str, partial: str) -> bool:
    """Eleven digits that look like a phone number but complete the identity number that was begun."""
    digits = _dictated(reader.text) if partial and key.startswith("sfzmhm") else ""
    if len(partial + digits) != _TARGET_DIGITS["sfzmhm"] or not digits:
        return False
    try:
        identity_number(partial + digits, "", reader.now.astimezone(CHINA).date())
    except FieldError:
        return False
    reader.candidates.pop(f"sjhm{key[-1]}", None)
    _complete(reader, key, partial + digits)
    return True


def _replace_tail(reader: _Reader, key: str, so_far: str, digits: str) -> None:
    """The last digits anew: of a whole number they replace as many, to a begun one they are added as far as there is room."""
    if not so_far or len(digits) >= _target(reader, key):
        return
    room = _target(reader, key) - len(digits)
    _grow(reader, key, so_far[:room] + digits)


def _grow(reader: _Reader, key: str, said: str) -> None:
    """Keep what is said so far, or take the number when it is whole."""
    if len(said) < _target(reader, key) and "X" not in said:
        reader.partials[key] = said
    else:
        _complete(reader, key, said)


def _target(reader: _Reader, key: str) -> int:
    """How long the number becomes: a number of the old series only for somebody who says that it is one."""
    said = (reader.text, *(message.text for message in reader.session.transcript if message.role == "user"))
    is_old = key.startswith("sfzmhm") and any(_OLD_SERIES.search(text) for text in said)
    return _OLD_SERIES_DIGITS if is_old else _TARGET_DIGITS[key[:-1]]


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
