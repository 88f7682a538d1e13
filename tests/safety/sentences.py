"""The labelled utterances. `injury.jsonl` is what the detector was built on; `held_out.jsonl` is not looked at while it is changed."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Truth = Literal["hurt", "unhurt", "unknown", "silent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    id: str
    asked: bool  # the bot has just asked whether somebody is hurt
    text: str
    truth: Truth  # by meaning, for a careful person
    kind: Literal["plain", "adversarial"]


def load(name: str) -> list[Sentence]:
    lines = (Path(__file__).parent / name).read_text("utf-8").splitlines()
    return [Sentence(**json.loads(line)) for line in lines if line.strip()]
