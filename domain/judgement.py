"""Where a turn goes, what a model may propose, and whether its proposal stands. All rules of movement for natural-language turns.

A model's reply is a candidate: its values pass the same door as everybody's, its stage must be an edge of the table whose guard holds on
the merged state, and it can raise an alarm alone but clear one only as the second key.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from domain.decision import Decision, Rejection, asked, ended
from domain.draft import Draft, answered, is_second_doubt, merged, refused, safety_question, unclear, unclear_end
from domain.eligibility import ineligible
from domain.extraction import Extraction
from domain.fields import FieldError, accept, derive, in_order, require_consistent
from domain.guards import Situation, holds
from domain.handoff_reason import HandoffReason
from domain.injury import Verdict
from domain.proposal import SPOKEN_TIME, Proposal
from domain.questions import INJURY_QUESTIONS, QuestionId, fields_of, missing_facts, missing_of_party, party_of, summary_of
from domain.rules.accident_time import checked, read_time, wire_time
from domain.rules.wording import normal
from domain.safety import SafetyFinding
from domain.session import Dialogue, FieldValue, Form, SessionState, patch_between
from domain.speech import Line, Speech, question_line
from domain.stages import STAGES, Phase, StageCode
from domain.transitions import TRANSITIONS, Guard, Trigger, edge_for
from domain.turn import InputEvent, SetInfo

Route = Literal[
    "accident_collection",
    "single_vehicle_photo",
    "two_vehicle_photo",
    "party_verification",
    "apply_external_update",
    "handoff",
    "complete",
]
_ROUTES: dict[Phase, Route] = {
    Phase.ACCIDENT_COLLECTION: "accident_collection",
    Phase.SINGLE_VEHICLE_PHOTO: "single_vehicle_photo",
    Phase.TWO_VEHICLE_PHOTO: "two_vehicle_photo",
    Phase.PARTY_VERIFICATION: "party_verification",
    Phase.HANDOFF: "handoff",
    Phase.COMPLETE: "complete",
}
_UNCOUNTED = frozenset({None, QuestionId.READY, QuestionId.PHOTO_READY, QuestionId.PHOTO})
_REFUSABLE_ONCE = frozenset({QuestionId.SFZMHM_1, QuestionId.SJHM_1, QuestionId.SFZMHM_2, QuestionId.SJHM_2})
SIDE_QUESTION_LIMIT = 3
_ENDS = (StageCode.COMPLETED, StageCode.HANDOFF_REQUESTED, StageCode.HANDOFF_UNCLEAR, StageCode.HANDOFF_COMPLEX)


def route(session: SessionState, event: InputEvent, finding: SafetyFinding, *, wants_person: bool) -> Route:
    """Which branch of the graph serves the turn. Total over sessions and events."""
    if isinstance(event, SetInfo):
        return "apply_external_update"
    if session.is_terminal:
        return _ROUTES[session.phase]
    is_alarm = wants_person or bool(finding.reasons) or is_second_doubt(finding, session.dialogue.pending_question)
    if is_alarm:
        return "handoff"
    return _ROUTES[session.phase]


def allowed_next(draft: Draft) -> tuple[StageCode, ...]:
    """The codes a model may answer with: edges of the table whose guard holds, or may hold with this turn's last missing piece."""
    situation = _situation(draft, draft.form, draft.dialogue, draft.is_affirmative)
    return tuple(
        edge.target
        for edge in TRANSITIONS
        if edge.source is draft.session.stage
        and edge.trigger is Trigger.NL
        and (holds(edge.guard, situation) or _may_still_hold(edge.guard, draft))
    )


def judge(draft: Draft, said: Proposal) -> Decision | Rejection:
    """Accept a proposal as the turn's decision, or say why not. Alarms win over whatever stage was proposed."""
    if said.code not in StageCode.__members__.values():
        return Rejection(reason="unknown", proposed=said.code)
    notes = ("form_invalid",) if said.is_form_invalid else ()
    form, dialogue, refusal = _with_statements(draft, said)
    form, dialogue, alarm = _with_safety(draft, said, form, dialogue)
    if alarm is not None:
        return replace(alarm, notes=notes)
    if reason := ineligible(form, draft.turn.received_at, patch_between(draft.session.form, form), draft.turn.policy):
        return replace(ended(draft.session, dialogue, form, StageCode.HANDOFF_COMPLEX, (reason,), Trigger.NL), notes=notes)
    message = draft.extraction.refusal or refusal
    if message is not None and not _has_answer(draft, form, dialogue):
        return replace(refused(draft, form, dialogue, message), notes=notes)
    if said.answer == "refused" and draft.pending in _REFUSABLE_ONCE and draft.pending in dialogue.refused:
        reasons = (HandoffReason.OTHER_COMPLEX,)
        return replace(ended(draft.session, dialogue, form, StageCode.HANDOFF_COMPLEX, reasons, Trigger.NL), notes=notes)
    dialogue = _counted_answer(draft, said, form, dialogue)
    if limit := unclear_end(draft, form, dialogue):
        return replace(limit, notes=notes)
    return _moved(draft, said, form, dialogue, notes)


def _moved(draft: Draft, said: Proposal, form: Form, dialogue: Dialogue, notes: tuple[str, ...]) -> Decision | Rejection:
    """The stage the model proposes, when the table and its guard allow it."""
    stage = StageCode(said.code)
    edge = edge_for(draft.session.stage, stage, Trigger.NL)
    if edge is None:
        return Rejection(reason="illegal", proposed=said.code)
    affirmative = said.confirm if draft.is_affirmative is None else draft.is_affirmative
    if not holds(edge.guard, _situation(draft, form, dialogue, affirmative)):
        return Rejection(reason="guard", proposed=said.code, missing=missing_for(edge.guard, form, dialogue))
    if stage in _ENDS:
        return replace(ended(draft.session, dialogue, form, stage, _end_reasons(stage), Trigger.NL), notes=notes)
    dialogue = asked(dialogue, stage, form)
    own_words = (*_apology(draft, dialogue), question_line(dialogue.pending_question, stage, form, dialogue))
    return Decision(
        stage=stage,
        form=form,
        dialogue=dialogue,
        trigger=Trigger.NL,
        speech=_fixed_speech(dialogue.pending_question, own_words),
        fallback=own_words,
        notes=notes,
    )


def _apology(draft: Draft, dialogue: Dialogue) -> Speech:
    """In front of a question that is asked again because its answer was not understood."""
    question = dialogue.pending_question
    count = dialogue.clarification_counts.get(question or "", 0)
    was = draft.session.dialogue.clarification_counts.get(question or "", 0)
    return (Line(f"unclear_{min(count, 2)}"),) if count > was and question == draft.pending else ()


def missing_for(guard: Guard | None, form: Form, dialogue: Dialogue) -> tuple[str, ...]:
    """Field keys and question ids that keep a guard shut, for the note of the second try."""
    if guard in (Guard.SINGLE, Guard.DOUBLE):
        waiting = tuple(key for key in ("jdcsl", "sgfssj", "sfsgxc") if key in dialogue.candidates)
        return (*missing_facts(form), *waiting)
    if guard in (Guard.PARTY_1_DONE_ONE, Guard.PARTY_1_DONE_TWO, Guard.ALL_DONE):
        parties = (1, 2) if guard is Guard.ALL_DONE else (1,)
        open_summaries = tuple(summary_of(party).value for party in parties if summary_of(party) not in dialogue.confirmed)
        return (*(key for party in parties for key in missing_of_party(party, form)), *open_summaries)
    return ()


def _situation(draft: Draft, form: Form, dialogue: Dialogue, affirmative: bool | None) -> Situation:
    return Situation(
        stage=draft.session.stage,
        form=form,
        dialogue=dialogue,
        now=draft.turn.received_at,
        policy=draft.turn.policy,
        is_affirmative=affirmative is True,
        is_safety_open=dialogue.pending_question == QuestionId.CONFIRM_INJURY or form.get("ywrysw") is not False,
    )


def _may_still_hold(guard: Guard | None, draft: Draft) -> bool:
    """True when only the answer to the open question is missing, which the model may find in this very message."""
    if guard in (Guard.SINGLE, Guard.DOUBLE):
        findable = {*fields_of(draft.pending), *(("ywrysw",) if draft.finding.injury is Verdict.ABSENT else ())}
        vehicles = draft.form.get("jdcsl")
        fits = vehicles == (1 if guard is Guard.SINGLE else 2) or (vehicles is None and "jdcsl" in findable)
        return fits and not draft.is_safety_open and set(missing_facts(draft.form)) <= findable
    if guard is Guard.READY:
        return draft.is_affirmative is None
    if guard in (Guard.PARTY_1_DONE_ONE, Guard.PARTY_1_DONE_TWO, Guard.ALL_DONE):
        return _is_summary_undecided(guard, draft)
    return False


def _is_summary_undecided(guard: Guard | None, draft: Draft) -> bool:
    party = party_of(draft.session.stage)
    if draft.extraction.verdict is not None or not party or draft.pending != summary_of(party):
        return False
    confirmed = replace(draft.dialogue, confirmed=(*draft.dialogue.confirmed, summary_of(party).value))
    return holds(guard, _situation(draft, draft.form, confirmed, None))


def _with_statements(draft: Draft, said: Proposal) -> tuple[Form, Dialogue, str | None]:
    """The draft plus the model's values (only where code found none) and its reading of a yes or no."""
    values, refusal = _usable_values(draft, said)
    is_undecided = draft.extraction.verdict is None and (draft.pending or "").startswith(("CONFIRM_", "SUMMARY_"))
    statement = Extraction(
        values={key: value for key, value in values.items() if key != "sfsgxc" or value is True},
        candidates={key: value for key, value in values.items() if key == "sfsgxc" and value is False},
        verdict=said.confirm if is_undecided and draft.pending != QuestionId.CONFIRM_INJURY else None,
        is_correction=draft.extraction.is_correction,
    )
    form, dialogue = merged(replace(draft.session, form=draft.form, dialogue=draft.dialogue), statement)
    return form, dialogue, refusal


def _usable_values(draft: Draft, said: Proposal) -> tuple[dict[str, FieldValue], str | None]:
    """The model's values that pass their rules, belong to this phase and, for a name, were really said. What is no answer by the model's
    own word leaves the open question unanswered: "I won't tell you" is no cause of an accident."""
    unanswered = fields_of(draft.pending) if said.answer in ("unclear", "irrelevant", "refused") else ()
    usable: dict[str, FieldValue] = {}
    refusal: str | None = None
    party = party_of(draft.session.stage)
    for key, raw in said.fields.items():
        name = "sgfssj" if key == SPOKEN_TIME else key
        is_known = name in draft.extraction.values or name in draft.extraction.candidates
        if is_known or name in unanswered or not _belongs(name, party, draft):
            continue
        try:
            value = _spoken_time(raw, draft) if key == SPOKEN_TIME else accept(name, raw, draft.turn.received_at)
            if value is None or (name.startswith("xm") and not _was_said(str(value), draft.text)):
                continue
            derived = derive(name, value, draft.form)
            require_consistent({**draft.form, **usable, **derived}, derived)
        except FieldError as error:
            refusal = str(error) if name in fields_of(draft.pending) else refusal
        else:
            usable |= derived
    return usable, refusal


def _belongs(key: str, party: int, draft: Draft) -> bool:
    """Facts while they are collected (a changed number of vehicles also later), a party's data while it is verified."""
    if key.endswith(("1", "2")):
        return bool(party) and key.endswith(str(party))
    return STAGES[draft.stage].phase is Phase.ACCIDENT_COLLECTION or key == "jdcsl"


def _spoken_time(raw: object, draft: Draft) -> FieldValue:
    reading = read_time(str(raw), draft.turn.received_at)
    if reading is None or reading.needs_hour or reading.is_doubtful or not _was_said(str(raw), draft.text):
        return None
    return wire_time(checked(reading.when, draft.turn.received_at))


def _was_said(value: str, text: str) -> bool:
    return normal(value).replace(" ", "") in normal(text).replace(" ", "")


def _with_safety(draft: Draft, said: Proposal, form: Form, dialogue: Dialogue) -> tuple[Form, Dialogue, Decision | None]:
    """The second key, and alarms: the model may raise what the detector did not see; it clears only what the detector cleared too."""
    if said.safety == "present":
        hurt = in_order({**form, "ywrysw": True})
        return hurt, dialogue, ended(draft.session, dialogue, hurt, StageCode.HANDOFF_COMPLEX, (HandoffReason.INJURY,), Trigger.NL)
    finding = draft.finding
    is_second_key_turned = finding.is_explained and said.safety == "none"
    is_cleared = finding.injury is Verdict.ABSENT and (finding.is_clear or is_second_key_turned) and form.get("ywrysw") is not True
    if is_cleared and said.safety != "suspected":
        pending = None if dialogue.pending_question == QuestionId.CONFIRM_INJURY else dialogue.pending_question
        return in_order({**form, "ywrysw": False}), replace(dialogue, pending_question=pending), None
    is_doubtful = said.safety == "suspected" or (finding.injury is Verdict.ABSENT and form.get("ywrysw") is not False)
    if not is_doubtful:
        return form, dialogue, None
    # A suspicion takes back a denial of this very message, never an older fact.
    kept = in_order({**form, "ywrysw": draft.session.form.get("ywrysw")})
    if draft.pending == QuestionId.CONFIRM_INJURY:
        reasons = (HandoffReason.SAFETY_UNCERTAIN,)
        return kept, dialogue, ended(draft.session, dialogue, kept, StageCode.HANDOFF_COMPLEX, reasons, Trigger.NL)
    doubted = replace(draft, form=kept, dialogue=dialogue)
    return kept, dialogue, safety_question(doubted, QuestionId.CONFIRM_INJURY)


def _has_answer(draft: Draft, form: Form, dialogue: Dialogue) -> bool:
    """The message brought something: a new value, a value to confirm, or a verdict."""
    before = draft.session
    return (
        bool(patch_between(before.form, form))
        or dict(dialogue.candidates) != dict(before.dialogue.candidates)
        or tuple(dialogue.confirmed) != tuple(before.dialogue.confirmed)
        or draft.extraction.verdict is not None
    )


def _counted_answer(draft: Draft, said: Proposal, form: Form, dialogue: Dialogue) -> Dialogue:
    """One more unclear answer to the open question, or its count forgotten. Without a word of the model on it, bringing nothing counts;
    a question back is no answer and no misunderstanding either, unless it goes on and on."""
    if _has_answer(draft, form, dialogue):
        return replace(answered(dialogue, draft.pending), side_questions=0)
    if said.answer == "refused" and draft.pending is not None:
        dialogue = replace(dialogue, refused=(*dialogue.refused, draft.pending))
    if said.answer in ("unclear", "irrelevant", "refused"):
        return unclear(dialogue, draft.pending)
    if said.confirm is not None or draft.pending in _UNCOUNTED:
        return dialogue
    if said.answer is None:
        return unclear(dialogue, draft.pending)
    dialogue = replace(dialogue, side_questions=dialogue.side_questions + 1)
    return unclear(dialogue, draft.pending) if dialogue.side_questions > SIDE_QUESTION_LIMIT else dialogue


def _end_reasons(stage: StageCode) -> tuple[HandoffReason, ...]:
    reasons: dict[StageCode, HandoffReason] = {
        StageCode.HANDOFF_REQUESTED: HandoffReason.EXPLICIT_REQUEST,
        StageCode.HANDOFF_UNCLEAR: HandoffReason.UNCLEAR_LIMIT,
        StageCode.HANDOFF_COMPLEX: HandoffReason.OTHER_COMPLEX,
    }
    return (reasons[stage],) if stage in reasons else ()


def _fixed_speech(question: str | None, lines: Speech) -> Speech:
    """A value is read back, and safety is confirmed, in our own words: the model never sees the former and must not soften the latter."""
    return lines if question is not None and question.startswith(("CONFIRM_", "SUMMARY_", "HPZL_")) else ()


def if_agreed(draft: Draft) -> Draft:
    """The draft as it stands when the model turns the second key: what it says next must not ask again what that settles."""
    finding, dialogue = draft.finding, draft.dialogue
    if finding.injury is not Verdict.ABSENT or not finding.is_explained or draft.form.get("ywrysw") is not None:
        return draft
    pending = None if dialogue.pending_question in INJURY_QUESTIONS else dialogue.pending_question
    return replace(draft, form=in_order({**draft.form, "ywrysw": False}), dialogue=replace(dialogue, pending_question=pending))


def expected_stage(draft: Draft, allowed: Iterable[StageCode]) -> StageCode:
    """Where the turn leads if code is right about everything: the onward stage whose guard holds already, else the present one."""
    if draft.session.stage in (None, StageCode.NOT_READY):
        return StageCode.COLLECTING if draft.is_affirmative or draft.changed() else StageCode.NOT_READY
    situation = _situation(draft, draft.form, draft.dialogue, draft.is_affirmative)
    for stage in allowed:
        edge = edge_for(draft.session.stage, stage, Trigger.NL)
        if edge is not None and edge.guard not in (None, Guard.UNCLEAR_LIMIT) and holds(edge.guard, situation):
            return stage
    return draft.stage
