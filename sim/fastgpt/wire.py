"""Bytes and bodies of the server, key by key in the order the recordings show. Pure.

An event is two writes: the `event:` line alone, then the `data:` line with the blank line. Lines end in LF only.
"""

from typing import Any

from sim.fastgpt.variables import dumps

JSON_TYPE = "application/json; charset=utf-8"
SSE_HEADERS = {
    "Content-Type": "text/event-stream;charset=utf-8",
    "Access-Control-Allow-Origin": "*",
    "X-Accel-Buffering": "no",
    "Cache-Control": "no-cache, no-transform",
}
SECURITY_HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "X-XSS-Protection": "1; mode=block",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Permissions-Policy": "geolocation=(self), microphone=(self), camera=(self)",
}
CLEARING_COOKIE = "fastgpt_token=; Path=/; Max-Age=0"
BROKEN_JSON = "Invalid JSON"
GATEWAY_PAGE = (
    "<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>\r\n"
    "<center><h1>504 Gateway Time-out</h1></center>\r\n</body>\r\n</html>\r\n"
)
GARBAGE = b'\x00\xff\xfe{"choices":[{"del\n\n:::\ndata {not json\n'
_SEED, _PRIME, _FOLD_BITS = 0xCBF29CE484222325, 0x100000001B3, 52
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def event_lines(name: str | None, data: str) -> list[bytes]:
    """The writes of one event; without a name there is one."""
    payload = f"data: {data}\n\n".encode()
    return [payload] if name is None else [f"event: {name}\n".encode(), payload]


def text_chunk(text: str | None, *, finish: str | None = None) -> str:
    choice = {"delta": {"role": "assistant", "content": text}, "index": 0, "finish_reason": finish}
    return dumps({"id": "", "object": "", "created": 0, "model": "", "choices": [choice]})


def completion_body(
    *,
    completion_id: str,
    content: Any,
    error: str | None = None,
    records: list[dict[str, Any]] | None = None,
    variables: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """`records` and `variables` are there with detail=true only."""
    detail = {} if records is None else {"responseData": records, "newVariables": variables}
    failure = {} if error is None else {"error": error}
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop", "index": 0}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 1}
    return detail | failure | {"id": completion_id, "model": "", "usage": usage, "choices": [choice]}


def text_value(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": {"content": text}}]


def envelope(data: Any) -> dict[str, Any]:
    """A successful answer of the chat record routes."""
    return {"code": 200, "statusText": "", "message": "", "data": data}


def error_envelope(message: str, *, code: int = 500, status_text: str = "") -> dict[str, Any]:
    return {"code": code, "statusText": status_text, "message": message, "data": None}


def seconds(value: float) -> float | int:
    """Two decimals, and no point for a whole number."""
    rounded = round(value, 2)
    return int(rounded) if rounded == int(rounded) else rounded


def etag_of(body: str) -> str:
    """64-bit FNV-1a over UTF-16 units folded to 52 bits, then the length, both in base 36."""
    units = body.encode("utf-16-le")
    value = _SEED
    for index in range(0, len(units), 2):
        value = ((value ^ int.from_bytes(units[index : index + 2], "little")) * _PRIME) & (2**64 - 1)
    folded = (value & (2**_FOLD_BITS - 1)) ^ (value >> _FOLD_BITS)
    return f'"{_base36(folded)}{_base36(len(units) // 2)}"'


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = _BASE36[rest] + digits
    return digits or "0"
