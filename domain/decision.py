"""How a turn ends: the state it leaves and what is said. And the turns that code decides alone: events, hand-offs, ends, outside writes.

Every function is pure and total over sessions; none of them needs a model.
"""

from dataclasses import dataclass, replace

from domain.errors import FailureKind
from domain.external_update import external_update
from domain.fields import in_order
from domain.follow import counted
from domain.guards import Situation, holds
from domain.handoff_reason import HandoffReason, default_reason
from domain.injury import Verdict
from domain.questions import QuestionId, next_question
from domain.roads import EXPRESSWAY, names_expressway
from domain.rules.cause import names_facility
from domain.safety import SafetyFinding, detect, under
from domain.session import Dialogue, FieldValue, Form, SessionState, patch_between
from domain.speech import Line, Speech, handoff_speech, question_line, terminal_speech
from domain.stages import STAGES, Phase, StageCode
from domain.transitions import Guard, Trigger, next_photo_step
from domain.turn import NoResponse, PhotoCompleted, PhotoRecognitionFailed, SessionStarted, SetInfo, Turn, UserMessage

PHOTO_PHASES = (Phase.SINGLE_VEHICLE_PHOTO, Phase.TWO_VEHICLE_PHOTO)
PHOTO_INTERVAL_MS = 1500
_AFTER_COLLECTION = (*PHOTO_PHASES, Phase.PARTY_VERIFICATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`lead` is said first, whoever speaks after it. `speech` is what code says; empty means that the model's own words are said, and
    `fallback` when it has none."""

    stage: StageCode
    form: Form
    dialogue: Dialogue
    trigger: Trigger
    lead: Speech = ()
    speech: Speech = ()
    fallback: Speech = ()
    notes: tuple[str, ...] = ()  # contract violations seen on the way, names only

    def after(self, session: SessionState) -> SessionState:
        return replace(session, stage=self.stage, form=self.form, dialogue=self.dialogue)

    def patch(self, session: SessionState) -> dict[str, FieldValue]:
        return patch_between(session.form, self.form)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A proposal that may not stand. `reason`: unknown, illegal, guard, or how the head was malformed; `missing` helps the second try."""

    reason: str
    proposed: str = ""
    missing: tuple[str, ...] = ()

    @property
    def failure(self) -> FailureKind:
        return FailureKind.INVALID_STAGE if self.reason in ("unknown", "illegal", "guard") else FailureKind.MALFORMED


def question_at(stage: StageCode, form: Form, dialogue: Dialogue) -> QuestionId | None:
    """The question that is open at a stage. Past the collection nobody goes on while it is unknown whether somebody is hurt."""
    if STAGES[stage].phase in _AFTER_COLLECTION and form.get("ywrysw") is None:
        return QuestionId.CONFIRM_INJURY
    return next_question(stage, form, dialogue)


def asked(dialogue: Dialogue, stage: StageCode, form: Form) -> Dialogue:
    """The dialogue with the question that is now open."""
    question = question_at(stage, form, dialogue)
    return replace(dialogue, pending_question=question.value if question else None)


def decide_event(session: SessionState, turn: Turn) -> Decision:
    """A client's event in a conversation that goes on. Out of phase, out of step or repeated, it changes nothing and asks again."""
    stage = session.stage
    if stage is None:
        dialogue = asked(session.dialogue, StageCode.NOT_READY, session.form)
        return Decision(
            stage=StageCode.NOT_READY, form=in_order(session.form), dialogue=dialogue, trigger=Trigger.START, speech=(Line("greeting"),)
        )
    match turn.event:
        case NoResponse():
            return _after_silence(session, stage, turn)
        case PhotoCompleted(step) if step in (None, stage) and STAGES[stage].phase in PHOTO_PHASES:
            if step is None and _is_double_tap(session, turn):
                return replace(stay(session, counted(session, turn, moved=False), Trigger.NOOP), notes=("photo_double_tap",))
            return _after_photo(session, stage, turn)
        case PhotoRecognitionFailed(_, reason) if STAGES[stage].phase in PHOTO_PHASES:
            return _after_failed_photo(session, stage, turn, reason)
        case SessionStarted():
            return stay(session, counted(session, turn, moved=False), Trigger.NOOP)
        case _:
            return replace(stay(session, counted(session, turn, moved=False), Trigger.NOOP), notes=("event_out_of_phase",))


def decide_handoff(session: SessionState, turn: Turn, finding: SafetyFinding, *, wants_person: bool) -> Decision:
    """A person takes over because the speaker wants one or because of what the detectors found; the wish is the first reason."""
    reasons = finding.reasons or (() if wants_person else (HandoffReason.SAFETY_UNCERTAIN,))
    stage = StageCode.HANDOFF_REQUESTED if wants_person else StageCode.HANDOFF_COMPLEX
    all_reasons = (HandoffReason.EXPLICIT_REQUEST, *reasons) if wants_person else reasons
    form = {**session.form, "ywrysw": True} if finding.injury is Verdict.PRESENT else session.form
    return ended(session, counted(session, turn, moved=False), form, stage, all_reasons, Trigger.NL)


def decide_terminal(session: SessionState, stage: StageCode, finding: SafetyFinding) -> Decision:
    """A finished conversation stays as it is; an emergency reported late is answered with the emergency text."""
    is_urgent = bool(finding.reasons)
    return Decision(
        stage=stage,
        form=in_order(session.form),
        dialogue=session.dialogue,
        trigger=Trigger.NOOP,
        speech=terminal_speech(stage, is_urgent=is_urgent),
        notes=("late_injury_report",) if finding.injury is Verdict.PRESENT else (),
    )


def decide_outside_write(session: SessionState, turn: Turn) -> Decision:
    """/set_info: no words. Raises UnknownField, FieldError (domain/fields.py)."""
    assert isinstance(turn.event, SetInfo)
    after = external_update(session, turn.event.key, turn.event.value, turn.received_at, turn.policy)
    return Decision(stage=after.stage or StageCode.NOT_READY, form=after.form, dialogue=after.dialogue, trigger=Trigger.SET_INFO)


def decide_unusable(session: SessionState, turn: Turn) -> Decision:
    """The model stayed unusable in two turns running: a person takes over."""
    dialogue = counted(session, turn, moved=False)
    return ended(session, dialogue, session.form, StageCode.HANDOFF_UNCLEAR, (HandoffReason.MODEL_OUTPUT_INVALID,), Trigger.INVALID_OUTPUT)


def warned(decision: Decision, session: SessionState, turn: Turn) -> Decision:
    """The same decision with a warning in front, the first time the speaker names a road where nobody may stand about."""
    event = turn.event
    if session.is_terminal or EXPRESSWAY in decision.dialogue.warned_of or not isinstance(event, UserMessage):
        return decision
    if not names_expressway(event.text):
        return decision
    dialogue = replace(decision.dialogue, warned_of=(*decision.dialogue.warned_of, EXPRESSWAY))
    return replace(decision, dialogue=dialogue, lead=(Line(EXPRESSWAY), *decision.lead))


def tags_of(session: SessionState, turn: Turn) -> tuple[str, ...]:
    """What a message of an open conversation is about, besides its facts: public property that was hit has an owner to be told."""
    event = turn.event
    if not isinstance(event, UserMessage) or session.is_terminal:
        return ()
    return ("facility_damage",) if names_facility(event.text) else ()


def stay(session: SessionState, dialogue: Dialogue, trigger: Trigger, *lead: Line, form: Form | None = None) -> Decision:
    """The same stage (a new session enters 1001) with its question asked again, after the given lines."""
    stage = session.stage or StageCode.NOT_READY
    kept = in_order(session.form if form is None else form)
    dialogue = asked(dialogue, stage, kept)
    speech = (*lead, question_line(dialogue.pending_question, stage, kept, dialogue))
    return Decision(stage=stage, form=kept, dialogue=dialogue, trigger=trigger, speech=speech)


def ended(
    session: SessionState, dialogue: Dialogue, form: Form, stage: StageCode, reasons: tuple[HandoffReason, ...], trigger: Trigger
) -> Decision:
    """The end of the dialogue at a terminal stage, for the given reasons, the first one being the primary."""
    primary = reasons[0] if reasons else default_reason(stage)
    dialogue = replace(dialogue, pending_question=None, handoff_reason=primary, secondary_reasons=reasons[1:], alarms=())
    return Decision(stage=stage, form=in_order(form), dialogue=dialogue, trigger=trigger, speech=handoff_speech(stage, reasons))


def _after_silence(session: SessionState, stage: StageCode, turn: Turn) -> Decision:
    dialogue = counted(session, turn, moved=False)
    situation = Situation(stage=stage, form=session.form, dialogue=dialogue, now=turn.received_at, policy=turn.policy)
    if holds(Guard.NO_REPLY_LIMIT, situation):
        return ended(session, dialogue, session.form, StageCode.HANDOFF_NO_REPLY, (HandoffReason.NO_RESPONSE,), Trigger.NO_REPLY)
    return stay(session, dialogue, Trigger.NO_REPLY, Line("no_reply"))


def _is_double_tap(session: SessionState, turn: Turn) -> bool:
    """A photo that nothing tells apart from the one just taken: one finger too many, or a client that tries again without a key."""
    last_ms = session.dialogue.last_photo_at_ms
    return last_ms is not None and not turn.is_named and 0 <= int(turn.received_at.timestamp() * 1000) - last_ms < PHOTO_INTERVAL_MS


def _after_photo(session: SessionState, stage: StageCode, turn: Turn) -> Decision:
    onward = next_photo_step(stage)
    if onward is None or session.form.get("ywrysw") is not False:
        return stay(session, counted(session, turn, moved=False), Trigger.NOOP)
    form = in_order(session.form)
    dialogue = replace(counted(session, turn, moved=True), pending_question=None)
    dialogue = asked(dialogue, onward, form)
    lead = Line("photo_done_all") if onward is StageCode.VERIFY_PARTY_1 else Line("photo_ok")
    speech = (lead, question_line(dialogue.pending_question, onward, form, dialogue))
    return Decision(stage=onward, form=form, dialogue=dialogue, trigger=Trigger.PHOTO_DONE, speech=speech)


def _after_failed_photo(session: SessionState, stage: StageCode, turn: Turn, reason: str) -> Decision:
    dialogue = counted(session, turn, moved=False)
    situation = Situation(stage=stage, form=session.form, dialogue=dialogue, now=turn.received_at, policy=turn.policy)
    if holds(Guard.PHOTO_FAIL_LIMIT, situation):
        return ended(session, dialogue, session.form, StageCode.HANDOFF_PHOTO_FAILED, (HandoffReason.PHOTO_FAILED,), Trigger.PHOTO_FAIL)
    alarms = under(turn.policy, detect(reason, None), reason).reasons
    decision = stay(session, replace(dialogue, alarms=alarms), Trigger.PHOTO_FAIL)
    return replace(decision, speech=(Line("photo_retry"), Line(f"retake_{retake_cause(reason)}")))


_RETAKE_CAUSES = {
    "blur": ("模糊", "糊", "抖"),
    "dark": ("暗", "黑"),
    "glare": ("反光", "曝光"),
    "no_plate": ("车牌", "号牌"),
    "occluded": ("遮挡", "挡"),
    "too_far": ("距离", "太远", "太近"),
}


def retake_cause(reason: str) -> str:
    """What went wrong with a photo, out of a closed list; the client's own words go no further."""
    return next((cause for cause, words in _RETAKE_CAUSES.items() if any(word in reason for word in words)), "other")
