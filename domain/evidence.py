"""What the stored comparisons say, counted: the rows that reports draw and, later, gates decide on."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class KindAgreement:
    """One kind of difference. `compared`: comparisons where both sides had something of this kind; `differing`: those with a diff."""

    kind: str
    compared: int
    differing: int

    @property
    def agreement(self) -> float | None:
        """0…1; None when nothing was compared: no data is not agreement."""
        return None if self.compared == 0 else 1 - self.differing / self.compared


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePair:
    """How often the primary said one stage and the shadow another (or the same). None: that side gave no reply."""

    primary: str | None
    shadow: str | None
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    kind: str
    signature: str
    severity: str
    primary_backend: str
    shadow_backend: str
    from_stage: str | None
    turn_id: str
    created_at: datetime
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Diffs of one signature."""

    kind: str
    signature: str
    severity: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Where every eligible turn ended: eligible = the sum of the rest, to the unit."""

    eligible: int
    compared: int
    pending: int
    dropped: Mapping[str, int]  # by reason
    failed: Mapping[str, int]  # by side:class
    unreplayable: Mapping[str, int]  # by reason

    @property
    def unaccounted(self) -> int:
        settled = self.compared + sum(self.dropped.values()) + sum(self.failed.values()) + sum(self.unreplayable.values())
        return self.eligible - settled - self.pending


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    turns_by_backend: Mapping[str, int]  # committed turns of conversation, /set_info apart
    failed_turns: int
    ledger: Ledger
    sessions: int  # sessions with at least one comparison
    comparisons: int
    kinds: tuple[KindAgreement, ...]
    stages: tuple[StagePair, ...]
    clusters: tuple[Cluster, ...]  # most severe first, then largest
    latest: tuple[DiffLine, ...]  # newest first, without those of severity info
