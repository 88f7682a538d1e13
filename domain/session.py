"""The state of one conversation. The business row is authoritative; a checkpoint or an upstream chat is only a copy of it.

`SessionState` is frozen; the rules return a new one. `as_json` / `from_json` are the stored shape (schema app, columns form_data and
dialogue); they hold JSON types only, so that the same bytes serve the projection, the turn's record and the shadow's starting point.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from domain.handoff_reason import HandoffReason
from domain.stages import STAGES, Phase, StageCode

FieldValue = bool | int | str | None
Form = Mapping[str, FieldValue]


@dataclass(frozen=True, slots=True)
class Message:
    """One line of the conversation as the caller saw it."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """Where the conversation stands besides stage and form. Only code changes it, never a model."""

    pending_question: str | None = None  # a QuestionId
    clarification_counts: Mapping[str, int] = field(default_factory=dict[str, int])
    no_response_count: int = 0
    photo_failures: Mapping[str, int] = field(default_factory=dict[str, int])  # by stage code
    partials: Mapping[str, str] = field(default_factory=dict[str, str])  # digits dictated so far, by field
    candidates: Mapping[str, FieldValue] = field(default_factory=dict[str, FieldValue])  # complete, waiting for "yes"
    confirmed: tuple[str, ...] = ()  # question ids answered with yes
    invalid_turns: int = 0  # unusable model outputs since the last good turn: counted by the store from failure rows, not stored
    last_photo_at_ms: int | None = None  # receive time of the last accepted photo event, epoch ms
    handoff_reason: HandoffReason | None = None
    secondary_reasons: tuple[HandoffReason, ...] = ()
    warned_of: tuple[str, ...] = ()  # dangers the caller has been warned of, once each
    refused: tuple[str, ...] = ()  # questions the speaker would not answer once
    side_questions: int = 0  # turns running that asked something back instead of answering
    options: tuple[str, ...] = ()  # the answers that an upstream's own question accepts; the next message uses the question up
    alarms: tuple[HandoffReason, ...] = ()  # dangers named by an outside write or a photo's reason; the next turn acts on them

    def as_json(self) -> dict[str, Any]:
        """Only what differs from a fresh dialogue, so that stored rows stay small. Keys are made plain: an enum member is no JSON key."""
        row: dict[str, Any] = {
            "pending_question": self.pending_question,
            "clarification_counts": {str(question): count for question, count in self.clarification_counts.items()},
            "no_response_count": self.no_response_count,
            "photo_failures": {str(step): count for step, count in self.photo_failures.items()},
            "partials": dict(self.partials),
            "candidates": dict(self.candidates),
            "confirmed": list(self.confirmed),
            "last_photo_at_ms": self.last_photo_at_ms,
            "handoff_reason": self.handoff_reason,
            "secondary_reasons": list(self.secondary_reasons),
            "warned_of": list(self.warned_of),
            "refused": list(self.refused),
            "side_questions": self.side_questions,
            "alarms": list(self.alarms),
            "options": list(self.options),
        }
        return {key: value for key, value in row.items() if value}

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> "Dialogue":
        reason = row.get("handoff_reason")
        return Dialogue(
            pending_question=row.get("pending_question"),
            clarification_counts=row.get("clarification_counts", {}),
            no_response_count=row.get("no_response_count", 0),
            photo_failures=row.get("photo_failures", {}),
            partials=row.get("partials", {}),
            candidates=row.get("candidates", {}),
            confirmed=tuple(row.get("confirmed", ())),
            last_photo_at_ms=row.get("last_photo_at_ms"),
            handoff_reason=HandoffReason(reason) if reason else None,
            secondary_reasons=tuple(HandoffReason(one) for one in row.get("secondary_reasons", ())),
            warned_of=tuple(row.get("warned_of", ())),
            refused=tuple(row.get("refused", ())),
            side_questions=row.get("side_questions", 0),
            alarms=tuple(HandoffReason(one) for one in row.get("alarms", ())),
            options=tuple(row.get("options", ())),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """`version` counts committed changes (1 after the first); `stage` is None before the first turn.
    `transcript` holds the newest lines only, oldest first; it is read from the turns and never stored with the state.
    `memory` names the upstream's own memory of this conversation (a receipt told it) while it is in step with ours: None when the newest
    turn was served by a backend without one, or when `loose_turns` since then may have moved it without a commit."""

    stage: StageCode | None = None
    form: Form = field(default_factory=dict[str, FieldValue])
    dialogue: Dialogue = field(default_factory=Dialogue)
    version: int = 0
    transcript: tuple[Message, ...] = ()
    memory: str | None = None
    loose_turns: int = 0

    @property
    def phase(self) -> Phase:
        return STAGES[self.stage].phase if self.stage else Phase.ACCIDENT_COLLECTION

    @property
    def is_terminal(self) -> bool:
        return self.stage is not None and STAGES[self.stage].is_terminal

    def with_dialogue(self, **changes: Any) -> "SessionState":
        return replace(self, dialogue=replace(self.dialogue, **changes))

    def with_form(self, patch: Form) -> "SessionState":
        return replace(self, form={**self.form, **patch})

    def as_json(self) -> dict[str, Any]:
        return {"stage": self.stage, "form": dict(self.form), "dialogue": self.dialogue.as_json()}

    @staticmethod
    def from_json(row: Mapping[str, Any], *, version: int, transcript: tuple[Message, ...] = ()) -> "SessionState":
        stage = row.get("stage")
        return SessionState(
            stage=StageCode(stage) if stage else None,
            form=cast(Form, row.get("form", {})),
            dialogue=Dialogue.from_json(row.get("dialogue", {})),
            version=version,
            transcript=transcript,
        )


def patch_between(before: Form, after: Form) -> dict[str, FieldValue]:
    """The fields whose stored value changed, in the order of `after`; missing and None are the same."""
    return {key: value for key, value in after.items() if before.get(key) != value}
