"""Which kind of prompt arrived, and what it says. Pure: the `messages` of a request → AgentPrompt | ExtractPrompt | ChatPrompt.

The kinds are told apart by their own words: a JSON block with `allowed_next`, a demand for one JSON object with listed keys, or neither.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, cast

_USER = re.compile(r"<user>(.*?)</user>", re.DOTALL)
_KEY_LINE = re.compile(r"^\s*-\s*([a-z][a-z0-9_]*)\s*[:：]", re.MULTILINE)
_ASKING = re.compile(r"正在问的问题[:：]\s*([A-Z_0-9]*)")
_STEP = re.compile(r"当前步骤[:：]\s*(\d{4})")
_SAY = re.compile(r"本轮要对用户说的内容[:：](.*)", re.DOTALL)
_STATE = re.compile(r"<state>\d{4}</state>")
_DEMANDS_JSON = re.compile(r"JSON\s*对象")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPrompt:
    """The accident agent's turn: it wants a state tag, perhaps a form block, and a sentence."""

    user: str
    stage: str
    allowed_next: dict[str, str]
    missing: tuple[str, ...] = ()
    asking: str = ""
    extracted: dict[str, Any] = field(default_factory=dict[str, Any])
    next_question: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractPrompt:
    """An extraction node's call: one JSON object with some of `keys`."""

    user: str
    keys: tuple[str, ...]
    asking: str = ""
    stage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPrompt:
    """A chat node's call: a prefix to copy, and what to tell the user."""

    user: str
    prefix: str
    say: str


Prompt = AgentPrompt | ExtractPrompt | ChatPrompt


def prompt_from_messages(messages: list[dict[str, Any]]) -> Prompt:
    """Messages are OpenAI-shaped; content may be text or a list of text parts."""
    system = [_text(message) for message in messages if message.get("role") in ("system", "developer")]
    user = next((_text(message) for message in reversed(messages) if message.get("role") == "user"), "")
    context = _turn_context(messages)
    if context is not None:
        return _agent_prompt(context, user)
    joined = "\n".join(system)
    keys = tuple(_KEY_LINE.findall(joined))
    if keys and _DEMANDS_JSON.search(joined):
        return ExtractPrompt(user=user, keys=keys, asking=_first(_ASKING, joined), stage=_first(_STEP, joined))
    tag = _STATE.search(joined)
    say = _SAY.search(joined)
    return ChatPrompt(user=user, prefix=tag.group() if tag else "", say=say.group(1).strip() if say else "")


def _agent_prompt(context: dict[str, Any], user: str) -> AgentPrompt:
    tagged = _USER.findall(user)
    question = cast("dict[str, Any]", context.get("pending_question") or {})
    return AgentPrompt(
        user=tagged[-1].strip() if tagged else user,
        stage=str(context.get("stage") or ""),
        allowed_next={str(code): str(meaning) for code, meaning in context["allowed_next"].items()},
        missing=tuple(str(key) for key in context.get("missing") or ()),
        asking=str(question.get("id") or ""),
        extracted=cast("dict[str, Any]", context.get("extracted_this_turn") or {}),
        next_question=str(context.get("next_question") or question.get("text") or ""),
    )


def _turn_context(messages: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The last JSON object with `allowed_next` in any system message; users cannot supply one."""
    for message in reversed(messages):
        if message.get("role") not in ("system", "developer"):
            continue
        text = _text(message)
        for start in (match.start() for match in re.finditer(r"\{", text)):
            try:
                value, _ = json.JSONDecoder().raw_decode(text, start)
            except ValueError:
                continue
            if isinstance(value, dict) and isinstance(cast("dict[str, Any]", value).get("allowed_next"), dict):
                return cast("dict[str, Any]", value)
    return None


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(1) if match else ""


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        return "".join(str(part.get("text", "")) for part in parts)
    return str(content or "")
