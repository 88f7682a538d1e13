"""`crossfade eval` as an operator runs it: a process, its own simulated model, files and an exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]


def evaluate(place: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ZNJJ_", "SIM_"))}
    return subprocess.run(
        [sys.executable, "-m", "cli.main", "eval", *arguments],
        cwd=place,
        env={**kept, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def test_a_model_without_mistakes_passes_everything(tmp_path: Path):
    ended = evaluate(tmp_path, "--json", "--html", "out/page.html")
    assert ended.returncode == 0, ended.stderr
    facts = json.loads(ended.stdout)
    judged = {name: line for name, line in facts["lines"].items() if line["verdict"] != "not_told"}
    assert {name: line["rate"] for name, line in judged.items() if line["rate"] != 1.0} == {}
    assert facts["model"] == "sim-accident"
    assert "全部" in (tmp_path / "out" / "page.html").read_text("utf-8")


def test_a_model_with_mistakes_fails_by_name(tmp_path: Path):
    ended = evaluate(tmp_path, SIM_MODEL_MISTAKES="missed_injury=0.4,wrong_time=0.4")
    assert ended.returncode == 1
    named = {line.split()[1].rstrip(":") for line in ended.stderr.splitlines() if line.startswith("error ")}
    assert named == {"injury_recall_model", "time_model"}
    assert "injury_recall_model" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(("--threshold", "nothing=0.5"), "there is no line nothing"), (("--threshold", "time_model"), "not LINE=SHARE")],
)
def test_a_threshold_that_means_nothing_is_a_usage_error_before_anything_is_asked(tmp_path: Path, arguments: tuple[str, ...], told: str):
    ended = evaluate(tmp_path, *arguments)
    assert ended.returncode == 2
    assert told in ended.stderr
    assert not (tmp_path / "build").exists()


def test_a_model_that_is_not_there_is_said_with_its_own_exit_code(tmp_path: Path):
    ended = evaluate(tmp_path, ZNJJ_LLM__BASE_URL="http://127.0.0.1:9/v1", ZNJJ_LLM__API_KEY="k", ZNJJ_LLM__MODEL="m")
    assert ended.returncode == 6
    assert "the model cannot be asked" in ended.stderr


def test_other_commands_do_not_load_the_graph_for_its_sake():
    told = "import sys, cli.main; print([name for name in ('langgraph', 'openai') if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.strip() == "[]"
