"""What a checkpoint remembers of a turn: plain JSON, no transcript, no personal data.

Values with personal data (message, form, dictated digits) live in the turn's run (run.py) and in the business row;
what is stored here says which fields are known, never what they hold. `hydrate_state` overwrites all of it at the start of every turn.
"""

from typing import TypedDict


class AccidentState(TypedDict, total=False):
    turn_id: str
    event: str  # its type (domain/turn.py EVENT_TYPES)
    version: int  # of the business row this turn started from
    stage: str | None
    pending_question: str | None
    known: list[str]  # keys of the fields that are set
    no_response_count: int
    clarification_counts: dict[str, int]
    photo_failures: dict[str, int]
    wants_person: bool
    alarms: list[str]  # reasons found by the detectors
    route: str
    attempts: int  # model replies of this turn
    proposed: str | None  # the newest code a model proposed
    rejection: str | None  # why it could not stand
    missing: list[str]
    next_stage: str | None
    changed: list[str]  # keys of the validated patch
    handoff_reason: str | None
