"""Calls the model server, as the flow's nodes do: a whole answer for an extraction, pieces for a chat.

A 5xx or 429 is tried twice again in silence, as the real server's client library does; then it is a ModelFailure.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, cast

import aiohttp

RETRIES = 2
RETRY_PAUSE_S = 0.1
TIMEOUT_S = 60.0
_EMPTY_KEY = "sk-sim"


class ModelFailure(Exception):
    """The model gave no usable answer; the message is what the real server writes into the node's record."""


class ModelClient:
    def __init__(self, http: aiohttp.ClientSession, base_url: str) -> None:
        self._http = http
        self._url = f"{base_url.rstrip('/')}/chat/completions"

    async def whole(self, messages: list[dict[str, Any]], *, model: str) -> tuple[str, dict[str, int]]:
        """Text and token usage. Raises ModelFailure."""
        response = await self._post({"model": model, "messages": messages, "stream": False, "temperature": 0})
        try:
            async with response:
                body = cast("dict[str, Any]", await response.json(content_type=None))
        except (aiohttp.ClientError, ValueError, TimeoutError) as error:
            raise ModelFailure("Premature close") from error
        return str(body["choices"][0]["message"]["content"] or ""), dict(body.get("usage") or {})

    async def pieces(
        self, messages: list[dict[str, Any]], *, model: str, noise_seed: int | None, usage: dict[str, int]
    ) -> AsyncIterator[str]:
        """Pieces of text as they come; a `noise_seed` asks for another wording. Raises ModelFailure, also in the middle.

        `usage` is filled when the model tells its token counts, which comes last.
        """
        wording = {"temperature": 0} if noise_seed is None else {"temperature": 0.9, "seed": noise_seed}
        body = {"model": model, "messages": messages, "stream": True, "stream_options": {"include_usage": True}, **wording}
        response = await self._post(body)
        try:
            async with response:
                async for line in response.content:
                    if not line.startswith(b"data:"):
                        continue
                    payload = line[5:].strip()
                    if payload == b"[DONE]":
                        return
                    chunk = cast("dict[str, Any]", json.loads(payload))
                    usage |= chunk.get("usage") or {}
                    if piece := _text(chunk):
                        yield piece
        except (aiohttp.ClientError, ValueError, TimeoutError) as error:
            raise ModelFailure("Premature close") from error
        raise ModelFailure("Premature close")

    async def _post(self, body: dict[str, Any]) -> aiohttp.ClientResponse:
        headers = {"Authorization": f"Bearer {_EMPTY_KEY}"}
        for attempt in range(RETRIES + 1):
            try:
                response = await self._http.post(self._url, json=body, headers=headers, timeout=aiohttp.ClientTimeout(total=TIMEOUT_S))
            except TimeoutError as error:
                raise ModelFailure("Request timed out.") from error
            except aiohttp.ClientError as error:
                raise ModelFailure("Connection error.") from error
            if response.status == 200:
                return response
            is_last = attempt == RETRIES or not (response.status >= 500 or response.status == 429)
            text = await response.text()
            if is_last:
                raise ModelFailure(f"{response.status} {_message(text)}")
            await asyncio.sleep(RETRY_PAUSE_S)
        raise AssertionError("the loop returns or raises")


def _text(chunk: dict[str, Any]) -> str:
    choices = chunk.get("choices") or []
    return str((choices[0].get("delta") or {}).get("content") or "") if choices else ""


def _message(text: str) -> str:
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return "status code (no body)"
