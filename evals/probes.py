"""The probes: single messages with what they mean, a file a group in data/. Read strictly, so that a misspelt key is an error.

Groups: injury (hurt, calm), handoff (wish, calm), fields, answers, times, counts. A probe stands in a session at `stage` whose open
question is `ask`; what is asked before that question is already known. All people in it are invented.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from typing import Any, Literal, cast

import yaml

from domain.questions import COLLECTION_ORDER
from domain.session import Dialogue, FieldValue, SessionState
from domain.stages import StageCode

Group = Literal["injury", "handoff", "fields", "answers", "times", "counts"]
GROUPS: tuple[Group, ...] = ("injury", "handoff", "fields", "answers", "times", "counts")

NOON = "2026-07-27T15:20:00+08:00"
_QUIET: Mapping[str, FieldValue] = {
    "ywrysw": False,
    "sfsgxc": True,
    "jdcsl": 2,
    "ywfjdc": False,
    "ywmtc": False,
    "sgfssj": "2026-07-27 15:00:00",
    "sgyy": "追尾",
    "bjrjs": "当事人",
}
_KEYS = {"u", "ask", "stage", "clock", "is"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """`truth` by group: injury "hurt"/"calm"; handoff "wish"/"calm"; fields {key: value}; answers a class; counts a number;
    times the wire string, or "never <wire string>" for one that may not be stored."""

    name: str
    group: Group
    text: str
    truth: Any
    now: datetime
    session: SessionState = field(default_factory=SessionState)


def probes() -> tuple[Probe, ...]:
    return tuple(probe for group in GROUPS for probe in _group(group))


def _group(group: Group) -> list[Probe]:
    file = cast("dict[str, Any]", yaml.safe_load(files(__package__ or "evals").joinpath("data", f"{group}.yaml").read_text("utf-8")))
    found: list[Probe] = []
    for truth, rows in cast("dict[str, list[Any]]", file["probes"]).items():
        for row in rows:
            found.append(_probe(group, f"{group}-{len(found) + 1:03}", {"is": truth} | _row(row), file.get("ask")))
    return found


def _row(row: Any) -> dict[str, Any]:
    return {"u": row} if isinstance(row, str) else cast("dict[str, Any]", row)


def _probe(group: Group, name: str, row: dict[str, Any], usual: str | None) -> Probe:
    if set(row) - _KEYS or not row.get("u"):
        raise ValueError(f"not a probe: {row}")
    asked = cast("str | None", row.get("ask", usual))
    stage = StageCode(str(row.get("stage", "1002")))
    return Probe(
        name=name,
        group=group,
        text=row["u"],
        truth=row["is"],
        now=datetime.fromisoformat(row.get("clock", NOON)),
        session=SessionState(stage=stage, form=_known(stage, asked), dialogue=Dialogue(pending_question=asked), version=3),
    )


def _known(stage: StageCode, asked: str | None) -> dict[str, FieldValue]:
    """What a conversation knows when it comes to this question, in the order the questions are asked."""
    if stage is StageCode.NOT_READY:
        return {}
    known: dict[str, FieldValue] = {}
    for question, keys in COLLECTION_ORDER:
        if stage is StageCode.COLLECTING and asked is not None and asked.removeprefix("CONFIRM_") in (question, "INJURY"):
            break
        known |= {key: _QUIET[key] for key in keys}
    return known
