"""The file of conversations, and which of them are played."""

from collections import Counter
from pathlib import Path

import pytest

from sim.traffic.scenario import Say, SetInfo, cast_of, load_scenarios

pytestmark = pytest.mark.unit


def test_the_own_file_holds_the_promised_conversations():
    assert [item.name for item in load_scenarios()] == [
        "single_normal",
        "double_normal",
        "explicit_handoff",
        "injury_at_once",
        "injury_late",
        "no_reply",
        "photo_failure",
        "set_info_then_chat",
    ]


def test_blocks_come_before_a_scenarios_own_turns(tmp_path: Path):
    path = tmp_path / "s.yaml"
    path.write_text('blocks: {a: [{say: x, repeat: 2}]}\nscenarios: [{name: n, use: [a], turns: [{set: {key: k, value: "1"}}]}]\n', "utf-8")
    [scenario] = load_scenarios(path)
    assert scenario.steps == (Say("x"), Say("x"), SetInfo("k", "1"))


def test_a_block_that_does_not_exist_is_an_error(tmp_path: Path):
    path = tmp_path / "s.yaml"
    path.write_text("scenarios: [{name: n, use: [missing]}]\n", "utf-8")
    with pytest.raises(KeyError):
        load_scenarios(path)


def test_every_scenario_is_played_once_before_weights_count():
    scenarios = load_scenarios()
    chosen = Counter(item.name for item in cast_of(scenarios, 40, seed=1))
    assert set(chosen) == {item.name for item in scenarios}
    assert sum(chosen.values()) == 40


def test_the_same_seed_plays_the_same_conversations():
    scenarios = load_scenarios()
    assert cast_of(scenarios, 20, seed=5) == cast_of(scenarios, 20, seed=5)
    assert cast_of(scenarios, 20, seed=5) != cast_of(scenarios, 20, seed=6)
