"""What a person types, and what it means; wrong input is a sentence and an exit code."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli.demo import Traffic, verdict
from cli.report import moment
from cli.rollout import changed_document, ppm
from domain.evidence import Cluster, Ledger, Overview
from domain.plan import INITIAL_PLAN, plan_from_document

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "value"),
    [("25", 250_000), ("25%", 250_000), ("0", 0), ("100%", 1_000_000), ("0.25%", 2_500), ("12.5", 125_000), ("1", 10_000)],
)
def test_a_percentage_is_taken_with_or_without_its_sign(typed, value):
    assert ppm(typed) == value


@pytest.mark.parametrize("typed", ["0.25", "101", "-1", "x", "", "1e1", "25 %%", "0.5"])
def test_an_ambiguous_or_impossible_percentage_is_refused(typed):
    with pytest.raises(ValueError, match=r"ambiguous|no percentage"):
        ppm(typed)


@pytest.mark.parametrize(
    ("typed", "back"),
    [("24h", timedelta(hours=24)), ("7d", timedelta(days=7)), ("30m", timedelta(minutes=30)), ("5s", timedelta(seconds=5))],
)
def test_since_takes_spans(typed, back):
    assert moment(typed, NOW) == NOW - back


def test_since_takes_moments_and_reads_them_as_utc():
    assert moment("2026-11-30T10:00:00", NOW) == datetime(2026, 11, 30, 10, tzinfo=UTC)
    assert moment("2026-11-30T10:00:00+08:00", NOW) == datetime(2026, 11, 30, 2, tzinfo=UTC)
    with pytest.raises(ValueError, match="yesterday"):
        moment("yesterday", NOW)


NO_CHANGE = {"caller": None, "ppm": None, "backend": None, "sample_ppm": None, "override": None, "clear": False}


@pytest.mark.parametrize(
    ("change", "where", "value"),
    [
        ({"ppm": 5}, ("traffic",), {"langgraph_ppm": 5}),
        ({"backend": "langgraph"}, ("default",), "langgraph"),
        ({"sample_ppm": 7}, ("shadow", "sample_ppm"), 7),
        ({"override": "langgraph"}, ("override",), "langgraph"),
        ({"caller": "a", "ppm": 5}, ("callers", "a"), {"langgraph_ppm": 5}),
        ({"caller": "a", "backend": "langgraph"}, ("callers", "a"), {"backend": "langgraph"}),
        ({"caller": "a", "sample_ppm": 7}, ("shadow", "callers", "a"), {"sample_ppm": 7}),
    ],
)
def test_a_change_touches_what_it_names_and_nothing_else(change, where, value):
    after = changed_document(INITIAL_PLAN, NO_CHANGE | change)
    place = after
    for key in where:
        place = place[key]
    assert place == value
    plan_from_document(after, version=2)
    parent = after
    for key in where[:-1]:
        parent = parent[key]
    before = INITIAL_PLAN
    for key in where[:-1]:
        before = before[key]
    if where[-1] in before:
        parent[where[-1]] = before[where[-1]]
    else:
        del parent[where[-1]]
    assert after == INITIAL_PLAN


def test_the_kill_switch_is_lifted_by_none():
    assert changed_document({**INITIAL_PLAN, "override": "langgraph"}, NO_CHANGE | {"override": "none"}) == INITIAL_PLAN


def test_clearing_a_callers_rule_leaves_the_others():
    document = {**INITIAL_PLAN, "callers": {"a": {"backend": "langgraph"}, "b": {"langgraph_ppm": 0}}}
    assert changed_document(document, NO_CHANGE | {"caller": "a", "clear": True})["callers"] == {"b": {"langgraph_ppm": 0}}


def an_overview(**changes):
    values = {
        "turns_by_backend": {"fastgpt": 5, "langgraph": 5}, "failed_turns": 0, "sessions": 2, "comparisons": 10,
        "kinds": (), "stages": (), "latest": (),
        "ledger": Ledger(eligible=10, compared=10, pending=0, dropped={}, failed={}, unreplayable={}),
        "clusters": tuple(Cluster(kind=kind, signature=kind, severity="major", count=1) for kind in ("stage", "patch", "text", "error")),
    }  # fmt: skip
    return Overview(**(values | changes))


def test_the_demo_is_judged_good_when_all_was_answered_compared_and_found():
    assert verdict(an_overview(), Traffic(turns=10, answered=10, is_done=True)) == []


@pytest.mark.parametrize(
    ("overview", "traffic"),
    [
        ({}, {"answered": 9}),
        ({}, {"turns": 0, "answered": 0}),
        ({}, {"is_done": False}),
        ({"turns_by_backend": {"fastgpt": 9}}, {}),
        ({"ledger": Ledger(eligible=10, compared=9, pending=1, dropped={}, failed={}, unreplayable={})}, {}),
        ({"ledger": Ledger(eligible=10, compared=9, pending=0, dropped={}, failed={}, unreplayable={})}, {}),
        ({"ledger": Ledger(eligible=9, compared=9, pending=0, dropped={}, failed={}, unreplayable={})}, {}),
        ({"clusters": ()}, {}),
    ],
)
def test_the_demo_is_judged_bad_when_anything_is_missing(overview, traffic):
    assert verdict(an_overview(**overview), Traffic(**({"turns": 10, "answered": 10, "is_done": True} | traffic))) != []


def crossfade(place: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).parents[2])
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": root, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.integration
def test_operators_commands_work_on_a_database_and_speak_json(database, tmp_path):
    env = {
        "ZNJJ_DATABASE__DSN": database.app_dsn,
        "ZNJJ_DATABASE__MIGRATOR_DSN": database.migrator_dsn,
        "ZNJJ_DATABASE__SHADOW_DSN": database.shadow_dsn,
        "ZNJJ_DATABASE__READER_DSN": database.reader_dsn,
    }
    added = crossfade(tmp_path, "client", "add", "acme", "--tenant", "t1", "--json", **env)
    assert json.loads(added.stdout)["key"].startswith("cfk_")
    assert crossfade(tmp_path, "client", "add", "acme", "--tenant", "t1", **env).returncode == 5
    assert crossfade(tmp_path, "client", "disable", "nobody", **env).returncode == 3
    assert json.loads(crossfade(tmp_path, "client", "disable", "acme", "--json", **env).stdout)["status"] == "disabled"
    assert json.loads(crossfade(tmp_path, "migrate", "--json", **env | {"ZNJJ_DATABASE__MIGRATOR_DSN": database.admin_dsn}).stdout) == {
        "schema_version": 1,
        "revision": "0002",
    }

    before = json.loads(crossfade(tmp_path, "rollout", "show", "--json", **env).stdout)
    dry = json.loads(crossfade(tmp_path, "rollout", "set", "--percent", "25%", "--dry-run", "--json", **env).stdout)
    assert (dry["version"], dry["plan"]["traffic"]) == (before["version"] + 1, {"langgraph_ppm": 250_000})
    changed = crossfade(tmp_path, "rollout", "set", "--caller", "acme", "--percent", "25", "--reason", "canary", "--json", **env)
    shown = json.loads(crossfade(tmp_path, "rollout", "show", "--json", **env).stdout)
    assert json.loads(changed.stdout)["version"] == shown["version"] == before["version"] + 1
    assert (shown["plan"]["callers"], shown["reason"]) == ({"acme": {"langgraph_ppm": 250_000}}, "canary")
    assert crossfade(tmp_path, "rollout", "set", "--percent", "0.25", **env).returncode == 2
    assert crossfade(tmp_path, "rollout", "set", **env).returncode == 2

    overview = json.loads(crossfade(tmp_path, "report", "overview", "--json", **env).stdout)
    assert overview["ledger"]["eligible"] == 0
    html = crossfade(tmp_path, "report", "overview", "--html", str(tmp_path / "out" / "r.html"), **env)
    assert html.returncode == 0
    assert "Not enough data" in (tmp_path / "out" / "r.html").read_text()
    assert crossfade(tmp_path, "report", "overview", "--since", "soon", **env).returncode == 2

    doctor = crossfade(tmp_path, "doctor", "--json", **env)
    checks = json.loads(doctor.stdout)["checks"]
    assert doctor.returncode == 1  # no upstream is configured, and it says so
    assert "ZNJJ_FASTGPT__BASE_URL" in checks["backends"]
    assert {told for name, told in checks.items() if name != "backends"} == {"ok"}


@pytest.mark.integration
def test_a_database_that_is_away_is_one_line_and_its_own_exit_code(tmp_path):
    told = crossfade(tmp_path, "rollout", "show", ZNJJ_DATABASE__DSN="postgresql://x@127.0.0.1:1/none")
    assert told.returncode == 6
    assert "Traceback" not in told.stderr
    assert "127.0.0.1" not in told.stderr


@pytest.mark.integration
@pytest.mark.parametrize("profile", ["{", '{"legacy_code":true}', '{"http_status_mode":"maybe"}', "[]"])
def test_a_profile_that_is_not_exactly_right_is_refused(tmp_path, profile):
    told = crossfade(tmp_path, "client", "add", "x", "--tenant", "t", "--profile", profile)
    assert told.returncode == 2
    assert "--profile" in told.stderr
