"""What a measure offers to the run: parts to visit once a round, and figures out of what they saw."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from bench.figures import Figure
from bench.load import Load
from bench.stand import Stand

Part = Callable[[Stand, random.Random], Awaitable[dict[str, Load]]]  # loads by name, measured side by side
Seen = Mapping[str, Sequence[Load]]  # by name, one load a round: equal positions are the same round


class Measure(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def parts(self) -> Sequence[Part]:
        """No two of them give a load the same name."""
        ...

    def figures(self, seen: Seen) -> dict[str, Figure]:
        """Pure."""
        ...


def ratios(seen: Seen, over: str, under: str, value: Callable[[Load], float]) -> list[float]:
    """`over` to `under`, round by round."""
    return [value(above) / value(below) for above, below in zip(seen[over], seen[under], strict=True)]


def pooled(loads: Sequence[Load], value: Callable[[Load], list[float]]) -> list[float]:
    """The values of all rounds."""
    return [one for load in loads for one in value(load)]
