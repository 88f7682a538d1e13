"""Compare what two backends did with the same turn. Pure."""

from domain.diff import Comparison
from domain.outcome import Outcome
from domain.session import SessionState
from domain.turn import Turn
from shadow.kinds import KINDS


def compare(turn: Turn, before: SessionState, primary: Outcome, shadow: Outcome, *, mode: str) -> Comparison:
    """All diffs of all kinds, in the registry's order."""
    kinds = [kind for kind in KINDS if kind.applies(primary, shadow)]
    return Comparison(
        primary=primary,
        shadow=shadow,
        mode=mode,
        compared=tuple(kind.name for kind in kinds),
        diffs=tuple(diff for kind in kinds for diff in kind.diffs(turn, before, primary, shadow)),
    )
