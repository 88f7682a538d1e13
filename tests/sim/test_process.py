"""The simulators as processes: one ready line, and an end that does not keep anybody waiting."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

import pytest

pytestmark = pytest.mark.e2e

Spawn = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    started: list[subprocess.Popen[bytes]] = []

    def begin(module: str, *args: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-m", module, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def ready(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    return json.loads(cast("IO[bytes]", process.stdout).readline())


def test_the_model_says_where_it_listens_and_answers_there(spawn: Spawn):
    line = ready(spawn("sim.model", "--port", "0"))
    assert line == {"ready": True, "port": line["port"]}
    with urllib.request.urlopen(f"http://127.0.0.1:{line['port']}/v1/models") as response:
        assert json.load(response)["data"][0]["id"] == "sim-accident"


@pytest.mark.parametrize("args", [("sim.model",), ("sim.fastgpt", "--model-url", "http://127.0.0.1:1/v1")])
def test_a_server_ends_soon_after_it_is_told_to(spawn: Spawn, args: tuple[str, ...]):
    process = spawn(*args)
    ready(process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=5) == 0


def test_a_server_ends_when_its_standard_input_does(spawn: Spawn):
    process = spawn("sim.model", "--exit-with-stdin")
    ready(process)
    cast("IO[bytes]", process.stdin).close()
    assert process.wait(timeout=5) == 0


def test_traffic_that_finds_nobody_reports_it_and_fails(spawn: Spawn):
    process = spawn("sim.traffic", "--base-url", "http://127.0.0.1:1", "--caller", "a=k", "--sessions", "1")
    *_, last = [json.loads(line) for line in cast("IO[bytes]", process.stdout)]
    assert last["done"] is True
    assert last["answered"] == 0
    assert process.wait(timeout=5) == 1
