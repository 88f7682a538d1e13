"""How a node's prompt becomes messages, and how a run's messages are shown in a record."""

from typing import Any

from sim.fastgpt.run import Run

_ROLES = {"Human": "user", "AI": "assistant"}
_PREVIEW_CHARS = 100


def messages_for(run: Run, prompt: str, query: str) -> list[dict[str, Any]]:
    """System text, the last rounds, the question. A system message of the client is put behind the node's own prompt."""
    system = prompt if not run.system_text else f"{prompt}\n\n{run.system_text}"
    recent = run.history[-2 * run.workflow.history_rounds :]
    past = [{"role": _ROLES[side], "content": text} for side, text in recent]
    return [{"role": "system", "content": system}, *past, {"role": "user", "content": query}]


def preview(messages: list[dict[str, Any]], answer: str) -> list[dict[str, str]]:
    """The record's view of a conversation: the last two entries whole, long earlier ones cut in the middle."""
    names = {"system": "System", "user": "Human", "assistant": "AI"}
    shown = [{"obj": names[message["role"]], "value": str(message["content"])} for message in messages]
    shown.append({"obj": "AI", "value": answer})
    return [item | {"value": _cut(item["value"])} for item in shown[:-2]] + shown[-2:]


def without_unset(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None and value != ""}


def _cut(text: str) -> str:
    return text if len(text) <= 2 * _PREVIEW_CHARS else f"{text[:_PREVIEW_CHARS]}\n...\n{text[-_PREVIEW_CHARS:]}"
