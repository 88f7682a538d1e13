"""Child processes that never outlive us: each holds the reading end of a pipe whose other end is ours, and ends when it closes.

So an end by any means, SIGKILL included, ends them too. Servers announce themselves with one JSON line on stdout.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

READY_SECONDS = 60.0
STOP_SECONDS = 10.0


class ChildFailed(Exception):
    """A child ended or stayed silent before it was ready; the message names it and its log."""


class Children:
    """Starts processes and stops them in reverse order. Their stderr goes to `log_dir/<name>.log`."""

    def __init__(self, log_dir: Path) -> None:
        self._log_dir = log_dir
        self._running: list[tuple[str, Process]] = []

    async def __aenter__(self) -> Self:
        self._log_dir.mkdir(parents=True, exist_ok=True)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for _, process in reversed(self._running):
            await _stop(process)

    async def start(self, name: str, module: str, *arguments: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Run `python -m module` and return its ready line. Raises ChildFailed."""
        process = await self._spawn(name, module, arguments, env)
        assert process.stdout is not None
        try:
            line = await asyncio.wait_for(process.stdout.readline(), READY_SECONDS)
            ready = json.loads(line)
        except (TimeoutError, ValueError) as error:
            raise ChildFailed(f"{name} did not start; see {self._log_dir / name}.log") from error
        return ready

    async def run(self, name: str, module: str, *arguments: str, env: Mapping[str, str] | None = None) -> Process:
        """Run `python -m module`, its stdout ours to read line by line. It may end by itself: wait for it with `finished`."""
        return await self._spawn(name, module, arguments, env)

    async def finished(self, process: Process) -> int:
        """The exit code of a child that was meant to end; it is no longer ours to watch."""
        code = await process.wait()
        self._running = [(name, other) for name, other in self._running if other is not process]
        return code

    def ended(self) -> list[str]:
        """The names of those that ended although nobody waited for it."""
        return [name for name, process in self._running if process.returncode is not None]

    async def _spawn(self, name: str, module: str, arguments: Sequence[str], env: Mapping[str, str] | None) -> Process:
        with (self._log_dir / f"{name}.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", module, *arguments, "--exit-with-stdin",
                stdin=PIPE, stdout=PIPE, stderr=log, env={**os.environ, **(env or {})}, start_new_session=True,
            )  # fmt: skip
        self._running.append((name, process))
        return process


async def _stop(process: Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def end_with_stdin() -> None:
    """Ask ourselves to stop (SIGTERM) when standard input ends: our parent is gone."""

    def watch() -> None:
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()
