"""The ASGI application of the partners' port."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from fastapi import FastAPI
from starlette.types import ASGIApp

from proxy.health import Check, health_routes
from proxy.request_id import RequestId
from proxy.routes import Doors


def build_app(
    doors: Doors, checks: Mapping[str, Check], lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None
) -> ASGIApp:
    """`checks` are asked by /health/ready. The interactive pages are off: they would load scripts from elsewhere.
    The request id is outermost, so that every answer carries one, also those that no route made."""
    app = FastAPI(title="ZNJJ accident reporting", docs_url=None, redoc_url=None, lifespan=lifespan)
    app.include_router(doors.router)
    app.include_router(health_routes(checks))
    return RequestId(app)
