"""What a kind of difference offers: what the two outcomes are to it, and the diffs between them."""

from typing import Protocol

from domain.diff import Diff
from domain.outcome import Outcome
from domain.session import SessionState
from domain.turn import Turn


class Kind(Protocol):
    """Pure. `turn` and `before` are what both sides were given."""

    @property
    def name(self) -> str: ...

    def applies(self, primary: Outcome, shadow: Outcome) -> bool:
        """Whether both sides have something of this kind to compare; what is not compared is neither agreement nor difference."""
        ...

    def diffs(self, turn: Turn, before: SessionState, primary: Outcome, shadow: Outcome) -> tuple[Diff, ...]: ...


def both_replied(primary: Outcome, shadow: Outcome) -> bool:
    return primary.reply is not None and shadow.reply is not None
