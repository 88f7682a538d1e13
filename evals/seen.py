"""What an evaluation sees, and the port it sees it through. Frozen values; `Subject` is built in wiring/evaluation.py.

Two things are looked at apart: what the model said (`Call`), and what the service made of it (`Served`). The detectors and the table of
stages stand between the two, so a model may fail where the service does not, and the other way round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from domain.outcome import Outcome
from domain.session import SessionState
from domain.turn import Turn


@dataclass(frozen=True, slots=True)
class Usage:
    """As the model's server counts."""

    prompt_tokens: int
    completion_tokens: int

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to the model and as much of the reply as was read."""

    prompt_id: str  # a digest: equal prompts, equal ids
    offered: tuple[str, ...]  # the stage codes this prompt allowed
    text: str = ""
    failure: str = ""  # a FailureKind, when the call broke
    usage: Usage | None = None  # None: the client did not tell
    is_scripted: bool = False  # the reply came from a scenario that needs a broken model


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One turn through the graph. `after` is the session as a commit would leave it; the same as `before` when the turn failed."""

    turn: Turn
    before: SessionState
    after: SessionState
    outcome: Outcome
    calls: tuple[Call, ...]


class Subject(Protocol):
    """The service under evaluation, with the model it is configured with."""

    @property
    def tells_usage(self) -> bool:
        """False when the model's client has no way to learn what a call cost."""
        ...

    async def serve(self, turn: Turn, session: SessionState, *, scripted: Sequence[str] = ()) -> Served:
        """Run the turn as production would. `scripted` replies are given instead of the model's, first come first."""
        ...

    async def ask(self, turn: Turn, session: SessionState) -> Call:
        """The model alone: the same prompt as if no detector and no extraction had found anything in the message."""
        ...
