"""What a completion request asks for. Pure: a parsed body → Ask, or BadRequest with the server's own words."""

from dataclasses import dataclass
from typing import Any, cast


class BadRequest(Exception):
    """The message goes to the client as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """`earlier` are the messages before the question, as (side, text); they join the history of the chat."""

    question: str
    earlier: tuple[tuple[str, str], ...]
    system_text: str
    chat_id: str
    stream: bool
    detail: bool
    answer_id: str | None
    question_id: str | None
    variables: dict[str, Any]


def require_message_list(body: dict[str, Any]) -> None:
    """Raises BadRequest."""
    if not isinstance(body.get("messages"), list | None):
        raise BadRequest("messages is not array")


def ask_from_body(body: dict[str, Any]) -> Ask:
    """The last message is the question, whatever its role. Raises BadRequest."""
    messages = body.get("messages")
    if not messages:
        raise BadRequest("messages is empty")
    typed = cast("list[dict[str, Any]]", messages)
    variables = body.get("variables")
    return Ask(
        question=_text(typed[-1]),
        earlier=tuple((_SIDES[message["role"]], _text(message)) for message in typed[:-1] if message.get("role") in _SIDES),
        system_text="\n".join(_text(message) for message in typed[:-1] if message.get("role") == "system"),
        chat_id=str(body.get("chatId") or ""),
        stream=bool(body.get("stream")),
        detail=bool(body.get("detail")),
        answer_id=body.get("responseChatItemId") or None,
        question_id=typed[-1].get("dataId") or None,
        variables=cast("dict[str, Any]", variables) if isinstance(variables, dict) else {},
    )


_SIDES = {"user": "Human", "assistant": "AI"}


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        return "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")
    return str(content or "")
