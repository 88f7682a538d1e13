"""Bytes to and from a FastGPT server: addresses, headers, time limits, and the one door where foreign errors become ours.
A completion is never sent twice: the upstream's memory may have moved although no answer came. Redirects are not followed, no
conditional headers are sent (a matching ETag would turn an answer into an empty 304), and the end of the HTTP body is the end."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
import anyio
import httpx
import orjson

from backends.fastgpt.config import FastGptConfig
from backends.fastgpt.refusal import MAX_BODY_BYTES, error_from_body, json_object
from domain.errors import BackendError, FailureKind

_CLOSE_S = 1.0
_NEVER_CONNECTED = (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError)
PROBE_CHAT = "crossfade-probe"  # only ever read, so never created
_EMPTY = "messages is empty"  # what a reachable server with a good key says to a call without a message


class FastGptClient:
    """The transport, and with it the connection pool, is handed in and stays its owner's. It is asked directly: redirects, cookies and
    the environment's proxies are things we never want, and an httpx client between us costs seven times the call itself."""

    def __init__(self, config: FastGptConfig, transport: httpx.AsyncBaseTransport) -> None:
        self._config = config
        self._transport = transport
        self._headers = httpx.Headers(
            {
                "authorization": config.authorization,
                "content-type": "application/json",
                "accept": "text/event-stream, application/json",
                "accept-encoding": "identity",
            }
        )
        limits = httpx.Timeout(connect=config.connect_s, pool=config.connect_s, write=config.first_byte_s, read=None)
        self._extensions = {"timeout": limits.as_dict()}
        self._completions_url = httpx.URL(config.completions_url)

    @asynccontextmanager
    async def completion(self, body: Mapping[str, Any], *, request_id: str = "") -> AsyncGenerator["Completion"]:
        """Send one call and hold its response open. `request_id` lets an operator find the call in the upstream's own log.
        Raises BackendError."""
        begun = asyncio.get_running_loop().time()
        until = begun + min(self._config.first_byte_s, self._config.total_s)
        response = await self._send("POST", self._completions_url, orjson.dumps(body), until=until, request_id=request_id)
        completion = Completion(self._config, response, begun)
        try:
            yield completion
        finally:
            # Shielded and bounded: whoever leaves in the middle, the connection must not stay open behind us.
            with anyio.move_on_after(_CLOSE_S, shield=True):
                await completion.aclose()

    async def delete_chat(self, chat_id: str) -> None:
        """Raises BackendError. Deleting a chat that isn't there is a success upstream."""
        query = httpx.QueryParams({"chatId": chat_id, "appId": self._config.app_id or ""})
        status, body = await self._short_call("DELETE", f"{self._config.root_url}/api/core/chat/delHistory?{query}")
        if (json_object(body) or {}).get("code") != 200:
            raise error_from_body(status, body)

    async def delete_record(self, chat_id: str, data_id: str) -> None:
        """One side of one round. Raises BackendError; deleting what isn't there is a success upstream."""
        query = httpx.QueryParams({"contentId": data_id, "chatId": chat_id, "appId": self._config.app_id or ""})
        status, body = await self._short_call("DELETE", f"{self._config.root_url}/api/core/chat/item/delete?{query}")
        if (json_object(body) or {}).get("code") != 200:
            raise error_from_body(status, body)

    async def get_data(self, path: str, query: Mapping[str, str]) -> Mapping[str, Any]:
        """`data` of a successful envelope. Raises BackendError; MALFORMED when there is no envelope at all, as from an unknown route."""
        return _data(*await self._short_call("GET", f"{self._config.root_url}{path}?{httpx.QueryParams(query)}"), dict)

    async def get_rows(self, path: str, query: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """As `get_data`, where `data` is a list of objects."""
        rows = _data(*await self._short_call("GET", f"{self._config.root_url}{path}?{httpx.QueryParams(query)}"), list)
        return [cast("Mapping[str, Any]", row) for row in cast("list[Any]", rows) if isinstance(row, dict)]

    async def post_data(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """As `get_data`, for the routes that read by POST."""
        return _data(*await self._short_call("POST", f"{self._config.root_url}{path}", orjson.dumps(body)), dict)

    async def refused_call(self, api: str) -> tuple[httpx.Headers, Mapping[str, Any] | None]:
        """Headers and envelope of a call that every release refuses before it starts anything: one without a message. The envelope is None
        where the route does not exist. Raises BackendError when nobody answers."""
        content = orjson.dumps({"stream": False, "detail": False, "messages": []})
        response, body = await self._short_response("POST", f"{self._config.root_url}/api/{api}/chat/completions", content)
        return response.headers, json_object(body)

    async def check(self) -> None:
        """Raises BackendError when address, key or app would not serve a turn. Nothing is stored upstream and no model is called."""
        if self._config.app_id:
            query = httpx.QueryParams({"appId": self._config.app_id, "chatId": PROBE_CHAT})
            status, body = await self._short_call("GET", f"{self._config.root_url}/api/core/chat/init?{query}")
            if (json_object(body) or {}).get("code") == 200:
                return
        else:
            content = orjson.dumps({"stream": False, "detail": False, "messages": []})
            status, body = await self._short_call("POST", self._config.completions_url, content)
            if (json_object(body) or {}).get("message") == _EMPTY:
                return
        raise error_from_body(status, body)

    async def _short_call(self, method: str, url: str, content: bytes | None = None) -> tuple[int, bytes]:
        response, body = await self._short_response(method, url, content)
        return response.status_code, body

    async def _short_response(self, method: str, url: str, content: bytes | None = None) -> tuple[httpx.Response, bytes]:
        until = asyncio.get_running_loop().time() + self._config.short_call_s
        response = await self._send(method, url, content, until=until)
        try:
            async with asyncio.timeout_at(until):
                body = b""
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > MAX_BODY_BYTES * 16:  # the probe reads an app's settings, some hundred KiB at most
                        raise BackendError(FailureKind.MALFORMED, "body_too_large")
                return response, body
        except (httpx.HTTPError, TimeoutError) as error:
            raise failure_of(error, has_answered=True, limit="call") from error
        finally:
            with anyio.move_on_after(_CLOSE_S, shield=True):
                await response.aclose()

    async def _send(
        self, method: str, url: httpx.URL | str, content: bytes | None, *, until: float, request_id: str = ""
    ) -> httpx.Response:
        """The response with its body unread. `until` is on the loop's clock."""
        try:
            request = httpx.Request(method, url, content=content, headers=self._headers, extensions=self._extensions)
            if request_id:
                request.headers["x-request-id"] = request_id
            async with asyncio.timeout_at(until):
                return await self._transport.handle_async_request(request)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise failure_of(error, has_answered=False, limit="first_byte") from error


def _data(status: int, body: bytes, shape: type) -> Any:
    """`data` of a successful envelope, which must be of that shape."""
    envelope = json_object(body)
    if envelope is None:
        raise BackendError(FailureKind.MALFORMED, f"no_envelope:{status}")
    data = envelope.get("data")
    if envelope.get("code") != 200 or not isinstance(data, shape):
        raise error_from_body(status, body)
    return data


class Completion:
    """One response while it is read. Time limits hold per read, and the total from the sending of the request on."""

    def __init__(self, config: FastGptConfig, response: httpx.Response, begun: float) -> None:
        self.status = response.status_code
        self._config = config
        self._response = response
        self._pieces = cast("AsyncGenerator[bytes]", response.aiter_bytes())
        self._time = asyncio.get_running_loop().time
        self._last = begun + config.total_s
        self._first = begun + config.first_byte_s
        self._quiet_s = config.idle_s
        self._has_begun = False

    def expect_end(self) -> None:
        """The answer itself is complete: from now on silence is borne for `tail_s` only."""
        self._quiet_s = self._config.tail_s

    async def read(self) -> bytes | None:
        """The next bytes, of any length; None at the end of the body. Raises BackendError."""
        until = self._time() + self._quiet_s if self._has_begun else self._first
        try:
            async with asyncio.timeout_at(min(until, self._last)):
                piece = await anext(self._pieces, None)
        except (httpx.HTTPError, httpx.StreamError, TimeoutError) as error:
            limit = "total" if self._last <= until else "idle" if self._has_begun else "first_byte"
            raise failure_of(error, has_answered=True, limit=limit) from error
        self._has_begun = True
        return piece

    async def aclose(self) -> None:
        try:
            await self._pieces.aclose()
            await self._response.aclose()
        except httpx.HTTPError:
            return  # the connection broke while it was being closed: it is closed


def failure_of(error: Exception, *, has_answered: bool, limit: str) -> BackendError:
    """The one table of foreign errors. `limit` names the time limit of ours that ran out, if it was one.

    The transport reports every lost connection before the response as a connect timeout, so its cause decides: a server that hung up
    had taken the request, and the turn may have run.
    """
    note = type(error).__name__
    if isinstance(error, TimeoutError):
        return BackendError(FailureKind.TIMEOUT, limit)
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL | httpx.LocalProtocolError):
        return BackendError(FailureKind.CONFIGURATION, note)
    if isinstance(error, httpx.DecodingError):
        return BackendError(FailureKind.MALFORMED, note)
    if has_answered:
        return BackendError(FailureKind.TIMEOUT if isinstance(error, httpx.ReadTimeout) else FailureKind.INTERRUPTED, note)
    cause = error.__cause__
    if isinstance(cause, aiohttp.ClientConnectionError) and not isinstance(cause, _NEVER_CONNECTED):
        return BackendError(FailureKind.INTERRUPTED, type(cause).__name__)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.ProxyError):
        return BackendError(FailureKind.UNREACHABLE, note)
    if isinstance(error, httpx.TimeoutException):
        return BackendError(FailureKind.TIMEOUT, note)
    return BackendError(FailureKind.INTERRUPTED, note)
