"""The labelled utterances. `injury.jsonl` was written and labelled before the detector; `second.jsonl` after it, by the same hand, in two
lots: nobody hurt was cleared in either, 82 % and 69 % of the plain denials passed without a question before what they showed was mended."""

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
