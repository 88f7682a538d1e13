"""What must not reach a log line. Facts are allow-listed by shape where they are written; this is the net below that.

Exceptions keep their frames and lose their messages: drivers and parsers quote the values they choke on.
"""

import re
import sys
import traceback
from collections.abc import MutableMapping
from typing import Any

# Whatever looks like a number that identifies a person or a vehicle, or like a key.
_SECRETS = re.compile(
    r"cfk_[a-z0-9]+_[\w-]+"
    r"|(?<![0-9A-Za-z-])[1-9][0-9]{5}(?:19|20)[0-9]{2}[0-9]{7}[0-9Xx](?![0-9A-Za-z-])"
    r"|(?<![0-9A-Za-z-])1[3-9][0-9]{9}(?![0-9A-Za-z-])"
    r"|[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-HJ-NP-Z][A-Z0-9]{5,6}"
)
MASK = "[redacted]"


def redact_text(text: str) -> str:
    return _SECRETS.sub(MASK, text)


def redact(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """structlog processor."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = redact_text(value)
    return event


def frames_without_messages(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """structlog processor: `exc_info` becomes `exception`, class names and code places only."""
    info = event.pop("exc_info", None)
    if info:
        error = info if isinstance(info, BaseException) else info[1] if isinstance(info, tuple) else _current()
        if error is not None:
            event["exception"] = describe(error)
    return event


def describe(error: BaseException) -> list[str]:
    """`Class` of each error in the chain, innermost first, each with the places it passed."""
    lines: list[str] = []
    link: BaseException | None = error
    while link is not None:
        places = [f"{frame.filename.rsplit('/', 3)[-1]}:{frame.lineno}:{frame.name}" for frame in traceback.extract_tb(link.__traceback__)]
        lines.append(f"{type(link).__name__} at {' > '.join(places[-6:])}")
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return lines


def _current() -> BaseException | None:
    return sys.exc_info()[1]
