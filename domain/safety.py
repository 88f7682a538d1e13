"""The safety pre-check: what one utterance means for people's safety, before any model is asked. Joins injuries and other hazards."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from domain.handoff_reason import HandoffReason
from domain.hazards import HAZARDS, QUESTION_REASONS, hazards
from domain.injury import Verdict, heard, injury, is_death
from domain.policy import Policy
from domain.questions import INJURY_QUESTIONS, QuestionId
from domain.reassurance import denies_for_all, is_explained, is_whole_denial
from domain.roads import names_expressway

_ABOUT_PEOPLE = (HandoffReason.DEATH, HandoffReason.INJURY)
_BARE_NO = re.compile(r"(?:都|现在|已经)?(?:没有没有|没有|没|无|没得|冇|不是|不会|没了|没事)[的了啊呀哦呢嘛]*")
_LEFT_AT_HOME = re.compile(r"没带|忘|家里|在家|不在身上|没在身上|落在|有(?:的|驾照|驾驶证)|^有$")
_NO_LICENCE = re.compile(r"没有|^没|没考|没拿|无证|吊销|扣|过期|注销")
_BARE_YES = re.compile(r"(?:是|是的|对|对的|嗯|有|有的|有一点|有点|确实|确实有|在)[的了啊呀哦呢嘛]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyFinding:
    """`is_clear`: the utterance is a denial for everybody and nothing else, which clears without a second key. `is_explained`: what stands
    beside the denial is known to be harmless; without that, not even a second key clears. `is_death`: somebody is said to have died.
    `hazards` holds PRESENT and UNCERTAIN only."""

    injury: Verdict = Verdict.NONE
    is_death: bool = False
    is_clear: bool = False
    is_explained: bool = False
    hazards: Mapping[HandoffReason, Verdict] = field(default_factory=dict[HandoffReason, Verdict])

    @property
    def reasons(self) -> tuple[HandoffReason, ...]:
        """Why this utterance alone needs a person, people before things; empty when it does not."""
        dead = (HandoffReason.DEATH,) if self.is_death else ()
        hurt = (HandoffReason.INJURY,) if self.injury is Verdict.PRESENT else ()
        return (*dead, *hurt, *(reason for reason, verdict in self.hazards.items() if verdict is Verdict.PRESENT))

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
    may_clear = verdict in (Verdict.ABSENT, Verdict.NONE)  # of anything else the company does not matter
    explained = is_clear or (may_clear and is_explained(plain, is_asked=is_asked))
    if verdict is Verdict.NONE and explained and denies_for_all(plain):
        verdict = Verdict.ABSENT
    return SafetyFinding(
        injury=verdict,
        is_death=verdict is Verdict.PRESENT and is_death(text),
        is_clear=is_clear,
        is_explained=verdict is Verdict.ABSENT and explained,
        hazards=_hazards(text, pending),
    )


def with_alarms(finding: SafetyFinding, alarms: Collection[HandoffReason]) -> SafetyFinding:
    """The finding of a turn, and what an outside write had raised before it (domain/external_update.py)."""
    if not alarms:
        return finding
    is_hurt = HandoffReason.INJURY in alarms
    return replace(
        finding,
        injury=Verdict.PRESENT if is_hurt else finding.injury,
        is_death=finding.is_death or HandoffReason.DEATH in alarms,
        hazards={**finding.hazards, **{reason: Verdict.PRESENT for reason in alarms if reason not in _ABOUT_PEOPLE}},
    )


def under(policy: Policy, finding: SafetyFinding, text: str) -> SafetyFinding:
    """The finding without what a deployment admits, and with a road on which it leaves nobody to a form."""
    hazards = {reason: verdict for reason, verdict in finding.hazards.items() if reason not in policy.admits}
    if policy.expressway_hands_over and names_expressway(text):
        hazards[HandoffReason.OTHER_COMPLEX] = Verdict.PRESENT
    return replace(finding, hazards=hazards)


def _hazards(text: str, pending: str | None) -> dict[HandoffReason, Verdict]:
    """What is present or in doubt. An answer to a hazard's own question is a verdict on that hazard; one that says neither is doubt."""
    found = hazards(text)
    reason = QUESTION_REASONS.get(pending or "")
    if reason is not None and (reason not in found or reason is HandoffReason.NO_LICENCE):
        found[reason] = _bare(text, pending)
    return {reason: verdict for reason, verdict in found.items() if verdict is not Verdict.ABSENT}


def _bare(text: str, pending: str | None) -> Verdict:
    plain = heard(text).strip("。.!~")
    if pending == QuestionId.CONFIRM_LICENCE:  # it asks whether the licence does not exist or was left at home
        if _LEFT_AT_HOME.search(plain):
            return Verdict.ABSENT
        return Verdict.PRESENT if _NO_LICENCE.search(plain) else Verdict.UNCERTAIN
    if _BARE_NO.fullmatch(plain):
        return Verdict.ABSENT
    return Verdict.PRESENT if _BARE_YES.fullmatch(plain) else Verdict.UNCERTAIN
