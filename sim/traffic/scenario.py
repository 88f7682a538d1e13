"""Conversations to play, from a YAML file: blocks put together into a flat list of steps."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, cast

import yaml


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class SetInfo:
    """`value` is JSON text, as the wire wants it."""

    key: str
    value: str


Step = Say | SetInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    name: str
    weight: int
    steps: tuple[Step, ...]


def load_scenarios(path: Path | None = None) -> tuple[Scenario, ...]:
    """From the given file, or from the one beside this module. Raises KeyError for a block that does not exist."""
    text = path.read_text("utf-8") if path else resources.files("sim.traffic").joinpath("scenarios.yaml").read_text(encoding="utf-8")
    data = cast("dict[str, Any]", yaml.safe_load(text))
    blocks = {name: _steps(lines) for name, lines in (data.get("blocks") or {}).items()}
    return tuple(_scenario(item, blocks) for item in data["scenarios"])


def cast_of(scenarios: Sequence[Scenario], count: int, seed: int) -> list[Scenario]:
    """`count` scenarios: each at least once when there is room, the rest by weight; the same for the same seed."""
    chance = random.Random(seed)
    first = list(scenarios)[:count]
    rest = chance.choices(list(scenarios), weights=[item.weight for item in scenarios], k=max(0, count - len(first)))
    chosen = [*first, *rest]
    chance.shuffle(chosen)
    return chosen


def _scenario(item: dict[str, Any], blocks: dict[str, tuple[Step, ...]]) -> Scenario:
    steps = [step for name in item.get("use") or [] for step in blocks[name]]
    return Scenario(name=item["name"], weight=int(item.get("weight", 1)), steps=(*steps, *_steps(item.get("turns") or [])))


def _steps(lines: list[dict[str, Any]]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for line in lines:
        step = SetInfo(line["set"]["key"], line["set"]["value"]) if "set" in line else Say(str(line["say"]))
        steps += [step] * int(line.get("repeat", 1))
    return tuple(steps)
