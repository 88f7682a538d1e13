"""`crossfade shadow-worker`: replay and compare, apart from the proxy."""

import asyncio
import os
import signal
import socket

import structlog

from cli.loop import run
from cli.service import service
from wiring.database import Database
from wiring.services import open_shadow_worker
from wiring.settings import Settings

log = structlog.get_logger(__name__)


def shadow_worker(*, exit_with_stdin: bool = False) -> int:
    """Replay sampled turns on the other backend and store what differs, until stopped.

    Parameters
    ----------
    exit_with_stdin
        Stop when standard input ends, which is how a supervisor's death is noticed.
    """
    with service("crossfade-shadow", exit_with_stdin=exit_with_stdin) as (settings, database):
        run(_work(settings, database))
    return 0


async def _work(settings: Settings, database: Database) -> None:
    worker = f"{socket.gethostname()}:{os.getpid()}"
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_shadow_worker(settings, database, worker=worker) as shadow:
        log.info("shadow_worker_started", worker=worker, lanes=settings.shadow.lanes)
        work = asyncio.create_task(shadow.run(lanes=settings.shadow.lanes))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if work.done():
            work.result()  # it never ends by itself: tell why
        work.cancel()
        await asyncio.wait({work})
