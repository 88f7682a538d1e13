"""What a measure offers to the run: cells to visit once a round, and figures out of what they saw."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from bench.figures import Figure
from bench.load import Load
from bench.stand import Stand

Cell = Callable[[Stand], Awaitable[Load]]
Seen = Mapping[str, Sequence[Load]]  # by cell, one load a round: equal positions are the same round


class Measure(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def cells(self) -> Mapping[str, Cell]: ...

    def figures(self, seen: Seen) -> dict[str, Figure]:
        """Pure."""
        ...


def ratios(seen: Seen, over: str, under: str, value: Callable[[Load], float]) -> list[float]:
    """`over` to `under`, round by round."""
    return [value(above) / value(below) for above, below in zip(seen[over], seen[under], strict=True)]


def pooled(loads: Sequence[Load], value: Callable[[Load], list[float]]) -> list[float]:
    """The values of all rounds."""
    return [one for load in loads for one in value(load)]
