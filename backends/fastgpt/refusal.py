"""What an upstream error means, decided by its content alone.
Never by HTTP status or content type when the body speaks (known errors came as 200, 403 and 500 over the years, and an early stream error
has no content type); never by `message` when there is a `statusText` (messages are often raw translation keys). Pure."""

import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, cast

import orjson

from domain.errors import BackendError, FailureKind

# The operator must change something before any call can succeed: key, app, address, or the workflow's release.
_CONFIGURATION_NAMES = frozenset(
    {
        "unAuthApiKey",
        "unAuthorization",
        "unAuthApp",
        "unAuthModel",
        "unAuthTeam",
        "unAuth",
        "unExist",
        "appUnExist",
        "openapiUnExist",
        "openapiUnAuth",
    }
)
_CONFIGURATION_CODES = frozenset({403, 514, 502000, 502001})
_CONFIGURATION_MESSAGES = (
    "Key is error",
    "app is empty",
    "appId is empty",
    "您的工作流版本过低",
    "common:code_error.error_message.403",
    "common:code_error.error_message.514",
    "common:code_error.app_error.",
)
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_STREAM_STARTS = (b"data:", b"event:", b":", b"id:", b"retry:")
LONGEST_START = max(map(len, _STREAM_STARTS))
MAX_BODY_BYTES = 64 * 1024  # of a body that is no stream; the rest can't change what it means


class BodyKind(Enum):
    STREAM = auto()
    JSON = auto()
    HTML = auto()
    OTHER = auto()


def kind_of_body(head: bytes) -> BodyKind:
    """`head`: the beginning of the body, LONGEST_START bytes or all there is. A stream cut in its first word is one."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(_STREAM_STARTS) or (start and any(word.startswith(start) for word in _STREAM_STARTS)):
        return BodyKind.STREAM
    if start.startswith(b"{"):
        return BodyKind.JSON
    return BodyKind.HTML if start.startswith(b"<") else BodyKind.OTHER


def error_from_payload(payload: Mapping[str, Any]) -> BackendError:
    """`payload`: FastGPT's {code?, statusText?, message?}, from an error event or a JSON body."""
    name, code = payload.get("statusText"), payload.get("code")
    if not isinstance(code, int):  # a list or an object would not even be hashable
        code = None
    note = name if isinstance(name, str) and _NAME.fullmatch(name) else "unnamed"
    if note == "error":  # what newer releases write where older ones left it empty
        note = "unnamed" if code is None else f"error_{code}"
    is_ours = (
        note in _CONFIGURATION_NAMES
        or code in _CONFIGURATION_CODES
        or str(payload.get("message") or "").startswith(_CONFIGURATION_MESSAGES)
    )
    return BackendError(FailureKind.CONFIGURATION if is_ours else FailureKind.REFUSED, note)


def error_from_body(status: int, body: bytes) -> BackendError:
    """A whole body that is no event stream."""
    kind = kind_of_body(body)
    if kind is BodyKind.JSON:
        payload = json_object(body)
        if payload is not None and ("message" in payload or "statusText" in payload):
            return error_from_payload(payload)
        return BackendError(FailureKind.MALFORMED, f"json_{status}")
    if status >= 500:
        return BackendError(FailureKind.REFUSED, f"http_{status}")
    if 300 <= status < 400 and status != 304:
        return BackendError(FailureKind.CONFIGURATION, f"http_{status}")
    if kind is BodyKind.HTML:  # a page instead of the API: the address leads to something else
        return BackendError(FailureKind.CONFIGURATION, f"html_{status}")
    if status >= 400:
        return BackendError(FailureKind.CONFIGURATION if status in (401, 403, 404, 405) else FailureKind.REFUSED, f"http_{status}")
    if status == 200 and not body.strip():
        return BackendError(FailureKind.INTERRUPTED, "no_body")
    return BackendError(FailureKind.MALFORMED, f"http_{status}")


def json_object(text: bytes | str) -> Mapping[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None
