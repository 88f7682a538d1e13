"""What a report is before it is drawn: titled tables of plain cells, and the same facts as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Tone = Literal["plain", "good", "warn", "bad", "muted"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One value as people read it. `weight` 0…1 colours a heat map; None leaves the cell bare."""

    text: str
    tone: Tone = "plain"
    weight: float | None = None
    on_diagonal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    numeric_from: int = 1  # columns from here on are numbers, set right
    is_heat_map: bool = False
    narrow: "Table | None" = None  # the same facts for a page too narrow for this table


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    title: str
    headline: str
    headline_tone: Tone
    tables: Sequence[Table]
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])  # what --json prints
