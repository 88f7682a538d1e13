"""The golden conversations (data/scenarios.yaml) as an evaluation plays them: with the configured model, and judged by where they lead.

A scenario that needs a model that breaks the rules (its `m` is a list: the first answer may not stand) is played with those very answers,
so that it tests the service; the model is not asked there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from typing import Any, cast

import yaml
from stdnum.cn import ric

START = "2026-07-27T15:20:00+08:00"
_BODY = "好的。"  # what a scripted answer says after its head
_MINOR = "11010520100101001" + ric.calc_check_digit("110105201001010010")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A message (`said`) or a field written from outside, and what must follow."""

    said: str = ""
    write: tuple[str, object] | None = None
    scripted: tuple[str, ...] = ()
    stage: str  # after the step
    patch: Mapping[str, object] = field(default_factory=dict[str, object])
    reason: str | None = None
    fails: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    name: str
    start: datetime
    steps: tuple[Step, ...]


def scenarios_text() -> str:
    return files(__package__ or "evals").joinpath("data", "scenarios.yaml").read_text("utf-8")


def scenarios() -> tuple[Scenario, ...]:
    """Each with its prefixes put in front; each of a scenario's `cases` is a conversation of its own."""
    file = cast("dict[str, Any]", yaml.safe_load(scenarios_text()))
    found: list[Scenario] = []
    for row in file["scenarios"]:
        lead = [turn for name in row.get("use", ()) for turn in file["prefixes"][name]]
        start = datetime.fromisoformat(row.get("clock", START))
        if "turns" in row:
            found.append(Scenario(name=row["id"], start=start, steps=_steps([*lead, *row["turns"]])))
        for number, case in enumerate(row.get("cases", ())):
            found.append(Scenario(name=f"{row['id']}-{number}", start=start, steps=_steps([*lead, case])))
    return tuple(found)


def _steps(rows: list[dict[str, Any]]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for row in rows:
        steps.append(_step(row, before=steps[-1].stage if steps else "1001"))
    return tuple(steps)


def _step(row: dict[str, Any], *, before: str) -> Step:
    """A step without a stage of its own leaves the one before it."""
    script = row.get("m")
    return Step(
        said=_filled(row.get("u", "")),
        write=(row["set"]["key"], yaml.safe_load(row["set"]["value"])) if "set" in row else None,
        scripted=tuple(text + _BODY for text in cast("list[str]", script)) if isinstance(script, list) else (),
        stage=row.get("s") or row.get("stage_after") or before,
        patch={key: _filled(value) for key, value in row.get("p", {}).items()},
        reason=row.get("why"),
        fails="error" in row,
    )


def _filled(value: Any) -> Any:
    return value.replace("{ID_BORN_20100101_VALID}", _MINOR) if isinstance(value, str) else value
