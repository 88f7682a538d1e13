"""`crossfade serve`: the partners' door."""

import asyncio
import gc
import json
import os
import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager

import structlog
import uvicorn

from cli.loop import run
from cli.service import service
from wiring.database import Database
from wiring.services import open_proxy
from wiring.settings import Settings

log = structlog.get_logger(__name__)


def serve(*, port: int | None = None, host: str | None = None, exit_with_stdin: bool = False) -> int:
    """Serve /chat, /set_info, /get_info and /health until stopped.

    Parameters
    ----------
    port
        Listen here instead of ZNJJ_SERVER__PORT; 0 takes a free port. The first line on stdout tells which: {"ready": true, "port": …}.
    host
        Listen here instead of ZNJJ_SERVER__HOST.
    exit_with_stdin
        Stop when standard input ends, which is how a supervisor's death is noticed.
    """
    with service("crossfade-proxy", exit_with_stdin=exit_with_stdin) as (settings, database):
        run(_serve(settings, database, host or settings.server.host, settings.server.port if port is None else port))
    return 0


class _Server(uvicorn.Server):
    """Says on stdout where it listens once it does, and lets our own signal handlers stop it: uvicorn's raise the signal again once they
    have stopped serving, which would end the process before turns and connections are brought to their end."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What was built at start lives as long as the process: without this, a full collection walks a quarter of a million objects
        # and stops every turn for a tenth of a second.
        gc.collect()
        gc.freeze()
        port = self.servers[0].sockets[0].getsockname()[1]
        log.info("listening", port=port, pid=os.getpid())
        print(json.dumps({"ready": True, "port": port}), flush=True)


async def _serve(settings: Settings, database: Database, host: str, port: int) -> None:
    async with open_proxy(settings, database) as proxy:
        config = uvicorn.Config(
            proxy.app,
            host=host,
            port=port,
            http="httptools",
            lifespan="off",
            access_log=False,  # its lines would name sessions; ours are events
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=int(settings.server.shutdown_seconds),
        )
        await _Server(config).serve()
