"""A partner's program: calls the three endpoints over a real connection and reads what comes back, with no code of the house."""

import json
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a partner asks for its answers."""

    stream: bool = False
    chunks: bool = False
    form: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer of /chat, whichever way it was told. `kinds` are the names of the SSE events in order, empty for JSON."""

    body: bytes
    headers: httpx.Headers
    code: str
    message: str
    stage: str | None = None
    stage_name: str | None = None
    patch: dict[str, Any] | None = None
    pieces: tuple[str, ...] = ()
    version: int | None = None
    kinds: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def is_replay(self) -> bool:
        return self.headers.get("idempotency-replayed") == "true"


class Partner:
    def __init__(self, http: httpx.AsyncClient, api_key: str) -> None:
        self._http = http
        self._api_key = api_key

    async def chat(self, session: str, text: str, *, manner: Manner, request_id: str = "", key: str | None = None) -> Answer:
        body = {"sessionId": session, "text": text, "needFormUpdate": manner.form, "useTextChunk": manner.chunks}
        path = "/chat?stream=true" if manner.stream else "/chat"
        response = await self._post(path, body, request_id=request_id, key=key)
        return _told(response) if response.headers["content-type"].startswith("text/event-stream") else _whole(response)

    async def write(self, session: str, key: str, value: Any, *, request_id: str = "", repeat_key: str | None = None) -> httpx.Response:
        body = {"sessionId": session, "key": key, "value": value}
        return await self._post("/set_info", body, request_id=request_id, key=repeat_key)

    async def read(self, session: str, key: str) -> Any:
        answer = (await self._post("/get_info", {"sessionId": session, "key": key}, request_id="", key=None)).json()
        assert answer["code"] == "200", answer
        return json.loads(answer["value"])

    async def _post(self, path: str, body: dict[str, Any], *, request_id: str, key: str | None) -> httpx.Response:
        headers = {"X-API-Key": self._api_key, **({"X-Request-ID": request_id} if request_id else {})}
        return await self._http.post(path, json=body, headers=headers | ({"Idempotency-Key": key} if key else {}))


def _whole(response: httpx.Response) -> Answer:
    row = response.json()
    return Answer(
        body=response.content,
        headers=response.headers,
        code=row["code"],
        message=row["msg"],
        stage=row.get("nextStageCode"),
        stage_name=row.get("nextStageName"),
        patch=row.get("formUpdate"),
        pieces=(row["outputText"],) if "outputText" in row else (),
        version=row.get("stateVersion"),
    )


def _told(response: httpx.Response) -> Answer:
    blocks = [block.split("\n") for block in response.content.decode().split("\n\n") if block and not block.startswith(":")]
    events = [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]
    by_name = dict(events)
    end = by_name.get("error") or by_name["done"]
    stage = by_name.get("stage_code", {})
    return Answer(
        body=response.content,
        headers=response.headers,
        code=end["code"],
        message=end["msg"],
        stage=stage.get("nextStageCode"),
        stage_name=stage.get("nextStageName"),
        patch=by_name.get("formUpdate", {}).get("formUpdate", {}),
        pieces=tuple(data["text"] for name, data in events if name == "text_delta"),
        version=end.get("stateVersion"),
        kinds=tuple(name for name, _ in events),
    )
