"""What the emulated server remembers: chats with their records and variables. In memory, lost at exit.

No locks and no versions, like the real server of this era: two calls on one chat read the same state and the last writer wins.
"""

import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sim.fastgpt.variables import storable

_ALPHABET = string.ascii_letters + string.digits
UNRECORDED_CHAT = "NO_RECORD_HISTORIES"
TITLE_CHARS = 20


def new_id(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


@dataclass(slots=True, kw_only=True)
class Record:
    """One side of one round. `node_records` is filled on the AI side only."""

    data_id: str
    side: str  # "Human" or "AI"
    text: str
    at: datetime
    object_id: str
    duration_s: float | int | None = None
    node_records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@dataclass(slots=True, kw_only=True)
class Chat:
    chat_id: str
    title: str = ""
    variables: dict[str, Any] = field(default_factory=dict[str, Any])
    records: list[Record] = field(default_factory=list[Record])
    updated_at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Chats:
    """All chats of the one app this emulator serves."""

    def __init__(self) -> None:
        self._chats: dict[str, Chat] = {}

    def __len__(self) -> int:
        return len(self._chats)

    def find(self, chat_id: str) -> Chat | None:
        return self._chats.get(chat_id)

    def newest_first(self) -> list[Chat]:
        return sorted(self._chats.values(), key=lambda chat: chat.updated_at, reverse=True)

    def save_round(
        self,
        chat_id: str,
        *,
        question: str,
        question_id: str,
        answer: str,
        answer_id: str,
        variables: Mapping[str, Any],
        node_records: list[dict[str, Any]],
        duration_s: float | int | None,
    ) -> None:
        """Append both records and overwrite title and variables. The magic chat id is not kept."""
        if chat_id == UNRECORDED_CHAT:
            return
        chat = self._chats.setdefault(chat_id, Chat(chat_id=chat_id))
        now = datetime.now(UTC)
        chat.records.append(Record(data_id=question_id, side="Human", text=question, at=now, object_id=secrets.token_hex(12)))
        chat.records.append(
            Record(
                data_id=answer_id,
                side="AI",
                text=answer,
                at=now,
                object_id=secrets.token_hex(12),
                duration_s=duration_s,
                node_records=node_records,
            )
        )
        chat.title = question[:TITLE_CHARS]
        chat.variables = storable(variables)
        chat.updated_at = now

    def delete_chat(self, chat_id: str) -> None:
        self._chats.pop(chat_id, None)

    def delete_record(self, chat_id: str, data_id: str) -> None:
        """Remove the oldest record of that id; variables stay as they are. Unknown ids are no error."""
        chat = self._chats.get(chat_id)
        if chat is None:
            return
        for index, record in enumerate(chat.records):
            if record.data_id == data_id:
                del chat.records[index]
                return
