"""The safety pre-check: what one utterance means for people's safety, before any model is asked. Joins injuries and other hazards."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.handoff_reason import HandoffReason
from domain.hazards import HAZARDS, QUESTION_REASONS, hazards
from domain.injury import Verdict, heard, injury
from domain.questions import INJURY_QUESTIONS, QuestionId
from domain.reassurance import is_explained, is_whole_denial
from domain.rules.wording import normal


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyFinding:
    """`is_clear`: the utterance is a denial for everybody and nothing else, which clears without a second key. `is_explained`: what stands
    beside the denial is known to be harmless; without that, not even a second key clears. `hazards` holds PRESENT and UNCERTAIN only."""

    injury: Verdict = Verdict.NONE
    is_clear: bool = False
    is_explained: bool = False
    hazards: Mapping[HandoffReason, Verdict] = field(default_factory=dict[HandoffReason, Verdict])

    @property
    def reasons(self) -> tuple[HandoffReason, ...]:
        """Why this utterance alone needs a person, the injury first; empty when it does not."""
        hurt = (HandoffReason.INJURY,) if self.injury is Verdict.PRESENT else ()
        return (*hurt, *(reason for reason, verdict in self.hazards.items() if verdict is Verdict.PRESENT))

    @property
    def question(self) -> QuestionId | None:
        """The confirmation this utterance calls for when it is not certain."""
        if self.injury is Verdict.UNCERTAIN:
            return QuestionId.CONFIRM_INJURY
        doubtful = (hazard.question for hazard in HAZARDS if self.hazards.get(hazard.reason) is Verdict.UNCERTAIN)
        return next((question for question in doubtful if question), None)


def detect(text: str, pending: str | None) -> SafetyFinding:
    """Read one utterance in the light of the open question. Total: every text has a finding."""
    is_asked, plain = pending in INJURY_QUESTIONS, heard(text)
    is_clear = is_whole_denial(plain, is_asked=is_asked)
    verdict = Verdict.ABSENT if is_clear else injury(text, is_asked=is_asked)
    return SafetyFinding(
        injury=verdict,
        is_clear=is_clear,
        is_explained=is_clear or (verdict is Verdict.ABSENT and is_explained(plain)),
        hazards=_hazards(text, pending),
    )


def _hazards(text: str, pending: str | None) -> dict[HandoffReason, Verdict]:
    """A bare answer to a hazard's own question is a verdict on that hazard."""
    found = hazards(text)
    reason = QUESTION_REASONS.get(pending or "")
    if reason is None or found.get(reason) is Verdict.PRESENT:
        return found
    answer = _bare(text, pending)
    if answer is Verdict.ABSENT:
        found.pop(reason, None)
    else:
        found[reason] = answer
    return found


def _bare(text: str, pending: str | None) -> Verdict:
    plain = normal(text).strip("。.!！~ ")
    if pending == QuestionId.CONFIRM_LICENCE:
        if "没带" in plain or "忘" in plain or "家里" in plain:
            return Verdict.ABSENT
        return Verdict.PRESENT if plain.startswith(("没有", "没", "无", "是没有")) else Verdict.UNCERTAIN
    if plain in ("没有", "没", "都没有", "没有的", "无", "没了", "不是"):
        return Verdict.ABSENT
    return Verdict.PRESENT if plain in ("有", "有的", "是", "是的", "对", "嗯") else Verdict.UNCERTAIN
