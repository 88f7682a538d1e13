"""The past as the model is shown it: the newest lines word for word, and what does not fit the limit as one note made by code. Pure.

Facts do not depend on it: what was understood stands in the form and travels with every turn. So the note needs no model and no memory; it
says who spoke, how a line began, what kinds of number it held, and how much was left out.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from backends.langgraph.model.port import ChatMessage
from domain.numbers import hidden
from domain.session import Message

HISTORY_LINES = 6
HISTORY_TOKENS = 1_000  # of the lines shown word for word
NOTE_CHARS = 48  # of each line that is told in short

NAME = "⟦NAME⟧"

_TAGS = re.compile(r"<\s*/?\s*(?:user|earlier)\s*>", re.IGNORECASE)
_MARKS = re.compile(r"⟦[A-Z]+(?::\d+)?⟧")
_TAIL = r"(?P<tail>尾号[是为]?[:：]?\s*)[0-9A-Za-z]{4}"
_DIGITS = "0-9零〇○洞一幺妖腰二两三四五六七拐八九勾"
_PIECE = rf"(?:[A-Za-z{_DIGITS}][\s\-—_.·,，、]{{0,2}}){{3,}}"
_CUT_MARK = re.compile(r"⟦[^⟧]*$")
_SPEAKERS = {"user": "用户", "assistant": "助手"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What a conversation must not give away besides whole numbers: the names it knows and, while parties are verified, the pieces in which
    people dictate numbers and plates."""

    names: frozenset[str] = frozenset()
    has_pieces: bool = False


NONE = Secrets()


def quoted(text: str, secrets: Secrets = NONE) -> str:
    """What somebody said, fit to stand inside a tag: no number, no secret and no tag. Also none that appears once another is taken out
    of its middle, or once wide characters have become narrow ones."""
    while (plain := hidden(_hushed(_TAGS.sub("", text), secrets))) != text:
        text = plain
    return text


def _hushed(text: str, secrets: Secrets) -> str:
    """Names longest first, for one may be the beginning of another. Marks are matched before all else and stay."""
    names = "|".join(re.escape(name) for name in sorted(secrets.names, key=len, reverse=True))
    wanted = [_MARKS.pattern, _TAIL, f"(?P<name>{names})" if names else "", f"(?P<piece>{_PIECE})" if secrets.has_pieces else ""]
    return re.sub("|".join(filter(None, wanted)), _mark, text)


def _mark(found: re.Match[str]) -> str:
    groups = found.groupdict()
    if groups["tail"]:
        return f"{groups['tail']}⟦ID⟧"
    if groups.get("name"):
        return NAME
    digits = len(re.findall(f"[{_DIGITS}]", groups.get("piece") or ""))
    return f"⟦DIGITS:{digits}⟧" if digits > 1 else found.group()


def tokens(text: str) -> int:
    """An estimate from above: one for each character that is not ASCII, one for three that are."""
    ascii_chars = sum(character.isascii() for character in text)
    return len(text) - ascii_chars + -(-ascii_chars // 3)


def history(lines: Sequence[Message], secrets: Secrets = NONE, limit: int = HISTORY_TOKENS) -> list[ChatMessage]:
    """The last HISTORY_LINES at most, oldest first; with a note before them when not all of those fit `limit` tokens."""
    said: list[ChatMessage] = [{"role": line.role, "content": quoted(line.text, secrets)} for line in lines[-HISTORY_LINES:]]
    first = _first_that_fits(said, limit)
    return said[first:] if first == 0 else [_note(said[:first]), *said[first:]]


def _first_that_fits(said: Sequence[ChatMessage], limit: int) -> int:
    """Where the longest run of newest lines within the limit begins."""
    left = limit
    for position in range(len(said) - 1, -1, -1):
        left -= tokens(said[position]["content"])
        if left < 0:
            return position + 1
    return 0


def _note(said: Sequence[ChatMessage]) -> ChatMessage:
    """A user's message, never a system's: what people said does not become an instruction by being shortened."""
    told = "\n".join(f"{_SPEAKERS[line['role']]}：{_in_short(line['content'])}" for line in said)
    return {"role": "user", "content": f"<earlier>{told}</earlier>"}


def _in_short(text: str) -> str:
    beginning = _CUT_MARK.sub("", text[:NOTE_CHARS])
    if len(text) <= NOTE_CHARS:
        return text
    marks = "".join(dict.fromkeys(_MARKS.findall(text[len(beginning) :])))
    return f"{beginning}…（共{len(text)}字{f'，还有{marks}' if marks else ''}）"
