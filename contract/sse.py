"""Server-sent events, both ways, sans-io: bytes in, events out; an event in, bytes out.

Lines end at LF only. A payload may hold U+2028, U+2029 or U+0085 as they are, so str.splitlines() would cut it; a socket read may end
inside a UTF-8 character or between an `event:` line and its `data:` line, so nothing is decoded before its line is complete.
"""

from dataclasses import dataclass

MAX_EVENT_BYTES = 4 * 1024 * 1024  # node records of a large workflow run to hundreds of KiB in one line


class MalformedStream(Exception):
    """The bytes are no event stream: an event over the limit, or text that is not UTF-8."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    name: str | None  # None: the block had no `event:` line
    data: str


class SseDecoder:
    """Feed bytes of any length, get the events they complete. Comments, `id:` and `retry:` are skipped."""

    __slots__ = ("_data", "_held", "_name", "_size")

    def __init__(self) -> None:
        self._held = b""
        self._name: str | None = None
        self._data: list[str] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Raises MalformedStream when one event grows over MAX_EVENT_BYTES or a line is not UTF-8."""
        lines = (self._held + piece).split(b"\n") if self._held else piece.split(b"\n")
        self._held = lines.pop()
        if len(self._held) > MAX_EVENT_BYTES:
            raise MalformedStream("event too large")
        events: list[ServerSentEvent] = []
        for line in lines:
            event = self._take(line)
            if event is not None:
                events.append(event)
        return events

    def finish(self) -> list[ServerSentEvent]:
        """The body has ended: a last block without its blank line still counts."""
        events = self.feed(b"\n\n") if self._held else self.feed(b"\n")
        self._held = b""
        return events

    def _take(self, line: bytes) -> ServerSentEvent | None:
        if line.endswith(b"\r"):
            line = line[:-1]
        if not line:
            return self._dispatch()
        self._size += len(line)
        if self._size > MAX_EVENT_BYTES:
            raise MalformedStream("event too large")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise MalformedStream("not UTF-8") from error
        field, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._size = None, [], 0
        return ServerSentEvent(name, "\n".join(data)) if data else None


def encode_event(name: str, data: bytes) -> bytes:
    """One block. `data` is one line of JSON: it must hold no LF (JSON encoders escape it)."""
    return b"event: %b\ndata: %b\n\n" % (name.encode("ascii"), data)


KEEP_ALIVE = b": keep-alive\n\n"
