"""The golden conversations as data: evals' `scenarios.yaml`, read strictly: a misspelt key is an error and not a check that never runs."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import yaml
from stdnum.cn import ric

from evals.golden import scenarios_text

START = "2026-07-27T15:20:00+08:00"
BODY = "好的，记下了。接着说：🚗请看下一步！"  # what the scripted model says after its head; never asserted, only that it arrives whole
_MINOR = "11010520100101001" + ric.calc_check_digit("110105201001010010")


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    key: str
    value: str  # JSON text, as it travels


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One message (`said`) or one write, and everything that must follow."""

    said: str = ""
    write: Write | None = None
    happens: Literal["", "restart", "kill_before_answer"] = ""  # to the process, around this step; only tests/e2e can do that
    replies: tuple[str, ...] = ()
    stage: str
    patch: dict[str, Any] = field(default_factory=dict[str, Any])
    asks: str | None = None
    reason: str | None = None
    secondary: tuple[str, ...] = ()
    error: str | None = None
    rejected: tuple[tuple[str, str], ...] = ()  # (from, to), one for each reply that proposes it
    tells: str = ""
    trigger: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    name: str
    start: datetime
    steps: tuple[Step, ...]

    def private_values(self) -> set[str]:
        """What of this conversation nobody but the partner may see: names, plates, identity numbers and phones."""
        return self.names() | self._values("hphm", "sfzmhm", "sjhm")

    def names(self) -> set[str]:
        return self._values("xm")

    def _values(self, *kinds: str) -> set[str]:
        return {str(value) for step in self.steps for key, value in step.patch.items() if key.startswith(kinds) and value}


def plays() -> list[Play]:
    """Every scenario with its prefixes put in front; each of its `cases` is a play of its own."""
    file = yaml.safe_load(scenarios_text())
    found: list[Play] = []
    for row in file["scenarios"]:
        start = datetime.fromisoformat(row.get("clock", START))
        lead = [turn for name in row.get("use", ()) for turn in file["prefixes"][name]]
        if "turns" in row:
            found.append(Play(name=row["id"], start=start, steps=_steps([*lead, *row["turns"]])))
        found += [
            Play(name=f"{row['id']}-{number}", start=start, steps=_steps([*lead, case])) for number, case in enumerate(row.get("cases", ()))
        ]
    return found


def _steps(rows: list[dict[str, Any]]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for row in rows:
        steps.append(_step(row, before=steps[-1].stage if steps else ""))
    return tuple(steps)


_KEYS = {"u", "set", "do", "m", "s", "p", "ask", "why", "secondary", "error", "stage_after", "rejected", "tells", "trigger", "note"}


def _step(row: dict[str, Any], *, before: str) -> Step:
    """A write or a failed turn leaves the stage where it was, unless `stage_after` says otherwise."""
    if set(row) - _KEYS or ("u" in row) == ("set" in row):
        raise ValueError(f"not a step: {row}")
    scripted = row.get("m") or []
    return Step(
        said=_filled(row.get("u", "")),
        write=Write(**row["set"]) if "set" in row else None,
        happens=row.get("do", ""),
        replies=tuple(text + BODY for text in ([scripted] if isinstance(scripted, str) else scripted)),
        stage=row.get("s") or row.get("stage_after") or before,
        patch={key: _filled(value) for key, value in row.get("p", {}).items()},
        asks=row.get("ask"),
        reason=row.get("why"),
        secondary=tuple(row.get("secondary", ())),
        error=row.get("error"),
        rejected=tuple((here, there) for here, _, there in (edge.partition("->") for edge in row.get("rejected", ()))),
        tells=row.get("tells", ""),
        trigger=row.get("trigger"),
    )


def _filled(value: Any) -> Any:
    return value.replace("{ID_BORN_20100101_VALID}", _MINOR) if isinstance(value, str) else value
