"""A message of a person, read by code before any model: what it changes, and whether that settles the turn.

`prepare` merges the deterministic extraction; `merged` is also used for a model's values, so both pass the same door. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from domain.answers import is_ready
from domain.decision import PHOTO_PHASES, Decision, asked, ended, stay
from domain.eligibility import ineligible
from domain.extraction import Extraction, extract
from domain.fields import FIELDS, derive, in_order
from domain.follow import counted
from domain.guards import UNCLEAR_LIMIT, Guard, Situation, holds
from domain.handoff_reason import HandoffReason
from domain.hazards import QUESTION_REASONS
from domain.injury import Verdict
from domain.questions import HAZARD_QUESTIONS, QuestionId, confirmation_of, fields_of, summary_of
from domain.rules.accident_time import time_from_wire
from domain.rules.plate import ORDINARY_TYPE
from domain.rules.reporter import DRIVER
from domain.safety import SafetyFinding
from domain.session import Dialogue, FieldValue, Form, SessionState, patch_between
from domain.speech import Line, question_line
from domain.stages import STAGES, StageCode
from domain.transitions import DOUBLE_STEPS, SINGLE_STEPS, Trigger
from domain.turn import Turn, UserMessage

SAME_TIME = timedelta(minutes=30)
_SAFETY_CONFIRMATIONS = frozenset({QuestionId.CONFIRM_INJURY, *HAZARD_QUESTIONS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The turn after the deterministic reading. `decision` is set when no model is needed."""

    session: SessionState
    turn: Turn
    finding: SafetyFinding
    extraction: Extraction
    form: Form
    dialogue: Dialogue
    is_affirmative: bool | None  # the answer to "ready?"; None: the lexicon has no verdict
    decision: Decision | None = None

    @property
    def text(self) -> str:
        assert isinstance(self.turn.event, UserMessage)
        return self.turn.event.text

    @property
    def stage(self) -> StageCode:
        return self.session.stage or StageCode.NOT_READY

    @property
    def pending(self) -> str | None:
        """The question that was open when the message came."""
        return self.session.dialogue.pending_question

    @property
    def is_safety_open(self) -> bool:
        return self.dialogue.pending_question in _SAFETY_CONFIRMATIONS

    def changed(self) -> dict[str, FieldValue]:
        return patch_between(self.session.form, self.form)


def is_second_doubt(finding: SafetyFinding, pending: str | None) -> bool:
    """The confirmation was asked and the answer is no clear one: nobody may drive on."""
    return pending in _SAFETY_CONFIRMATIONS and finding.question is not None


def prepare(session: SessionState, turn: Turn, finding: SafetyFinding) -> Draft:
    """Read and merge one message; settle it when code can."""
    assert isinstance(turn.event, UserMessage)
    text = turn.event.text
    extraction = extract(text, session, turn.received_at)
    base = replace(session, dialogue=counted(session, turn, moved=False))
    form, dialogue = merged(base, extraction)
    form, dialogue = _with_denial(form, dialogue, finding)
    draft = Draft(
        session=session, turn=turn, finding=finding, extraction=extraction, form=form, dialogue=dialogue, is_affirmative=is_ready(text)
    )
    return replace(draft, decision=_settled(draft))


def merged(session: SessionState, extraction: Extraction) -> tuple[Form, Dialogue]:
    """Form and dialogue with what was read: gaps are filled, an explicit correction replaces, a mere conflict waits for a "yes"."""
    dialogue, form = session.dialogue, dict(session.form)
    candidates, confirmed = dict(dialogue.candidates), list(dialogue.confirmed)
    _apply_verdict(form, candidates, confirmed, dialogue.pending_question, extraction)
    for key, value in extraction.values.items():
        if form.get(key) in (None, value) or _may_replace(key, value, session, extraction):
            form[key] = value
            candidates.pop(key, None)
        elif _contradicts(key, value, form[key]):
            candidates[key] = value
    candidates |= {key: value for key, value in extraction.candidates.items() if form.get(key) != value}
    partials = {**dialogue.partials, **extraction.partials}
    partials = {key: digits for key, digits in partials.items() if digits and key not in candidates and form.get(key) is None}
    changed = patch_between(session.form, form)
    outdated = {summary_of(FIELDS[key].party) for key in changed if FIELDS[key].party}
    kept = tuple(question for question in confirmed if question not in outdated)
    return in_order(form), replace(dialogue, candidates=candidates, partials=partials, confirmed=kept)


def _contradicts(key: str, value: FieldValue, known: FieldValue) -> bool:
    """A statement that has to be asked about. A time said twice ("ten minutes ago", and again later) drifts; that is no contradiction."""
    if key == "sgfssj":
        return abs(time_from_wire(str(value)) - time_from_wire(str(known))) > SAME_TIME
    return confirmation_of(key) is not None


def _apply_verdict(
    form: dict[str, FieldValue], candidates: dict[str, FieldValue], confirmed: list[str], pending: str | None, extraction: Extraction
) -> None:
    """A "yes" stores the shown value, a "no" drops it; a "yes" to a summary counts only when nothing new came with it."""
    if pending is None or extraction.verdict is None:
        return
    if pending.startswith("SUMMARY_"):
        if extraction.verdict and not extraction.values and not extraction.candidates:
            confirmed.append(pending)
        return
    for key in fields_of(pending):
        value = candidates.pop(key, None)
        if value is None:
            continue
        if pending == QuestionId.CONFIRM_BJRJS:  # it asks whether the speaker drove, whatever the new role is
            value = DRIVER if extraction.verdict else value
            if value != DRIVER or extraction.verdict:
                form[key] = value
        elif extraction.verdict:
            form.update(derive(key, value, form))


def _may_replace(key: str, value: FieldValue, session: SessionState, extraction: Extraction) -> bool:
    """An answer to the question about the field, an explicit correction of it, or a fact that needs a person. The number of vehicles
    decides which photos are taken, so once they have begun it always waits for a "yes"."""
    if key in ("ywfjdc", "ywmtc") and value is True:
        return True
    if key.startswith("hpzl") and session.form.get(key) == ORDINARY_TYPE:
        return True  # assumed until somebody names it
    if key in fields_of(session.dialogue.pending_question):
        return True
    return extraction.is_correction and not (key == "jdcsl" and session.phase in PHOTO_PHASES)


def _with_denial(form: Form, dialogue: Dialogue, finding: SafetyFinding) -> tuple[Form, Dialogue]:
    """The first key alone clears only when the whole utterance is a denial; a recorded injury stays recorded."""
    pending = dialogue.pending_question
    if finding.injury is Verdict.ABSENT and finding.is_clear and form.get("ywrysw") is not True:
        form = in_order({**form, "ywrysw": False})
        if pending == QuestionId.CONFIRM_INJURY:
            pending = None
    if pending in HAZARD_QUESTIONS and QUESTION_REASONS.get(pending or "") not in finding.hazards:
        pending = None
    return form, replace(dialogue, pending_question=pending)


def _settled(draft: Draft) -> Decision | None:
    """What needs no model: a doubt about safety, a fact that needs a person, a changed number of vehicles, digits in pieces."""
    if draft.finding.question is not None:
        return safety_question(draft, draft.finding.question)
    if draft.extraction.obstacle is not None:
        reasons = (draft.extraction.obstacle,)
        return ended(draft.session, draft.dialogue, draft.form, StageCode.HANDOFF_COMPLEX, reasons, Trigger.NL)
    changed = draft.changed()
    reason = ineligible(draft.form, draft.turn.received_at, changed, draft.turn.policy)
    # An old accident endangers nobody: the model still reads the rest of the message for the record, and judge() hands it over then.
    if reason is not None and reason is not HandoffReason.STALE_ACCIDENT:
        return ended(draft.session, draft.dialogue, draft.form, StageCode.HANDOFF_COMPLEX, (reason,), Trigger.NL)
    if "jdcsl" in changed and STAGES[draft.stage].phase in PHOTO_PHASES:
        return _other_photos(draft)
    return _dictated(draft)


def safety_question(draft: Draft, question: QuestionId) -> Decision:
    """Stay and ask; a new session has begun to report facts."""
    session = draft.session if draft.session.stage else replace(draft.session, stage=StageCode.COLLECTING)
    return stay(session, replace(draft.dialogue, pending_question=question.value), Trigger.NL, form=draft.form)


def _other_photos(draft: Draft) -> Decision:
    """The number of vehicles was corrected after the photos had begun: start the other series, or ask what is missing now."""
    situation = Situation(stage=draft.stage, form=draft.form, dialogue=draft.dialogue, now=draft.turn.received_at, policy=draft.turn.policy)
    if holds(Guard.SINGLE, situation):
        stage = SINGLE_STEPS[0]
    elif holds(Guard.DOUBLE, situation):
        stage = DOUBLE_STEPS[0]
    elif draft.stage in (SINGLE_STEPS[0], DOUBLE_STEPS[0]) and holds(Guard.COLLECTION_INCOMPLETE, situation):
        stage = StageCode.COLLECTING
    else:
        return stay(draft.session, draft.dialogue, Trigger.NL, form=draft.form)
    dialogue = asked(replace(draft.dialogue, photo_failures={}), stage, draft.form)
    line = question_line(dialogue.pending_question, stage, draft.form, dialogue)
    return Decision(stage=stage, form=draft.form, dialogue=dialogue, trigger=Trigger.FACT_CHANGED, speech=(line,))


def _dictated(draft: Draft) -> Decision | None:
    extraction, before = draft.extraction, draft.session.dialogue
    if any(extraction.partials.values()):
        dialogue = asked(draft.dialogue, draft.stage, draft.form)
        return Decision(stage=draft.stage, form=draft.form, dialogue=dialogue, trigger=Trigger.NL, speech=(Line("go_on"),))
    is_completed = any(key in before.partials or key in before.candidates for key in extraction.partials)
    if not is_completed:
        return None
    if extraction.refusal is None:
        return stay(draft.session, draft.dialogue, Trigger.NL, form=draft.form)
    return refused(draft, draft.form, draft.dialogue, extraction.refusal)


def refused(draft: Draft, form: Form, dialogue: Dialogue, message: str) -> Decision:
    """A value that broke its rule: say why and ask again, up to the limit of unclear answers."""
    dialogue = unclear(dialogue, draft.pending)
    if limit := unclear_end(draft, form, dialogue):
        return limit
    return stay(draft.session, dialogue, Trigger.NL, Line("refused", {"text": message}), form=form)


def unclear(dialogue: Dialogue, question: str | None) -> Dialogue:
    if question is None:
        return dialogue
    counts: Mapping[str, int] = dialogue.clarification_counts
    return replace(dialogue, clarification_counts={**counts, question: counts.get(question, 0) + 1})


def answered(dialogue: Dialogue, question: str | None) -> Dialogue:
    counts = {name: count for name, count in dialogue.clarification_counts.items() if name != question}
    return replace(dialogue, clarification_counts=counts)


def unclear_end(draft: Draft, form: Form, dialogue: Dialogue) -> Decision | None:
    """A person takes over when the open question stayed unanswered too often."""
    if dialogue.clarification_counts.get(draft.pending or "", 0) < UNCLEAR_LIMIT:
        return None
    return ended(draft.session, dialogue, form, StageCode.HANDOFF_UNCLEAR, (HandoffReason.UNCLEAR_LIMIT,), Trigger.NL)


def asked_line(draft: Draft, stage: StageCode) -> Line:
    """The question as code would ask it next, for the model to rephrase."""
    dialogue = asked(draft.dialogue, stage, draft.form)
    return question_line(dialogue.pending_question, stage, draft.form, dialogue)
