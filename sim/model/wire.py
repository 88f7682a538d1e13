"""Bytes of an OpenAI-compatible chat completion. Pure: text in, JSON bodies and SSE blocks out.

Token counts are an estimate (two characters a token): nobody bills for a simulator, but the shape must be there.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

MODEL = "sim-accident"
DONE = b"data: [DONE]\n\n"


def tokens_of(text: str) -> int:
    return (len(text) + 1) // 2


def usage_of(prompt_text: str, text: str) -> dict[str, int]:
    prompt, completion = tokens_of(prompt_text), tokens_of(text)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def completion(text: str, *, call_id: str, model: str, created_s: int, usage: Mapping[str, int]) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return {"id": call_id, "object": "chat.completion", "created": created_s, "model": model, "choices": [choice], "usage": dict(usage)}


def chunk(delta: Mapping[str, Any], *, call_id: str, model: str, created_s: int, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish}
    return block({"id": call_id, "object": "chat.completion.chunk", "created": created_s, "model": model, "choices": [choice]})


def usage_chunk(usage: Mapping[str, int], *, call_id: str, model: str, created_s: int) -> bytes:
    body = {"id": call_id, "object": "chat.completion.chunk", "created": created_s, "model": model, "choices": [], "usage": dict(usage)}
    return block(body)


def block(body: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(body, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def error_body(message: str, *, kind: str, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def pieces(text: str, size_chars: int) -> Iterator[str]:
    for start in range(0, len(text), size_chars):
        yield text[start : start + size_chars]
