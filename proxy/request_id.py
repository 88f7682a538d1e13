"""X-Request-ID: the caller's when it is well-formed, else ours; on every answer. Plain ASGI, so that streams pass untouched."""

import re
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

HEADER = "X-Request-ID"
_SHAPE = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestId:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        request_id = given if _SHAPE.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        with bound_contextvars(request_id=request_id, endpoint=scope["path"] if scope["path"] in _KNOWN else "other"):
            await self._app(scope, receive, send_with_id)


_KNOWN = frozenset({"/chat", "/set_info", "/get_info", "/health/live", "/health/ready"})
