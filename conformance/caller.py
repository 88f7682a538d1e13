"""A partner's side of the wire: what is sent, what came back, and how a check says that the two do not fit."""

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx
import orjson

PHOTO = "【拍摄完成】"
MAX_BYTES = 1024 * 1024  # of one answer


class KeyRejected(Exception):
    """The service does not know this key, so nothing can be judged."""


class Mismatch(Exception):
    """What came back is not what was agreed. Both sides are short and hold no key."""

    def __init__(self, expected: object, seen: object) -> None:
        super().__init__("not as agreed")
        self.expected = _text(expected)
        self.seen = _text(seen)


def short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}…"


def _text(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def expect(what: str, expected: object, seen: object) -> None:
    """Raises Mismatch."""
    if expected != seen:
        raise Mismatch(f"{what}: {expected}", f"{what}: {seen}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One answer. `events` are (name, data) of a stream, in order; a whole answer has none."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    row: Mapping[str, Any]
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    @property
    def code(self) -> str:
        return str(self.row.get("code"))

    @property
    def text(self) -> str:
        if self.events:
            return "".join(str(data.get("text", "")) for name, data in self.events if name == "text_delta")
        return str(self.row.get("outputText", ""))

    @property
    def stage(self) -> str:
        return str(self.data_of("stage_code").get("nextStageCode") if self.events else self.row.get("nextStageCode"))

    @property
    def patch(self) -> Mapping[str, Any]:
        found = self.data_of("formUpdate").get("formUpdate") if self.events else self.row.get("formUpdate")
        return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}

    @property
    def version(self) -> Any:
        return self.row.get("stateVersion")

    def data_of(self, name: str) -> Mapping[str, Any]:
        return next((data for kind, data in self.events if kind == name), {})


class Caller:
    """One run of the checks: every session it opens is new, and its names say where they came from.

    `core`: the service of before is asked, which knows no versions and no codes of its own for errors. `seconds` bounds a whole answer.
    """

    def __init__(self, http: httpx.AsyncClient, api_key: str, *, core: bool = False, seconds: float = 60.0) -> None:
        self.core = core
        self._seconds = seconds
        self._http = http
        self._api_key = api_key
        self._run = uuid.uuid4().hex[:12]
        self._count = 0

    def new_session(self) -> str:
        self._count += 1
        return f"contract-check-{self._run}-{self._count}"

    async def chat(
        self, session: str, text: str, *, stream: bool = False, form: bool = True, chunks: bool = False, key: str | None = None, **more: Any
    ) -> Told:
        body = {"sessionId": session, "text": text, "needFormUpdate": form, "useTextChunk": chunks, **more}
        return await self.post("/chat?stream=true" if stream else "/chat", body, key=key)

    async def write(self, session: str, field: str, value: Any, *, key: str | None = None) -> Told:
        return await self.post("/set_info", {"sessionId": session, "key": field, "value": value}, key=key)

    async def read(self, session: str, field: str) -> Any:
        """The value of a field, decoded. Raises Mismatch when it was not told."""
        told = await self.post("/get_info", {"sessionId": session, "key": field})
        expect("code", "200", told.code)
        try:
            return orjson.loads(str(told.row.get("value")))
        except orjson.JSONDecodeError:
            raise Mismatch("value: JSON inside a JSON string", "value: something else") from None

    async def post(self, path: str, body: Mapping[str, Any] | bytes, *, key: str | None = None, api_key: str | None = None) -> Told:
        """Raises httpx.HTTPError when nobody answers."""
        headers = {"X-API-Key": self._api_key if api_key is None else api_key, "content-type": "application/json"}
        headers |= {"Idempotency-Key": key} if key else {}
        content = body if isinstance(body, bytes) else orjson.dumps(body)
        told = bytearray()
        try:
            async with asyncio.timeout(self._seconds), self._http.stream("POST", path, content=content, headers=headers) as response:
                async for piece in response.aiter_bytes():
                    told += piece
                    if len(told) > MAX_BYTES:
                        raise Mismatch(f"an answer of at most {MAX_BYTES} bytes", "one without end")
        except (TimeoutError, httpx.ReadTimeout):
            raise Mismatch(f"an answer within {self._seconds:g} s", "none") from None
        return told_by(response, bytes(told))

    async def require_key(self) -> None:
        """Raises KeyRejected. One call that starts no session."""
        try:
            told = await self.post("/get_info", {"sessionId": self.new_session(), "key": "sgyy"})
        except Mismatch:
            return  # whatever this is, the checks will say it
        if told.status in (401, 403) or told.code in ("401", "403"):
            raise KeyRejected

    def redacted(self, text: str) -> str:
        """A service may say back what it was sent; nobody is shown a key."""
        return text.replace(self._api_key, "[key]")


def told_by(response: httpx.Response, body: bytes) -> Told:
    """Raises Mismatch: neither a JSON object nor a stream of events."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    if headers.get("content-type", "").startswith("text/event-stream"):
        events = tuple(_events(body.decode("utf-8", "replace")))
        row = next((data for name, data in reversed(events) if name in ("done", "error")), {})
        return Told(status=response.status_code, headers=headers, body=body, row=row, events=events)
    return Told(status=response.status_code, headers=headers, body=body, row=_object(body))


def _events(text: str) -> list[tuple[str, Mapping[str, Any]]]:
    found: list[tuple[str, Mapping[str, Any]]] = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if not lines:
            continue
        fields = [line.partition(": ")[::2] for line in lines]
        if [name for name, _ in fields] != ["event", "data"]:
            raise Mismatch("an event line and a data line", " / ".join(name for name, _ in fields))
        found.append((fields[0][1], _object(fields[1][1].encode())))
    return found


def _object(content: bytes) -> Mapping[str, Any]:
    try:
        row = orjson.loads(content)
    except orjson.JSONDecodeError:
        row = None
    if not isinstance(row, dict):
        raise Mismatch("a JSON object", f"{len(content)} bytes of something else")
    return cast("Mapping[str, Any]", row)
