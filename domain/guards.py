"""Guards of the transition table: one predicate a name, over the merged state of the turn. Pure and total."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from domain.eligibility import ineligible, is_stale
from domain.policy import CAREFUL, Policy
from domain.questions import HAZARD_QUESTIONS, QuestionId, is_party_complete, missing_facts
from domain.session import Dialogue, Form
from domain.stages import StageCode
from domain.transitions import Guard

UNCLEAR_LIMIT = 3
NO_REPLY_LIMIT = 3
PHOTO_FAIL_LIMIT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a guard may look at: the state as it would be after this turn."""

    stage: StageCode | None  # where the turn began
    form: Form
    dialogue: Dialogue
    now: datetime
    policy: Policy = CAREFUL
    is_affirmative: bool = False  # the answer to "ready?" was yes
    is_safety_open: bool = False  # an injury or a hazard is doubtful and not answered yet


def holds(guard: Guard | None, situation: Situation) -> bool:
    """An edge without a guard is always open."""
    return guard is None or _GUARDS[guard](situation)


def _is_collected(situation: Situation, vehicles: int) -> bool:
    form, dialogue = situation.form, situation.dialogue
    return (
        not missing_facts(form)
        and form.get("jdcsl") == vehicles
        and ineligible(form, situation.now, policy=situation.policy) is None
        and not is_stale(form, situation.now, situation.policy)
        and not {"jdcsl", "sgfssj", "sfsgxc"}.intersection(dialogue.candidates)
        and not situation.is_safety_open
        and dialogue.pending_question not in {QuestionId.CONFIRM_INJURY, *HAZARD_QUESTIONS}
    )


def _party_1_done(situation: Situation, vehicles: int) -> bool:
    is_done = is_party_complete(1, situation.form, situation.dialogue)
    return is_done and situation.form.get("jdcsl") == vehicles and not situation.is_safety_open


def _all_done(situation: Situation) -> bool:
    return _party_1_done(situation, 2) and is_party_complete(2, situation.form, situation.dialogue)


def _is_unclear_too_often(situation: Situation) -> bool:
    return max(situation.dialogue.clarification_counts.values(), default=0) >= UNCLEAR_LIMIT


def _is_silent_too_long(situation: Situation) -> bool:
    return situation.dialogue.no_response_count >= NO_REPLY_LIMIT


def _has_failed_too_often(situation: Situation) -> bool:
    return situation.stage is not None and situation.dialogue.photo_failures.get(situation.stage, 0) >= PHOTO_FAIL_LIMIT


_GUARDS: dict[Guard, Callable[[Situation], bool]] = {
    Guard.SINGLE: lambda situation: _is_collected(situation, 1),
    Guard.DOUBLE: lambda situation: _is_collected(situation, 2),
    Guard.READY: lambda situation: situation.is_affirmative and not situation.is_safety_open,
    Guard.PARTY_1_DONE_TWO: lambda situation: _party_1_done(situation, 2),
    Guard.PARTY_1_DONE_ONE: lambda situation: _party_1_done(situation, 1),
    Guard.ALL_DONE: _all_done,
    Guard.UNCLEAR_LIMIT: _is_unclear_too_often,
    Guard.NO_REPLY_LIMIT: _is_silent_too_long,
    Guard.PHOTO_FAIL_LIMIT: _has_failed_too_often,
    Guard.INELIGIBLE: lambda situation: ineligible(situation.form, situation.now, policy=situation.policy) is not None,
    Guard.COLLECTION_INCOMPLETE: lambda situation: not _is_collected(situation, 1) and not _is_collected(situation, 2),
}
