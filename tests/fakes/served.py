"""An application behind a real socket, in this process and its loop: what a partner's bytes go through, minus the start of a process."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from tests.fakes.waiting import until


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield  # Ctrl-C belongs to pytest


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncGenerator[str]:
    """Yields the address."""
    config = uvicorn.Config(app, port=0, http="httptools", lifespan="off", access_log=False, log_config=None, timeout_graceful_shutdown=2)
    server = _Server(config)
    serving = asyncio.create_task(server.serve())
    try:
        await until(lambda: server.started or serving.done())
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
