"""A partner's side of the wire: what is sent, what came back, and how a check says that the two do not fit."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx
import orjson

PHOTO = "【拍摄完成】"


class Mismatch(Exception):
    """What came back is not what was agreed. Both sides are short and hold no key."""

    def __init__(self, expected: object, seen: object) -> None:
        super().__init__("not as agreed")
        self.expected = _short(expected)
        self.seen = _short(seen)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 120 else f"{text[:117]}…"


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
    """One run of the checks: every session it opens is new, and its names say where they came from."""

    def __init__(self, http: httpx.AsyncClient, api_key: str) -> None:
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
        response = await self._http.post(path, content=content, headers=headers)
        return told_by(response)


def told_by(response: httpx.Response) -> Told:
    """Raises Mismatch: neither a JSON object nor a stream of events."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    if headers.get("content-type", "").startswith("text/event-stream"):
        events = tuple(_events(response.text))
        row = next((data for name, data in reversed(events) if name in ("done", "error")), {})
        return Told(status=response.status_code, headers=headers, body=response.content, row=row, events=events)
    return Told(status=response.status_code, headers=headers, body=response.content, row=_object(response.content))


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
