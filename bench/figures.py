"""A figure: what was measured, what it should be, and whether it is. Pure, but for the table's rendering."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rich.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`goal` None: for orientation only. `spread` is the lowest and highest round, where rounds have a value of their own."""

    what: str
    measured: float
    unit: str
    rounds: int
    goal: float | None = None
    sense: Literal["at_most", "at_least"] = "at_most"
    spread: tuple[float, float] | None = None
    detail: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def reached(self) -> bool | None:
        if self.goal is None:
            return None
        return self.measured <= self.goal if self.sense == "at_most" else self.measured >= self.goal

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "measured": round(self.measured, 4),
            "goal": self.goal,
            "sense": self.sense,
            "unit": self.unit,
            "reached": self.reached,
            "rounds": self.rounds,
            "spread": self.spread and [round(value, 4) for value in self.spread],
            "detail": {name: round(value, 4) for name, value in self.detail.items()},
        }


def of_rounds(
    values: Sequence[float],
    *,
    what: str,
    unit: str,
    goal: float | None = None,
    sense: Literal["at_most", "at_least"] = "at_most",
    detail: Mapping[str, float] | None = None,
) -> Figure:
    """The median of one value a round."""
    return Figure(
        what=what,
        measured=statistics.median(values),
        unit=unit,
        rounds=len(values),
        goal=goal,
        sense=sense,
        spread=(min(values), max(values)),
        detail=detail or {},
    )


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that `share` of all values do not exceed; `share` in (0, 1]. Raises ValueError without values."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    return ordered[max(0, min(len(ordered) - 1, int(len(ordered) * share + 0.999999) - 1))]


def table_of(figures: Mapping[str, Figure]) -> Table:
    table = Table("figure", "what", "measured", "rounds", "goal", "", box=None, pad_edge=False)
    verdicts = {True: "[green]reached[/]", False: "[bold red]NOT reached[/]", None: ""}
    for name, figure in figures.items():
        spread = f"{figure.spread[0]:.2f} … {figure.spread[1]:.2f}" if figure.spread else ""
        sign = "≤" if figure.sense == "at_most" else "≥"
        goal = "" if figure.goal is None else f"{sign} {figure.goal:g}"
        table.add_row(name, figure.what, f"{figure.measured:.2f} {figure.unit}", spread, goal, verdicts[figure.reached])
        if figure.detail:
            table.add_row("", "[dim]" + ", ".join(f"{key} {value:.3g}" for key, value in figure.detail.items()) + "[/]")
    return table
