"""Split a backend's reply into its leading state block, its optional form block and its text.

Grammar:  ws* "<state>" DIGIT*4 "</state>" ws* [ "<form>" json "</form>" ws* ] body
Sans-io: feed text, get events; never awaits. The events do not depend on where the text was cut. Why a leading block: docs/adr/0004.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

MAX_PREFIX_CHARS = 64
MAX_FORM_BYTES = 1024

_OPEN, _CLOSE = "<state>", "</state>"
_FORM_OPEN, _FORM_CLOSE = "<form>", "</form>"
_TAG = re.compile(r"<state>[0-9]{4}</state>")
_TAG_SHAPE = "<state>0000</state>"  # 0 stands for any ASCII digit
_DIGITS = frozenset("0123456789")
_SPACE = " \t\r\n\ufeff\u3000"


class MalformedReply(Exception):
    """The reply does not begin as agreed. `reason`: missing, malformed, too_long, form_too_long, form_unclosed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class StateTag:
    """Four ASCII digits, not yet checked against the stage table."""

    code: str


@dataclass(frozen=True, slots=True)
class FormBlock:
    """The raw JSON text between the form tags."""

    text: str


@dataclass(frozen=True, slots=True)
class BodyText:
    text: str


@dataclass(frozen=True, slots=True)
class Irregularity:
    """Tolerated, and to be counted: `duplicate` (a second tag before the body; the first one holds), `duplicate_late` (a tag inside
    the body, removed from the text), `code_fence` (a fence line before the tag)."""

    name: str


PrefixEvent = StateTag | FormBlock | BodyText | Irregularity


class _Phase(Enum):
    STATE = auto()
    AFTER_STATE = auto()
    FORM = auto()
    BODY = auto()


class StatePrefixParser:
    """One reply. Holds back at most 64 characters of prefix, 1024 bytes of form, and 64 characters of body that may become a tag."""

    __slots__ = ("_body", "_held", "_phase")

    def __init__(self) -> None:
        self._phase = _Phase.STATE
        self._held = ""
        self._body = _BodyFilter()

    @property
    def has_state(self) -> bool:
        return self._phase is not _Phase.STATE

    @property
    def in_body(self) -> bool:
        """True once the state block and any form block are complete and text has begun."""
        return self._phase is _Phase.BODY

    def feed(self, text: str) -> list[PrefixEvent]:
        """Take the next piece (any length, may cut a tag in two); return the events it completes. Raises MalformedReply."""
        self._held += text
        return self._advance(at_end=False)

    def finish(self) -> list[PrefixEvent]:
        """The reply has ended: release what was held back. Raises MalformedReply when no state block came."""
        events = self._advance(at_end=True)
        if self._phase is _Phase.STATE:
            raise MalformedReply("malformed" if _OPEN in self._held else "missing")
        if self._phase is _Phase.FORM:
            raise MalformedReply("form_unclosed")
        return events

    def _advance(self, *, at_end: bool) -> list[PrefixEvent]:
        events: list[PrefixEvent] = []
        if self._phase is _Phase.STATE:
            self._read_state(events)
        if self._phase is _Phase.AFTER_STATE:
            self._read_after_state(events, at_end=at_end)
        if self._phase is _Phase.FORM and self._read_form(events):
            self._read_after_state(events, at_end=at_end)
        if self._phase is _Phase.BODY:
            self._read_body(events, at_end=at_end)
        return events

    def _read_state(self, events: list[PrefixEvent]) -> None:
        text = self._held.lstrip(_SPACE)
        fenced = text.startswith("```")
        if fenced:
            _, line_end, text = text.partition("\n")
            text = text.lstrip(_SPACE) if line_end else ""
        if text.startswith(_OPEN):
            digits = text[len(_OPEN) : len(_OPEN) + 4]
            rest = text[len(_OPEN) + 4 :]
            if not _DIGITS.issuperset(digits) or not _CLOSE.startswith(rest[: len(_CLOSE)]):
                raise MalformedReply("malformed")
            if rest.startswith(_CLOSE):
                if fenced:
                    events.append(Irregularity("code_fence"))
                events.append(StateTag(digits))
                self._held = rest[len(_CLOSE) :]
                self._phase = _Phase.AFTER_STATE
                return
        elif not _OPEN.startswith(text) and not "```".startswith(text):
            raise MalformedReply("missing")
        if len(self._held) > MAX_PREFIX_CHARS:
            raise MalformedReply("too_long")

    def _read_after_state(self, events: list[PrefixEvent], *, at_end: bool) -> None:
        while True:
            text = self._held = self._held.lstrip(_SPACE)
            tag = _TAG.match(text)
            if tag:
                events.append(Irregularity("duplicate"))
                self._held = text[tag.end() :]
            elif text.startswith(_FORM_OPEN):
                self._held = text[len(_FORM_OPEN) :]
                self._phase = _Phase.FORM
                return
            elif not at_end and (_FORM_OPEN.startswith(text) or _may_become_tag(text)):
                return
            else:
                self._phase = _Phase.BODY
                return

    def _read_form(self, events: list[PrefixEvent]) -> bool:
        """True when the block is complete."""
        block, closed, rest = self._held.partition(_FORM_CLOSE)
        if len(block.encode("utf-8", "surrogatepass")) > MAX_FORM_BYTES + (0 if closed else len(_FORM_CLOSE)):
            raise MalformedReply("form_too_long")
        if closed:
            events.append(FormBlock(block))
            self._held = rest
            self._phase = _Phase.AFTER_STATE
        return bool(closed)

    def _read_body(self, events: list[PrefixEvent], *, at_end: bool) -> None:
        text, self._held = self._held, ""
        piece, position = self._body, 0
        while position < len(text):
            if not piece.is_holding:
                start = text.find("<", position)
                if start == -1:
                    break
                piece.say(text[position:start])
                position = start
            if piece.take(text[position]):
                events.append(Irregularity("duplicate_late"))
            position += 1
        piece.say(text[position:])
        if at_end:
            piece.release()
        spoken = piece.drain()
        if spoken:
            events.append(BodyText(spoken))


class _BodyFilter:
    """Removes state tags from running text, nested ones too (`<sta<state>1001</state>te>1002</state>`): text that may still become a
    tag once an inner tag is gone is held, up to MAX_PREFIX_CHARS in all. Works character by character, so cuts do not matter."""

    __slots__ = ("_open", "_spoken")

    def __init__(self) -> None:
        self._open: list[str] = []  # unfinished tags, each inside the one before
        self._spoken: list[str] = []

    @property
    def is_holding(self) -> bool:
        return bool(self._open)

    def say(self, text: str) -> None:
        self._spoken.append(text)

    def take(self, char: str) -> bool:
        """One character while a tag is open or about to open; True when it completes a tag, which is dropped."""
        if self._open and not _may_continue_tag(self._open[-1], char):
            self._reopen()
        if self._open and _may_continue_tag(self._open[-1], char):
            self._open[-1] += char
            if len(self._open[-1]) == len(_TAG_SHAPE):
                self._open.pop()
                return True
        elif char == "<":
            self._open.append(char)
        else:
            self.release()
            self.say(char)
        while sum(map(len, self._open)) > MAX_PREFIX_CHARS:
            self.say(self._open.pop(0))
        return False

    def _reopen(self) -> None:
        """A `<` taken for the beginning of `</state>` may instead begin another tag."""
        begun = self._open[-1]
        if len(begun) > 1 and begun.endswith("<"):
            self._open[-1:] = [begun[:-1], "<"]

    def release(self) -> None:
        self._spoken.extend(self._open)
        self._open.clear()

    def drain(self) -> str:
        spoken = "".join(self._spoken)
        self._spoken.clear()
        return spoken


def _may_continue_tag(begun: str, char: str) -> bool:
    want = _TAG_SHAPE[len(begun)]
    return char in _DIGITS if want == "0" else char == want


def _may_become_tag(text: str) -> bool:
    """True when `text` is a proper beginning of <state>dddd</state>; the empty text is."""
    return len(text) < len(_TAG_SHAPE) and all(_may_continue_tag(text[:at], char) for at, char in enumerate(text))
