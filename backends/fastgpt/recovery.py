"""Whether an answer that was lost on its way may be read back from what the server stored of it. Pure; the reading is the backend's.

A server stops its nodes when the caller's connection goes, and saves what was said so far: cut anywhere, inside the tag too, and looking
like any other answer. So a stored text counts only with proof that nothing was cut: every model that spoke says that it came to its end.
The oldest release never says so; there a lost answer stays lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backends.fastgpt.chats import ChatRecord
from backends.fastgpt.form import records_within
from domain.errors import BackendFailure, FailureKind

WAITS_S = (0.0, 1.0, 2.0, 4.0)  # a server whose gateway gave up may still be at it


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A whole answer as the server keeps it."""

    text: str
    records: list[Mapping[str, Any]]


def may_be_stored(failure: BackendFailure) -> bool:
    """Whether the server took the call and may have answered it: the stream broke or fell silent, a gateway gave up, or it says that it has
    this answer already."""
    if failure.kind in (FailureKind.INTERRUPTED, FailureKind.TIMEOUT):
        return failure.note != "paymentPause"
    return failure.kind is FailureKind.REFUSED and failure.note.startswith(("http_5", "chatIsGenerating"))


def waits_for(failure: BackendFailure) -> Sequence[float]:
    """How long to wait before each look, in seconds. A stream that broke is saved already or never: its server noticed as we did."""
    return WAITS_S[:1] if failure.kind is FailureKind.INTERRUPTED else WAITS_S


def whole_answer(answer_id: str, records: Sequence[ChatRecord], details: Sequence[Mapping[str, Any]]) -> Stored | None:
    """None while the answer is not there, or nothing proves that it is whole."""
    text = next((record.text for record in reversed(records) if record.side == "AI" and record.data_id == answer_id), None)
    if not text or not details:
        return None
    nodes = [node for root in details for node in records_within(root)]
    spoken = [node for node in nodes if node.get("moduleType") == "chatNode"]
    if any(node.get("finishReason") != "stop" for node in spoken):
        return None
    return Stored(text=text, records=list(details))
