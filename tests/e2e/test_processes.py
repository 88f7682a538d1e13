"""The product as people start it: real processes, real signals."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from storage.embedded import forget_dead_users

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
MARK = "CROSSFADE_TEST_RUN"


@pytest.fixture
def place(tmp_path: Path) -> Generator[Path]:
    """A folder to run in; whatever a test leaves running there is ended."""
    yield tmp_path
    for process in ours(tmp_path):
        process.kill()


def ours(place: Path) -> list[psutil.Process]:
    """Everything that was started from this folder and still runs, PostgreSQL apart."""
    found = []
    for process in psutil.process_iter(["pid", "name"]):
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == str(place) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return [process for process in found if process.info["name"] != "postgres"]


def start_demo(place: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "cli.main", "demo", *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT), MARK: str(place)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_live(demo: subprocess.Popen[str]) -> None:
    assert demo.stderr is not None
    for line in demo.stderr:
        if "proxy on" in line:
            return
    pytest.fail("the demo ended before it was ready")


def gone(place: Path, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while ours(place) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not ours(place)


def postgres_of(place: Path) -> psutil.Process | None:
    pid_file = place / ".crossfade" / "postgres" / "postmaster.pid"
    if not pid_file.exists():
        return None
    pid = int(pid_file.read_text().splitlines()[0])
    return psutil.Process(pid) if psutil.pid_exists(pid) else None


def test_ctrl_c_stops_everything_and_a_kill_leaves_nothing_for_the_next_start(place: Path):
    demo = start_demo(place, "--sessions", "2")
    wait_until_live(demo)
    assert len(ours(place)) >= 6  # demo, three simulators, proxy, worker
    demo.kill()
    demo.communicate()
    assert gone(place, 15), "children outlived a killed demo"
    left = postgres_of(place)
    assert left is not None  # the server survives its users, which is why the next start tidies

    demo = start_demo(place, "--sessions", "2")
    wait_until_live(demo)
    demo.send_signal(signal.SIGINT)
    demo.communicate(timeout=30)
    assert demo.returncode == 0
    assert gone(place, 1)
    assert postgres_of(place) is None


def test_a_played_demo_answers_everything_and_loses_nothing(place: Path):
    demo = start_demo(place, "--once", "--sessions", "24")
    _, told = demo.communicate(timeout=110)
    result = json.loads((place / "build" / "demo.json").read_text())
    assert demo.returncode == 0, told + json.dumps(result, indent=1)
    ledger, turns = result["ledger"], result["turns"]
    assert turns["answered"] == turns["played"] == turns["fastgpt"] + turns["langgraph"] == ledger["eligible"] == ledger["compared"]
    assert min(turns["fastgpt"], turns["langgraph"], turns["streamed"]) > 0
    assert ledger["pending"] == ledger["unaccounted"] == 0
    found = {cluster["signature"] for cluster in result["clusters"]}
    # Each planted fault is found and named for what it is.
    assert any(signature.startswith("handoff EXPLICIT_REQUEST≠OTHER_COMPLEX") for signature in found)
    assert "error ok≠node_failed" in found
    assert any(signature.startswith("patch ") for signature in found)
    assert any(signature.startswith("stage ") for signature in found)
    report = (place / "build" / "shadow-report.html").read_text()
    assert "Stage confusion matrix" in report
    assert "http://" not in report
    assert "https://" not in report


def test_a_dead_process_is_forgotten_by_the_embedded_server(tmp_path: Path):
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True)
    handles = tmp_path / ".handle_pids.json"
    handles.write_text(json.dumps([int(dead.stdout), os.getpid()]))
    forget_dead_users(tmp_path)
    assert json.loads(handles.read_text()) == [os.getpid()]


@pytest.mark.parametrize("module", ["sim.model", "sim.fastgpt", "sim.traffic", "cli.main demo"])
def test_neither_simulators_nor_the_demo_run_in_production(module, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", *module.split()],
        cwd=tmp_path, env={**os.environ, "ZNJJ_ENVIRONMENT": "production", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (2, 4)
    assert "production" in done.stderr
    assert not (tmp_path / ".crossfade").exists()


async def test_production_refuses_everything_that_is_made_up():
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "cli.main", "serve",
        env={**os.environ, "ZNJJ_ENVIRONMENT": "production", "PYTHONPATH": str(ROOT)},
        cwd="/", stderr=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    _, told = await process.communicate()
    assert process.returncode == 2
    for name in (b"ZNJJ_DATABASE__DSN", b"ZNJJ_AUTH__KEY_PEPPER", b"ZNJJ_LLM__BASE_URL", b"simulators"):
        assert name in told
    assert b"Traceback" not in told
