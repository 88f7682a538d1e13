"""Follow a conversation that another backend led: what our own dialogue state must be once its answer stands.

FastGPT keeps its own memory and tells only a stage and some fields. Counters, the question that is now open, and numbers said but not yet
stored are worked out here, so that a hand-over and a lockstep replay both start from a sensible place. Nothing here judges the answer.
"""

from collections.abc import Mapping
from dataclasses import replace

from domain.fields import in_order
from domain.handoff_reason import HandoffReason, default_reason
from domain.injury import Verdict
from domain.numbers import number_candidates
from domain.questions import QuestionId, fields_of, next_question, party_of, summary_of
from domain.safety import detect
from domain.session import Dialogue, FieldValue, Form, SessionState
from domain.stages import STAGES, Phase, StageCode
from domain.turn import NoResponse, PhotoCompleted, PhotoRecognitionFailed, Turn, UserMessage

_PHOTO_PHASES = (Phase.SINGLE_VEHICLE_PHOTO, Phase.TWO_VEHICLE_PHOTO)


def follow(
    session: SessionState, turn: Turn, stage: StageCode, patch: Mapping[str, FieldValue], reason: HandoffReason | None
) -> SessionState:
    """The session as it stands once the turn is committed (version not yet raised). `reason` completes a hand-off stage."""
    form = in_order({**session.form, **patch})
    dialogue = counted(session, turn, moved=stage is not session.stage)
    dialogue = _with_numbers(dialogue, session, turn, form)
    dialogue = _with_summary(dialogue, session, stage)
    if STAGES[stage].is_terminal:
        kept = dialogue.handoff_reason if session.is_terminal else None
        dialogue = replace(dialogue, pending_question=None, handoff_reason=kept or reason or default_reason(stage))
        return replace(session, stage=stage, form=form, dialogue=dialogue)
    dialogue = replace(dialogue, pending_question=_safety_question(session, turn, stage, form))
    asked = next_question(stage, form, dialogue)
    dialogue = replace(
        dialogue, pending_question=asked.value if asked else None, clarification_counts=_clarifications(session, turn, patch, asked)
    )
    return replace(session, stage=stage, form=form, dialogue=dialogue)


def counted(session: SessionState, turn: Turn, *, moved: bool) -> Dialogue:
    """The counters after an event: no-replies and photo failures are max(old, n) with a count and old + 1 without; anything but a
    no-reply resets the first, a completed photo that moved the stage the second."""
    dialogue, event, stage = session.dialogue, turn.event, session.stage
    if session.is_terminal:
        return dialogue
    if isinstance(event, NoResponse):
        return replace(dialogue, no_response_count=raised(dialogue.no_response_count, event.count))
    if isinstance(event, UserMessage | PhotoCompleted | PhotoRecognitionFailed):
        dialogue = replace(dialogue, no_response_count=0)
    in_photos = stage is not None and STAGES[stage].phase in _PHOTO_PHASES
    if isinstance(event, PhotoRecognitionFailed) and stage is not None and in_photos:
        failures = raised(dialogue.photo_failures.get(stage, 0), event.count)
        return replace(dialogue, photo_failures={**dialogue.photo_failures, stage: failures})
    if isinstance(event, PhotoCompleted) and in_photos and moved:
        return replace(dialogue, photo_failures={}, last_photo_at_ms=int(turn.received_at.timestamp() * 1000))
    return dialogue


def raised(old: int, count: int | None) -> int:
    return old + 1 if count is None else max(old, count)


def _with_numbers(dialogue: Dialogue, session: SessionState, turn: Turn, form: Form) -> Dialogue:
    """A whole phone or identity number said to the verifying stages and not stored yet waits for its "yes"; a stored one no longer does."""
    answered = fields_of(session.dialogue.pending_question) if isinstance(turn.event, UserMessage) else ()
    waiting = {
        key: value for key, value in dialogue.candidates.items() if form.get(key) is None or (key[:4] == "hphm" and key not in answered)
    }
    party = party_of(session.stage)
    if party and isinstance(turn.event, UserMessage):
        said = number_candidates(turn.event.text, party, turn.received_at)
        waiting |= {key: value for key, value in said.items() if form.get(key) is None}
    partials = {key: digits for key, digits in dialogue.partials.items() if form.get(key) is None and key not in waiting}
    return replace(dialogue, candidates=waiting, partials=partials)


def _with_summary(dialogue: Dialogue, session: SessionState, stage: StageCode) -> Dialogue:
    """Leaving a party forwards is the other backend's way to say that its summary was confirmed; going back withdraws it."""
    party = party_of(session.stage)
    if stage is StageCode.VERIFY_PARTY_1:
        return replace(dialogue, confirmed=tuple(one for one in dialogue.confirmed if one != QuestionId.SUMMARY_1))
    is_onward = (party == 1 and stage in (StageCode.VERIFY_PARTY_2, StageCode.COMPLETED)) or (party == 2 and stage is StageCode.COMPLETED)
    if is_onward and summary_of(party) not in dialogue.confirmed:
        return replace(dialogue, confirmed=(*dialogue.confirmed, summary_of(party).value))
    return dialogue


def _safety_question(session: SessionState, turn: Turn, stage: StageCode, form: Form) -> str | None:
    """A doubt about injuries that the other backend left open: the next unclear answer to it must count as the second one. An event
    leaves an open confirmation as it was."""
    pending = session.dialogue.pending_question
    if form.get("ywrysw") is not None or stage not in (session.stage, StageCode.COLLECTING):
        return None
    if not isinstance(turn.event, UserMessage):
        return pending if pending == QuestionId.CONFIRM_INJURY else None
    is_doubtful = detect(turn.event.text, pending).injury is Verdict.UNCERTAIN
    return QuestionId.CONFIRM_INJURY.value if is_doubtful else None


def _clarifications(session: SessionState, turn: Turn, patch: Mapping[str, FieldValue], asked: str | None) -> dict[str, int]:
    """The same question again after a message that brought nothing is one more unclear answer; any progress forgets it."""
    before = session.dialogue.pending_question
    counts = dict(session.dialogue.clarification_counts)
    if not isinstance(turn.event, UserMessage) or before is None:
        return counts
    if before == asked and not patch and before not in (QuestionId.PHOTO, QuestionId.READY, QuestionId.PHOTO_READY):
        counts[before] = counts.get(before, 0) + 1
    else:
        counts.pop(before, None)
    return counts
