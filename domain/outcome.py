"""What one backend did with one turn: the events while it happens, and the outcome they add up to.

The order of a successful reply is StageDecided, FormChanged (at most one), TextPiece (one or more), Replied; a failed one ends with
Failed wherever it broke off. JSON and SSE are two renderings of these events.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from domain.backend_name import BackendName
from domain.errors import BackendFailure, FailureKind
from domain.handoff_reason import HandoffReason
from domain.session import FieldValue, SessionState
from domain.stages import StageCode


@dataclass(frozen=True, slots=True)
class StageDecided:
    stage: StageCode


@dataclass(frozen=True, slots=True)
class FormChanged:
    """The fields this turn changed, normalised; never empty."""

    patch: Mapping[str, FieldValue]


@dataclass(frozen=True, slots=True)
class TextPiece:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof of who served: the proxy checks it against the route it chose."""

    backend: BackendName
    build: str  # release or graph version
    turn_id: str  # echoes the turn: an answer to another turn is no answer
    memory: str | None = None  # the upstream's memory that now holds the conversation, for backends that keep one


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    stage: StageCode
    text: str  # the concatenation of all text pieces
    patch: Mapping[str, FieldValue] = field(default_factory=dict[str, FieldValue])
    handoff_reason: HandoffReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """Which model a turn asked and what it took, all its calls together. Tokens are None unless the service counted every one of them."""

    name: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A failure is a value, not an exception: exactly one of `reply` and `failure` is set."""

    backend: BackendName
    reply: Reply | None = None
    failure: BackendFailure | None = None
    violations: tuple[str, ...] = ()  # served, but against the contract: names only, no data
    tags: tuple[str, ...] = ()  # what the turn was about, for whoever files it: names only, no data
    receipt: Receipt | None = None
    model_calls: int = 0
    model: ModelUse | None = None  # None: no model was asked, or the backend does not tell
    first_text_ms: float | None = None  # None: no text arrived; monotonic clock, from the start of the turn
    total_ms: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> "Outcome":
        reply, failure, receipt, model = row.get("reply"), row.get("failure"), row.get("receipt"), row.get("model")
        return Outcome(
            backend=BackendName(row["backend"]),
            reply=Reply(
                stage=StageCode(reply["stage"]),
                text=reply["text"],
                patch=reply["patch"],
                handoff_reason=HandoffReason(reply["handoff_reason"]) if reply["handoff_reason"] else None,
            )
            if reply
            else None,
            failure=BackendFailure(kind=FailureKind(failure["kind"]), note=failure["note"]) if failure else None,
            violations=tuple(row.get("violations", ())),
            tags=tuple(row.get("tags", ())),
            receipt=Receipt(
                backend=BackendName(receipt["backend"]), build=receipt["build"], turn_id=receipt["turn_id"], memory=receipt.get("memory")
            )
            if receipt
            else None,
            model_calls=row.get("model_calls", 0),
            model=ModelUse(**model) if model else None,
            first_text_ms=row.get("first_text_ms"),
            total_ms=row.get("total_ms", 0.0),
        )


@dataclass(frozen=True, slots=True)
class Replied:
    """The end of a good reply: its outcome, and the session as it stands once the turn is committed (version not yet raised)."""

    outcome: Outcome
    after: SessionState


@dataclass(frozen=True, slots=True)
class Failed:
    """The end of a bad one; the session stays as it was."""

    outcome: Outcome


ReplyEvent = StageDecided | FormChanged | TextPiece | Replied | Failed
