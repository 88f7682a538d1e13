"""Is the process alive, and may it take traffic? `live` asks nothing but the process; `ready` asks everything a turn needs."""

from collections.abc import Awaitable, Callable, Mapping

import orjson
from fastapi import APIRouter, Response

Check = Callable[[], Awaitable[str | None]]
"""None: fine; else what is wrong, in words for an operator, without addresses or secrets."""


def health_routes(checks: Mapping[str, Check]) -> APIRouter:
    router = APIRouter(prefix="/health")

    @router.get("/live")
    async def live() -> Response:  # pyright: ignore[reportUnusedFunction]  # FastAPI holds it
        return Response(orjson.dumps({"status": "live"}), media_type="application/json")

    @router.get("/ready")
    async def ready() -> Response:  # pyright: ignore[reportUnusedFunction]  # FastAPI holds it
        found = {name: await check() for name, check in checks.items()}
        wrong = [name for name, problem in found.items() if problem is not None]
        body = {"status": "not_ready" if wrong else "ready", "checks": {name: problem or "ok" for name, problem in found.items()}}
        return Response(orjson.dumps(body), status_code=503 if wrong else 200, media_type="application/json")

    return router
