"""aiohttp responses that look like the real server's: its headers, in its order, and nothing of aiohttp's own."""

import secrets
from typing import Any

from aiohttp import hdrs, web

from sim.fastgpt import wire
from sim.fastgpt.auth import Refusal
from sim.fastgpt.eras import Era
from sim.fastgpt.variables import dumps

_RAN = web.ResponseKey("ran", bool)
_BARE = web.ResponseKey("bare", bool)
_ORDER_RAN = (
    "Connection", "Content-Type", "ETag", "Content-Length", "Vary",
    "Access-Control-Allow-Origin", "X-Accel-Buffering", "Cache-Control", "Date", "Transfer-Encoding",
)  # fmt: skip
_ORDER_PLAIN = ("Content-Type", "ETag", "Content-Length", "Vary", "Date", "Connection", "Transfer-Encoding")


def json_response(body: Any, *, request: web.Request | None = None, status: int = 200, ran: bool = False) -> web.Response:
    """`ran`: a workflow ran, so the header order is the completion's. With a request, a matching If-None-Match gives an empty 304."""
    text = dumps(body)
    etag = wire.etag_of(text)
    if request is not None and request.headers.get("If-None-Match") == etag:
        unchanged = web.Response(status=304, headers={"ETag": etag})
        unchanged[_BARE] = True
        return unchanged
    response = web.Response(
        body=text.encode(), status=status, headers={"Content-Type": wire.JSON_TYPE, "ETag": etag, "Vary": "Accept-Encoding"}
    )
    response[_RAN] = ran
    return response


def refusal_response(refusal: Refusal) -> web.Response:
    response = json_response(wire.error_envelope(refusal.message, code=refusal.code, status_text=refusal.status_text), status=500)
    if refusal.clears_cookie:
        response.headers["Set-Cookie"] = wire.CLEARING_COOKIE
    return response


def event_stream() -> web.StreamResponse:
    response = web.StreamResponse(headers={"Connection": "keep-alive", **wire.SSE_HEADERS})
    response[_RAN] = True
    return response


def bare_stream(*, status: int = 200, reason: str | None = None, clears_cookie: bool = False) -> web.StreamResponse:
    """A chunked answer without content type: how an early error of a stream, or a broken body, comes."""
    response = web.StreamResponse(status=status, reason=reason)
    if clears_cookie:
        response.headers["Set-Cookie"] = wire.CLEARING_COOKIE
    response[_BARE] = True
    return response


def order_headers(response: web.StreamResponse, era: Era) -> None:
    """Called when a response is about to be sent: drops what the framework added and puts the rest in the recorded order."""
    headers = response.headers
    headers.popall(hdrs.SERVER, None)
    if response.get(_BARE):
        headers.popall(hdrs.CONTENT_TYPE, None)
    security = wire.SECURITY_HEADERS if era.security_headers else {}
    if era.names_requests:
        security = {**security, "x-request-id": secrets.token_hex(8)}
    order = _ORDER_RAN if response.get(_RAN) else _ORDER_PLAIN
    if response.get(_RAN):
        # Also when the client asked to close: this release says keep-alive whatever it was asked.
        headers["Connection"] = "keep-alive"
    found = {name.title(): (name, value) for name, value in headers.items()}
    ordered = [*security.items(), *_taken(found, ("Set-Cookie", *order))]
    rest = [(name, value) for name, value in found.values()]
    headers.clear()
    headers.extend([*ordered, *rest])


def _taken(found: dict[str, tuple[str, str]], names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(name, item[1]) for name in names if (item := found.pop(name.title(), None)) is not None]
