"""Which fixed text answers, as keys and values; the words themselves are data of the backend that speaks (prompts/fixed_zh.yaml)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.handoff_reason import HandoffReason
from domain.questions import QuestionId
from domain.rules.plate_type import PLATE_TYPES
from domain.rules.reporter import DRIVER
from domain.session import Dialogue, Form
from domain.stages import StageCode

_Q = QuestionId


@dataclass(frozen=True, slots=True)
class Line:
    """One fixed text and what fills its gaps. Values may be personal data: render, never log."""

    key: str
    values: Mapping[str, str] = field(default_factory=dict[str, str])


Speech = tuple[Line, ...]

_PLAIN = {
    _Q.READY: "1001",
    _Q.YWRYSW: "ask_ywrysw",
    _Q.CONFIRM_INJURY: "confirm_injury",
    _Q.SFSGXC: "ask_sfsgxc",
    _Q.CONFIRM_SFSGXC: "confirm_sfsgxc",
    _Q.JDCSL: "ask_jdcsl",
    _Q.FJDC_MTC: "ask_fjdc_mtc",
    _Q.SGFSSJ: "ask_sgfssj",
    _Q.SGYY: "ask_sgyy",
    _Q.BJRJS: "ask_bjrjs",
    _Q.CONFIRM_MOTOR_KIND: "confirm_motor_kind",
    _Q.CONFIRM_BJRJS: "confirm_bjrjs",
    _Q.CONFIRM_FIRE: "confirm_fire",
    _Q.CONFIRM_HAZMAT: "confirm_hazmat",
    _Q.CONFIRM_TRAPPED: "confirm_trapped",
    _Q.CONFIRM_LICENCE: "confirm_licence",
    _Q.XM_1: "3001",
    _Q.XM_2: "3002",
}
_HANDOFF_TEXTS = {
    HandoffReason.INJURY: "0003_injury",
    HandoffReason.DEATH: "0003_injury",
    HandoffReason.ENTRAPMENT: "0003_injury",
    HandoffReason.FIRE: "0003_fire",
    HandoffReason.HAZMAT: "0003_fire",
    HandoffReason.DRUNK_DRIVING: "0003_drunk",
}


def question_line(question: str | None, stage: StageCode | None, form: Form, dialogue: Dialogue) -> Line:
    """The fixed text of a question; with no question open, the text of the stage itself."""
    if question is None or question in (_Q.PHOTO, _Q.PHOTO_READY):
        return Line(stage or StageCode.NOT_READY)
    if question == _Q.XM_1 and not is_driver(form):
        return Line("3001_driver")
    if question in _PLAIN:
        return Line(_PLAIN[_Q(question)])
    if question == _Q.CONFIRM_JDCSL:
        return Line("confirm_jdcsl", {"jdcsl": str(dialogue.candidates.get("jdcsl"))})
    if question == _Q.CONFIRM_SGFSSJ:
        return Line("confirm_sgfssj", {"sgfssj": str(dialogue.candidates.get("sgfssj"))[:16]})
    return _party_line(question, form, dialogue)


def _party_line(question: str, form: Form, dialogue: Dialogue) -> Line:
    stem, party = question.rsplit("_", 1)
    known = {key: str(value) for key, value in {**form, **dialogue.candidates}.items() if value is not None}
    phone, identity, type_code = known.get(f"sjhm{party}", ""), known.get(f"sfzmhm{party}", ""), known.get(f"hpzl{party}", "")
    values = {
        "who": "对方" if party == "2" else "您" if is_driver(form) else "驾驶人",
        "xm": known.get(f"xm{party}", ""),
        "hphm": known.get(f"hphm{party}", ""),
        "hpzl_label": PLATE_TYPES.get(type_code, ""),
        "tail4": identity[-4:],
        "p1": phone[:3],
        "p2": phone[3:7],
        "p3": phone[7:],
    }
    key = "confirm_summary" if stem == "SUMMARY" else stem.lower() if stem.startswith("CONFIRM") else f"ask_{stem.lower()}"
    return Line(key, values)


def is_driver(form: Form) -> bool:
    """The person we talk to drove, as far as we know: then party 1's data are asked of themselves."""
    return form.get("bjrjs") in (None, DRIVER)


def handoff_speech(stage: StageCode, reasons: tuple[HandoffReason, ...]) -> Speech:
    """What is said when a person takes over: the emergency text first, and the stage's own unless the emergency text already says it."""
    urgent = next((_HANDOFF_TEXTS[reason] for reason in reasons if reason in _HANDOFF_TEXTS), None)
    if urgent is None:
        return (Line(stage),)
    return (Line(urgent),) if stage is StageCode.HANDOFF_COMPLEX else (Line("emergency"), Line(stage))


def terminal_speech(stage: StageCode, *, is_urgent: bool) -> Speech:
    if is_urgent:
        return (Line("emergency"),)
    return (Line("done_again" if stage is StageCode.COMPLETED else "terminal_again"),)
