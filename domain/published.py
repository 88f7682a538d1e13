"""The tables of the domain as plain JSON, and the stage machine as a drawing: for people, for other programs, and to name the rules that
served a turn. Computed from the tables alone, so it cannot say anything else than what runs.
"""

import hashlib
import json
from typing import Any

from domain.eligibility import ADULT_AGE_YEARS, ELIGIBILITY
from domain.fields import FIELDS, INTERNAL_KEYS
from domain.guards import NO_REPLY_LIMIT, PHOTO_FAIL_LIMIT, UNCLEAR_LIMIT
from domain.handoff_reason import HandoffReason
from domain.hazards import HAZARDS
from domain.policy import ADMISSIBLE, CAREFUL
from domain.questions import COLLECTION_ORDER, QuestionId, fields_of
from domain.rules.cause import CAUSES
from domain.rules.plate_type import PLATE_TYPES
from domain.rules.reporter import ROLES
from domain.stages import STAGES, Phase, Stage
from domain.transitions import NON_TERMINAL, TERMINAL, TRANSITIONS
from domain.turn import EVENT_TYPES

_OPEN = "open"
_NEW = "new"  # a session that has no stage yet


def published() -> dict[str, Any]:
    """One document a table, by file name without its ending."""
    return {
        "fields": {
            "fields": [
                {
                    "key": spec.key, "label": spec.label, "group": spec.group, "type": spec.kind, "party": spec.party,
                    "required_for": spec.required_for, "is_sensitive": spec.is_sensitive, "is_masked": spec.is_masked,
                }
                for spec in FIELDS.values()
            ],
            "never_written_from_outside": sorted(INTERNAL_KEYS),
            "values": {"bjrjs": list(ROLES), "hpzl": dict(PLATE_TYPES), "sgyy": list(CAUSES)},
        },
        "stages": [
            {"code": stage.code, "name": stage.name, "label": stage.label, "phase": stage.phase, "is_terminal": stage.is_terminal}
            for stage in STAGES.values()
        ],
        "transitions": {
            "edges": [
                {"from": edge.source or _NEW, "to": edge.target, "trigger": edge.trigger, "guard": edge.guard}
                for edge in TRANSITIONS
                if edge.source not in TERMINAL
            ],
            "terminal": list(TERMINAL),
            "limits": {
                "unclear_answers_to_one_question": UNCLEAR_LIMIT, "no_replies": NO_REPLY_LIMIT, "failures_of_one_photo": PHOTO_FAIL_LIMIT,
            },
        },
        "events": sorted(EVENT_TYPES.values()),
        "questions": {
            "questions": [{"id": question, "about": list(fields_of(question))} for question in QuestionId],
            "order_of_collection": [question for question, _ in COLLECTION_ORDER],
        },
        "handoff": {
            "reasons": list(HandoffReason),
            "a_deployment_may_admit": sorted(ADMISSIBLE),
            "by_fact": [{"reason": rule.reason, "fields": list(rule.fields)} for rule in ELIGIBILITY],
            "by_word": [{"reason": hazard.reason, "asks": hazard.question} for hazard in HAZARDS],
            "limits": {"hours_since_the_accident": CAREFUL.max_age_hours, "adult_age_years": ADULT_AGE_YEARS},
        },
    }  # fmt: skip


def tables_digest() -> str:
    """12 hex digits that name the tables as they are."""
    return hashlib.sha256(json.dumps(published(), sort_keys=True).encode()).hexdigest()[:12]


def drawing() -> str:
    """The machine as a Mermaid state diagram. What every open stage can do is drawn once, from the box around them; staying is not."""
    lines = ["stateDiagram-v2", f"    state {_OPEN} {{"]
    for phase in Phase:
        boxes = [f"            {_box(stage)}" for stage in STAGES.values() if stage.phase is phase and not stage.is_terminal]
        lines += [f"        state {phase} {{", *boxes, "        }"] if boxes else []
    lines += ["    }", *(f"    {_box(STAGES[code])}" for code in TERMINAL)]
    lines += [f"    {source} --> {target}: {label}" for source, target, label in _arrows()]
    return "\n".join((*lines, *(f"    {code} --> [*]" for code in TERMINAL), ""))


def _box(stage: Stage) -> str:
    return f"{stage.code}: {stage.code} {stage.label.replace(':', ',')}"  # a second colon would end the words


def _arrows() -> list[tuple[str, str, str]]:
    sources: dict[tuple[str, str], list[str]] = {}
    for edge in TRANSITIONS:
        if edge.source not in TERMINAL and edge.target is not edge.source:
            label = edge.trigger + (f" [{edge.guard}]" if edge.guard else "")
            sources.setdefault((edge.target, label), []).append(edge.source or "[*]")
    arrows = list[tuple[str, str, str]]()
    for (target, label), froms in sources.items():
        is_common = len(froms) >= len(NON_TERMINAL) - 1 and target in TERMINAL
        arrows += [(_OPEN, target, label)] if is_common else [(source, target, label) for source in froms]
    return arrows
