"""The labelled utterances. `injury.jsonl` was written before the detector, `second.jsonl` after it by the same hand, `held_out.jsonl` by a
writer who saw neither the detector nor the other sets. What each showed at first sight, and that all three are tuned on by now, stands in
docs/adr/0022."""

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
