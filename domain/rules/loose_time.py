"""A second reader for spoken times that our own rules cannot read: jionlp, at arm's length. docs/adr/0018 says what it costs.

It is loaded by `warm`, never by a turn: a process that has not loaded it (yet) reads without it. Only short answers go to it. Whatever it
raises, and any shape we do not know, is no reading; what it does read is doubtful, so that the speaker confirms it, and never lies ahead.
"""

import contextlib
import sys
import threading
from collections.abc import Callable, Generator
from datetime import datetime, timedelta
from typing import Any, TextIO, cast

from domain.rules.accident_time import CHINA, MAX_CHARS, TimeReading

Parse = Callable[..., object]
_FIRST_CALL = "昨天下午三点"  # its first call loads tables: better now than in somebody's turn
_WIDEST = timedelta(hours=1)  # a wider range names a day or a part of it, not the hour
_FORMAT = "%Y-%m-%d %H:%M:%S"

_loaded: list[Parse] = []


def warm() -> None:
    """Load the library: most of a second, so call it in a thread. Raises what the import raises; then nothing is loaded."""
    if _loaded:
        return
    with _silent_here():
        import jionlp

        parse = cast(Parse, jionlp.parse_time)
        parse(_FIRST_CALL, time_base=datetime.now(CHINA).replace(tzinfo=None))
    _loaded.append(parse)


def loose_reading(text: str, now: datetime) -> TimeReading | None:
    """What the library makes of one short answer; None when it is not loaded, sees no moment in it, or sees one to come."""
    return read_with(_loaded[0], text, now) if _loaded else None


def read_with(parse: Parse, text: str, now: datetime) -> TimeReading | None:
    """The reading of `parse`, which may do anything. At most MAX_CHARS characters reach it."""
    if not 0 < len(text) <= MAX_CHARS:
        return None
    clock = now.astimezone(CHINA).replace(second=0, microsecond=0)
    try:
        when = _moment(parse(text, time_base=clock.replace(tzinfo=None)))
    except Exception:
        return None
    return TimeReading(when, is_doubtful=True) if when is not None and when <= clock else None


def _moment(read: object) -> datetime | None:
    """The start of a point in time no wider than an hour: {"type": "time_point", "time": [from, to]}. Raises on any other shape."""
    found = cast(dict[str, Any], read)
    if found["type"] != "time_point":
        return None
    start, end = (datetime.strptime(one, _FORMAT).replace(tzinfo=CHINA) for one in found["time"])
    return start if timedelta(0) <= end - start <= _WIDEST else None


@contextlib.contextmanager
def _silent_here() -> Generator[None]:
    """The library greets on stdout when it is imported. Only this thread is silenced: what others print meanwhile is data of a command."""
    outside = sys.stdout
    sys.stdout = cast(TextIO, _QuietThread(outside))
    try:
        yield
    finally:
        sys.stdout = outside


class _QuietThread:
    """Stands in for a stream: drops what the thread that made it writes, passes everything else on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._quiet = threading.get_ident()

    def write(self, text: str) -> int:
        return len(text) if threading.get_ident() == self._quiet else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
