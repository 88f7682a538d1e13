"""The day after the migration: the tree without FastGPT's adapter, its emulator and their two registration lines still passes the contract
and regression suites."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.integration]

ROOT = Path(__file__).parents[2]
GONE = ("backends/fastgpt", "sim/fastgpt")
LINES = {
    "wiring/backends.py": "    BackendName.FASTGPT: open_fastgpt,\n",
    "wiring/settings.py": '                **_given("FASTGPT", self.fastgpt, "base_url", "api_key", "chat_secret"),\n',
}
SUITES = (
    "tests/contract",
    "tests/domain",
    "tests/rollout",
    "tests/backends/langgraph",
    "tests/golden",
    "tests/proxy",
    "tests/shadow",
    "tests/storage",
)
# What is about FastGPT itself, or needs both sides at once; it goes with the adapter.
ABOUT_FASTGPT = (
    "tests/proxy/test_adoption.py",
    "tests/proxy/test_handover.py",
    "tests/proxy/test_reconcile.py",
    "tests/proxy/test_upstream_faults.py",
    "tests/proxy/test_void_turns.py",
    "tests/proxy/test_write_chat.py",
    "tests/storage/test_erasure.py",
)
_IMPORTS = re.compile(r"^\s*(from|import) (backends\.fastgpt|sim\.fastgpt|tests\.fakes\.both_sides)", re.MULTILINE)


def test_only_what_is_about_fastgpt_is_left_out():
    for name in ABOUT_FASTGPT:
        assert _IMPORTS.search((ROOT / name).read_text("utf-8")), name


def test_the_contract_and_regression_suites_pass_without_fastgpt(tmp_path: Path):
    tree = tmp_path / "tree"
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if not name.startswith(GONE) and (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    for name, line in LINES.items():
        text = (tree / name).read_text("utf-8")
        assert text.count(line) == 1, f"{name}: its registration line is another one by now"
        (tree / name).write_text(text.replace(line, ""), encoding="utf-8")
    assert not any((tree / name).exists() for name in GONE)
    ignored = [f"--ignore={name}" for name in ABOUT_FASTGPT]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider", *ignored, *SUITES],
        cwd=tree,
        env={name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "ZNJJ"))} | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert " skipped" not in done.stdout
