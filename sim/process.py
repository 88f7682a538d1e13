"""How a simulator lives as a process: one ready line, an end within a second of SIGTERM, and an end with its parent.

The ready line is the only thing a server prints on stdout; whoever started it reads that line and knows the port.
"""

import asyncio
import json
import os
import signal
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Coroutine
from typing import Any

from aiohttp import web

SHUTDOWN_GRACE_S = 0.3
HOST = "127.0.0.1"


def add_process_options(parser: ArgumentParser) -> None:
    """Also refuses to be what production runs on."""
    if os.environ.get("ZNJJ_ENVIRONMENT") == "production":
        parser.exit(2, "simulators do not run where ZNJJ_ENVIRONMENT is production\n")
    parser.add_argument("--exit-with-stdin", action="store_true", help="end when standard input reaches its end (the parent died)")


def add_server_options(parser: ArgumentParser) -> None:
    parser.add_argument("--host", default=HOST, help="address to listen on")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one and prints it")
    add_process_options(parser)


async def serve(app: web.Application, *, host: str, port: int, exit_with_stdin: bool) -> None:
    """Listen until told to stop. Prints {"ready":true,"port":P} once the socket accepts connections."""
    stop = _stop_event(exit_with_stdin=exit_with_stdin)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_GRACE_S)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        print(json.dumps({"ready": True, "port": _bound_port(runner)}, separators=(",", ":")), flush=True)
        await stop.wait()
    finally:
        await runner.cleanup()


async def run_until_stopped(work: Coroutine[Any, Any, int], *, exit_with_stdin: bool) -> int:
    """Run `work` to its exit code, or cancel it when told to stop (exit code 143, as a shell reports SIGTERM)."""
    stop = asyncio.create_task(_stop_event(exit_with_stdin=exit_with_stdin).wait())
    task = asyncio.create_task(work)
    await asyncio.wait({stop, task}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        stop.cancel()
        return task.result()
    task.cancel()
    await asyncio.wait({task}, timeout=SHUTDOWN_GRACE_S)
    return 128 + signal.SIGTERM


def _bound_port(runner: web.AppRunner) -> int:
    address = runner.addresses[0]
    return int(address[1])


def _stop_event(*, exit_with_stdin: bool) -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if exit_with_stdin:
        threading.Thread(target=_set_at_end_of_stdin, args=(loop, stop), daemon=True).start()
    return stop


def _set_at_end_of_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    # os.read rather than sys.stdin: a daemon thread that holds the buffered reader's lock aborts the interpreter at exit.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    if not loop.is_closed():
        loop.call_soon_threadsafe(stop.set)
