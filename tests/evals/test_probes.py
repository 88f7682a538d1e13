"""What is asked: enough of everything, nothing twice, and nobody real."""

import re
from collections import Counter

import pytest

from evals.golden import scenarios
from evals.interval import wilson
from evals.probes import probes
from evals.scorecard import LEAST

pytestmark = pytest.mark.unit


def test_there_are_enough_probes_of_every_class():
    by_class = Counter(
        f"{probe.group} {probe.truth}" if probe.group in ("injury", "handoff", "answers") else probe.group for probe in probes()
    )
    assert set(by_class) == {
        "injury hurt", "injury calm", "handoff wish", "handoff calm", "fields", "times", "counts",
        "answers valid", "answers unclear", "answers irrelevant", "answers refused",
    }  # fmt: skip
    assert {name: count for name, count in by_class.items() if count < LEAST} == {}


def test_no_probe_is_asked_twice():
    asked = Counter(
        (probe.text, probe.now, probe.session.stage, probe.session.dialogue.pending_question, probe.group) for probe in probes()
    )
    assert [key for key, count in asked.items() if count > 1] == []


def test_no_probe_holds_a_number_of_a_person():
    assert [probe.text for probe in probes() if re.search(r"\d{11}", probe.text)] == []


def test_all_thirty_three_scenarios_are_played():
    assert {scenario.name.split("_")[0] for scenario in scenarios()} == {f"G{number:02}" for number in range(1, 34)}


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662), (1, 1, 0.2065, 1.0)],
)
def test_the_interval_is_wilsons(hits: int, n: int, low: float, high: float):
    assert wilson(hits, n) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_without_observations_there_is_no_interval():
    with pytest.raises(ValueError, match="no rate"):
        wilson(0, 0)
