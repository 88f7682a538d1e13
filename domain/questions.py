"""Which question comes next: ids, order, and the field each one asks for. Pure, over stage, form and dialogue.

The order of a phase is the order of its tuple; a question whose answer is known is skipped. A value waiting for "yes" (a candidate)
turns its question into the confirmation of it.
"""

from enum import StrEnum

from domain.fields import GROUPS
from domain.session import Dialogue, Form
from domain.stages import STAGES, Phase, StageCode
from domain.transitions import DOUBLE_STEPS, SINGLE_STEPS


class QuestionId(StrEnum):
    READY = "READY"
    YWRYSW = "YWRYSW"
    CONFIRM_INJURY = "CONFIRM_INJURY"
    SFSGXC = "SFSGXC"
    CONFIRM_SFSGXC = "CONFIRM_SFSGXC"
    JDCSL = "JDCSL"
    CONFIRM_JDCSL = "CONFIRM_JDCSL"
    FJDC_MTC = "FJDC_MTC"
    CONFIRM_MOTOR_KIND = "CONFIRM_MOTOR_KIND"
    SGFSSJ = "SGFSSJ"
    CONFIRM_SGFSSJ = "CONFIRM_SGFSSJ"
    SGYY = "SGYY"
    BJRJS = "BJRJS"
    CONFIRM_BJRJS = "CONFIRM_BJRJS"
    CONFIRM_FIRE = "CONFIRM_FIRE"
    CONFIRM_HAZMAT = "CONFIRM_HAZMAT"
    CONFIRM_TRAPPED = "CONFIRM_TRAPPED"
    CONFIRM_LICENCE = "CONFIRM_LICENCE"
    PHOTO_READY = "PHOTO_READY"
    PHOTO = "PHOTO"
    XM_1 = "XM_1"
    CONFIRM_XM_1 = "CONFIRM_XM_1"
    HPHM_1 = "HPHM_1"
    CONFIRM_HPHM_1 = "CONFIRM_HPHM_1"
    CONFIRM_HPZL_1 = "CONFIRM_HPZL_1"
    SFZMHM_1 = "SFZMHM_1"
    CONFIRM_SFZMHM_1 = "CONFIRM_SFZMHM_1"
    SJHM_1 = "SJHM_1"
    CONFIRM_SJHM_1 = "CONFIRM_SJHM_1"
    SUMMARY_1 = "SUMMARY_1"
    XM_2 = "XM_2"
    CONFIRM_XM_2 = "CONFIRM_XM_2"
    HPHM_2 = "HPHM_2"
    CONFIRM_HPHM_2 = "CONFIRM_HPHM_2"
    CONFIRM_HPZL_2 = "CONFIRM_HPZL_2"
    SFZMHM_2 = "SFZMHM_2"
    CONFIRM_SFZMHM_2 = "CONFIRM_SFZMHM_2"
    SJHM_2 = "SJHM_2"
    CONFIRM_SJHM_2 = "CONFIRM_SJHM_2"
    SUMMARY_2 = "SUMMARY_2"


_Q = QuestionId

INJURY_QUESTIONS = frozenset({_Q.YWRYSW, _Q.CONFIRM_INJURY})
HAZARD_QUESTIONS = frozenset({_Q.CONFIRM_FIRE, _Q.CONFIRM_HAZMAT, _Q.CONFIRM_TRAPPED, _Q.CONFIRM_LICENCE})

COLLECTION_ORDER: tuple[tuple[QuestionId, tuple[str, ...]], ...] = (
    (_Q.YWRYSW, ("ywrysw",)),
    (_Q.SFSGXC, ("sfsgxc",)),
    (_Q.JDCSL, ("jdcsl",)),
    (_Q.FJDC_MTC, ("ywfjdc", "ywmtc")),
    (_Q.SGFSSJ, ("sgfssj",)),
    (_Q.SGYY, ("sgyy",)),
    (_Q.BJRJS, ("bjrjs",)),
)
_PARTY_ORDER = ("xm", "hphm", "hpzl", "sfzmhm", "sjhm")

_FIELDS_OF: dict[str, tuple[str, ...]] = {
    **dict(COLLECTION_ORDER),
    _Q.CONFIRM_INJURY: ("ywrysw",),
    _Q.CONFIRM_SFSGXC: ("sfsgxc",),
    _Q.CONFIRM_JDCSL: ("jdcsl",),
    _Q.CONFIRM_SGFSSJ: ("sgfssj",),
    _Q.CONFIRM_MOTOR_KIND: ("ywfjdc",),
    _Q.CONFIRM_BJRJS: ("bjrjs",),
    **{f"{lead}{stem.upper()}_{n}": (f"{stem}{n}",) for lead in ("", "CONFIRM_") for stem in _PARTY_ORDER for n in (1, 2)},
    _Q.SUMMARY_1: GROUPS["acdhuman1"],
    _Q.SUMMARY_2: GROUPS["acdhuman2"],
}


# Neither is answered by yes or no: they offer a choice.
CHOICES = frozenset({_Q.CONFIRM_MOTOR_KIND, _Q.CONFIRM_HPZL_1, _Q.CONFIRM_HPZL_2})


def confirmation_of(key: str) -> QuestionId | None:
    """The question that reads a value of this field back; None for a field whose value nobody is asked to confirm."""
    stem = key[:-1] if key.endswith(("1", "2")) else key
    name = f"CONFIRM_{stem.upper()}" + (f"_{key[-1]}" if stem != key else "")
    return QuestionId(name) if name in QuestionId.__members__ and QuestionId(name) not in CHOICES else None


def fields_of(question: str | None) -> tuple[str, ...]:
    """The form fields a question is about; none for readiness and photos."""
    return _FIELDS_OF.get(question or "", ())


def party_of(stage: StageCode | None) -> int:
    """Whose data a stage verifies: 1, 2, or 0 for neither."""
    return {StageCode.VERIFY_PARTY_1: 1, StageCode.VERIFY_PARTY_2: 2}.get(stage, 0) if stage else 0


def summary_of(party: int) -> QuestionId:
    return _Q.SUMMARY_1 if party == 1 else _Q.SUMMARY_2


def next_question(stage: StageCode | None, form: Form, dialogue: Dialogue) -> QuestionId | None:
    """The question to be asked at a stage; None when nothing is left to ask there.

    A confirmation of a hazard or an injury stays the question until the judgement takes it away.
    """
    pending = dialogue.pending_question
    if stage is not None and STAGES[stage].is_terminal:
        return None
    if pending in HAZARD_QUESTIONS or pending == _Q.CONFIRM_INJURY:
        return QuestionId(pending)
    if "ywfjdc" in dialogue.candidates:
        return _Q.CONFIRM_MOTOR_KIND
    if "jdcsl" in dialogue.candidates and form.get("jdcsl") is not None:
        return _Q.CONFIRM_JDCSL  # it contradicts what the photos were begun for; a first guess waits for its turn
    if stage in (None, StageCode.NOT_READY):
        return _Q.READY
    if stage is StageCode.COLLECTING:
        return _next_fact(form, dialogue)
    if stage in (SINGLE_STEPS[0], DOUBLE_STEPS[0]):
        return _Q.PHOTO_READY
    party = party_of(stage)
    return _next_of_party(party, form, dialogue) if party else _Q.PHOTO


def is_party_complete(party: int, form: Form, dialogue: Dialogue) -> bool:
    """All five fields are stored, nothing waits for a "yes", and the summary was confirmed."""
    return STAGES[_stage_of(party)].phase is Phase.PARTY_VERIFICATION and _next_of_party(party, form, dialogue) is None


def missing_facts(form: Form) -> tuple[str, ...]:
    """The facts of an accident that are still unknown, in the order they are asked."""
    return tuple(key for _, keys in COLLECTION_ORDER for key in keys if form.get(key) is None)


def missing_of_party(party: int, form: Form) -> tuple[str, ...]:
    return tuple(key for stem in _PARTY_ORDER if form.get(key := f"{stem}{party}") is None)


def _stage_of(party: int) -> StageCode:
    return StageCode.VERIFY_PARTY_1 if party == 1 else StageCode.VERIFY_PARTY_2


def _next_fact(form: Form, dialogue: Dialogue) -> QuestionId | None:
    for question, keys in COLLECTION_ORDER:
        if confirmation := next((ask for key in keys if key in dialogue.candidates and (ask := confirmation_of(key))), None):
            return confirmation
        if any(form.get(key) is None for key in keys):
            return question
    return None


def _next_of_party(party: int, form: Form, dialogue: Dialogue) -> QuestionId | None:
    for stem in _PARTY_ORDER:
        key = f"{stem}{party}"
        if key in dialogue.candidates:
            return QuestionId(f"CONFIRM_{stem.upper()}_{party}")
        if form.get(key) is None:
            return _Q(f"CONFIRM_HPZL_{party}") if stem == "hpzl" else _Q(f"{stem.upper()}_{party}")
    return None if summary_of(party) in dialogue.confirmed else summary_of(party)
