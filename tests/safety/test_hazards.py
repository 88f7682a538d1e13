"""The labelled utterances about every danger but injuries: what is there is heard, what is denied or merely sounds like it is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from domain.handoff_reason import HandoffReason
from domain.hazards import HAZARDS
from domain.injury import Verdict
from domain.safety import detect

pytestmark = [pytest.mark.unit, pytest.mark.security]

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "hazards.jsonl").read_text("utf-8").splitlines() if line.strip()
]


def heard(text: str, verdict: Verdict) -> set[HandoffReason]:
    return {reason for reason, found in detect(text, None).hazards.items() if found is verdict}


@pytest.mark.parametrize("row", [row for row in ROWS if row["present"]], ids=lambda row: row["id"])
def test_a_danger_is_heard(row: dict[str, Any]):
    assert row["present"] in heard(row["text"], Verdict.PRESENT), row["text"]


@pytest.mark.parametrize("row", [row for row in ROWS if row["doubtful"]], ids=lambda row: row["id"])
def test_a_doubtful_word_is_asked_about(row: dict[str, Any]):
    finding = detect(row["text"], None)
    assert finding.question is not None, row["text"]
    assert not finding.reasons, row["text"]


@pytest.mark.parametrize("row", [row for row in ROWS if not row["present"] and not row["doubtful"]], ids=lambda row: row["id"])
def test_what_is_denied_or_only_sounds_like_a_danger_is_none(row: dict[str, Any]):
    assert detect(row["text"], None).hazards == {}, row["text"]


def test_every_category_has_its_sentences():
    assert {row["present"] for row in ROWS if row["present"]} == {hazard.reason for hazard in HAZARDS}
    assert {row["doubtful"] for row in ROWS if row["doubtful"]} == {hazard.reason for hazard in HAZARDS if hazard.question}
