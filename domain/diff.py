"""What a comparison of two outcomes found."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from domain.backend_name import BackendName
from domain.outcome import Outcome


class Severity(StrEnum):
    CRITICAL = "critical"  # safety: a missed hand-off, a wrong person's data
    MAJOR = "major"  # stage or field wrong
    MINOR = "minor"  # an equivalent path
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """One difference of one kind. `signature` is equal for like differences: kind, from→to and field path, never a value."""

    kind: str
    signature: str
    severity: Severity
    detail: dict[str, Any]  # JSON; values of sensitive fields are masked by the kind that writes it


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One turn on both sides. A kind is in `compared` when both sides had something to compare of it."""

    primary: Outcome
    shadow: Outcome
    mode: str
    compared: tuple[str, ...]
    diffs: tuple[Diff, ...]

    @property
    def direction(self) -> tuple[BackendName, BackendName]:
        return self.primary.backend, self.shadow.backend
