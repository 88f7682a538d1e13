"""From what was seen to a verdict a line and one for all. Pure.

"not told" is said of tokens alone, where the client in use has no way to learn them: that is our lack, not the model's.
A line with too few observations has no verdict but "no data", and no data is never good enough: a model that says nothing is not right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from evals.interval import wilson
from evals.lines import LINES, Line, Whose
from evals.play import Seen
from evals.seen import Served

Verdict = Literal["holds", "fails", "no_data", "not_told"]
LEAST = 25  # observations a line needs; below that its interval is wider than any threshold means
MISSES_SHOWN = 10


class UnknownLine(Exception):
    """A threshold for a line that does not exist, or a share outside 0 to 1; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """`rate`, `low` and `high` (95 %) are None without any observation."""

    name: str
    whose: Whose
    threshold: float
    n: int
    hits: int
    rate: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    misses: tuple[str, ...]  # the first few


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Over the turns in which a person said something; tokens are None where the model's server did not count."""

    turns: int
    calls: int
    calls_a_turn: float | None
    most_calls: int
    tokens_a_turn: float | None
    most_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard:
    scores: tuple[Score, ...]
    spent: Spent

    @property
    def judged(self) -> tuple[Score, ...]:
        return tuple(score for score in self.scores if score.verdict != "not_told")

    @property
    def broken(self) -> tuple[Score, ...]:
        return tuple(score for score in self.scores if score.verdict in ("fails", "no_data"))


def checked(thresholds: Mapping[str, float]) -> dict[str, float]:
    """The same thresholds. Raises UnknownLine."""
    names = [line.name for line in LINES]
    for name, share in thresholds.items():
        if name not in names:
            raise UnknownLine(f"there is no line {name}; there are {', '.join(names)}")
        if not 0 <= share <= 1:
            raise UnknownLine(f"{name}: a threshold lies between 0 and 1")
    return dict(thresholds)


def scorecard(seen: Seen, thresholds: Mapping[str, float] | None = None) -> Scorecard:
    """`thresholds` replaces those of the named lines; they are `checked`."""
    wanted = thresholds or {}
    return Scorecard(scores=tuple(_score(line, seen, wanted.get(line.name, line.threshold)) for line in LINES), spent=_spent(seen))


def _score(line: Line, seen: Seen, threshold: float) -> Score:
    marks = list(line.marks(seen))
    n, hits = len(marks), sum(mark.is_hit for mark in marks)
    low, high = wilson(hits, n) if n else (None, None)
    verdict: Verdict = "no_data" if n < LEAST else "holds" if hits / n >= threshold else "fails"
    if line.needs_usage and not seen.tells_usage:
        verdict = "not_told"
    return Score(
        name=line.name,
        whose=line.whose,
        threshold=threshold,
        n=n,
        hits=hits,
        rate=hits / n if n else None,
        low=low,
        high=high,
        verdict=verdict,
        misses=tuple(mark.what for mark in marks if not mark.is_hit)[:MISSES_SHOWN],
    )


def _spent(seen: Seen) -> Spent:
    turns = [turn for turn in seen.turns if turn.turn.is_natural and not any(call.is_scripted for call in turn.calls)]
    calls = [len(turn.calls) for turn in turns]
    tokens = [told for turn in turns if (told := _tokens(turn)) is not None]
    return Spent(
        turns=len(turns),
        calls=sum(calls),
        calls_a_turn=fmean(calls) if calls else None,
        most_calls=max(calls, default=0),
        tokens_a_turn=fmean(tokens) if tokens else None,
        most_tokens=max(tokens, default=None),
    )


def _tokens(turn: Served) -> int | None:
    usages = [call.usage for call in turn.calls if call.usage is not None]
    return sum(usage.tokens for usage in usages) if turn.calls and len(usages) == len(turn.calls) else None
