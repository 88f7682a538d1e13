"""`crossfade shadow-worker`: replay and compare, apart from the proxy."""

import asyncio
import os
import signal
import socket

import structlog

from cli.loop import run
from telemetry.setup import set_up_logging, set_up_tracing
from wiring.database import Database, open_database
from wiring.processes import end_with_stdin
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
    settings = Settings()
    set_up_logging(level=settings.observability.log_level, as_json=settings.observability.log_format == "json")
    end_tracing = set_up_tracing(
        exporter=settings.observability.trace_exporter if settings.otel_enabled else "none",
        service="crossfade-shadow",
        sample_ratio=settings.observability.trace_ratio,
    )
    if exit_with_stdin:
        end_with_stdin()
    with open_database(settings) as database:
        run(_work(settings, database))
    end_tracing()
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
