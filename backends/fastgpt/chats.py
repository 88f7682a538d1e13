"""What a FastGPT server has stored of one chat: its variables and its rounds. Read only, and never on a turn's way but when a conversation
from before our time is adopted, or a lost answer is looked for.

Shapes and routes as recorded from 4.9.0, 4.11.1 and 4.16.0; newer releases moved the records' route and may drop the old one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, cast

from backends.fastgpt.client import FastGptClient
from backends.fastgpt.config import FastGptConfig
from domain.errors import BackendError, FailureKind

PAGE = 100
MAX_PAGES = 20  # two thousand records: no accident report is longer
_DETAIL_ROUTES = ("/api/core/chat/getResData", "/api/core/chat/record/getResData")
_RECORD_ROUTES = ("/api/core/chat/getPaginationRecords", "/api/core/chat/record/getPaginationRecords")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A variable as the app declares it. A request may name it by its label as well."""

    key: str
    label: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatHeader:
    """`exists`: the chat was used before. `variables` are the stored ones; a missing and a null value mean the same."""

    exists: bool
    variables: Mapping[str, Any]
    declared: Sequence[Declared]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRecord:
    """One side of one round. `text` is everything it said in words, its state tag included."""

    data_id: str
    side: Literal["Human", "AI"]
    text: str
    at: datetime


class ChatReader:
    def __init__(self, client: FastGptClient, config: FastGptConfig) -> None:
        self._client = client
        self._config = config
        self._routes = _RECORD_ROUTES

    async def header(self, chat_id: str) -> ChatHeader:
        """Raises BackendError."""
        return header_from(await self._client.get_data("/api/core/chat/init", {"appId": self._config.app_id or "", "chatId": chat_id}))

    async def records(self, chat_id: str) -> list[ChatRecord]:
        """All of a chat, oldest first; empty for an unknown one. Raises BackendError."""
        found: list[ChatRecord] = []
        for page in range(MAX_PAGES):
            data = await self._page(chat_id, page * PAGE)
            rows = records_from(data)
            found = [*rows, *found]  # pages count from the newest record, each is oldest first
            total = data.get("total")
            if not rows or not isinstance(total, int) or len(found) >= total:
                break
        return found

    async def details(self, chat_id: str, answer_id: str) -> list[Mapping[str, Any]]:
        """The node records of one answer; empty when there is none. Raises BackendError."""
        query = {"appId": self._config.app_id or "", "chatId": chat_id, "dataId": answer_id}
        for route in _DETAIL_ROUTES:
            try:
                return await self._client.get_rows(route, query)
            except BackendError as error:
                if route == _DETAIL_ROUTES[-1] or error.failure.kind is not FailureKind.MALFORMED:
                    raise
        raise AssertionError("no route is left only after an error")

    async def _page(self, chat_id: str, offset: int) -> Mapping[str, Any]:
        body = {"appId": self._config.app_id or "", "chatId": chat_id, "offset": offset, "pageSize": PAGE}
        for route in self._routes:
            try:
                data = await self._client.post_data(route, body)
            except BackendError as error:
                if route == self._routes[-1] or error.failure.kind is not FailureKind.MALFORMED:
                    raise
            else:
                if route != self._routes[0]:
                    self._routes = (route, *(other for other in self._routes if other != route))
                return data
        raise AssertionError("no route is left only after an error")


def header_from(data: Mapping[str, Any]) -> ChatHeader:
    variables, app = data.get("variables"), data.get("app")
    config = cast("Mapping[str, Any]", app).get("chatConfig") if isinstance(app, dict) else None
    declared = cast("Mapping[str, Any]", config).get("variables") if isinstance(config, dict) else None
    return ChatHeader(
        exists=bool(data.get("title")) or bool(variables),
        variables=cast("dict[str, Any]", variables) if isinstance(variables, dict) else {},
        declared=tuple(
            Declared(key=str(row.get("key", "")), label=str(row.get("label", "")), kind=str(row.get("valueType", "")))
            for row in cast("list[dict[str, Any]]", declared if isinstance(declared, list) else [])
        ),
    )


def records_from(data: Mapping[str, Any]) -> list[ChatRecord]:
    """Records of another shape than ours are left out."""
    rows = data.get("list")
    found: list[ChatRecord] = []
    for row in cast("list[Any]", rows if isinstance(rows, list) else []):
        if isinstance(row, dict) and row.get("obj") in ("Human", "AI"):
            record = cast("dict[str, Any]", row)
            found.append(ChatRecord(data_id=str(record.get("dataId", "")), side=record["obj"], text=_words(record), at=_moment(record)))
    return found


def _words(record: Mapping[str, Any]) -> str:
    """An answer may be in several pieces, with reasoning or tool calls between them; a record of some releases is a plain text."""
    value = record.get("value")
    if isinstance(value, str):
        return value
    words: list[str] = []
    for item in cast("list[Any]", value if isinstance(value, list) else []):
        text = cast("dict[str, Any]", item).get("text") if isinstance(item, dict) else None
        content = cast("dict[str, Any]", text).get("content") if isinstance(text, dict) else None
        if isinstance(content, str):
            words.append(content)
    return "".join(words)


def _moment(record: Mapping[str, Any]) -> datetime:
    try:
        moment = datetime.fromisoformat(str(record.get("time")))
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
