"""A chat model behind an OpenAI-compatible address. All errors of the client are translated here.

The client's own retries are off: a turn has its deadline, and a second request is made only when no byte of a first reply came.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import aclosing, contextmanager
from typing import Any, cast
from urllib.parse import urlsplit

import openai
import structlog
from purgatory.domain.model import OPENED

from backends.langgraph.model.breaker import Breaker
from backends.langgraph.model.port import ChatMessage, TokenUse
from domain.errors import BackendError, FailureKind
from domain.events import clean_text

log = structlog.get_logger()

_CONFIGURATION_STATUSES = frozenset({400, 401, 403, 404, 422})
_RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})
_PAUSE_S = (0.05, 0.25)  # before the second request, drawn anew so that many turns do not come back together
_CHARS_PER_TOKEN = 8  # a reply that is longer than its tokens can say was not made by the model we asked


class OpenAiModel:
    """Implements ChatModel. One client, with its connection pool and its breaker, for the life of the process."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        first_token_s: float = 5.0,
        total_s: float = 20.0,
        max_tokens: int = 512,
        tells_use: bool = True,
        breaker_failures: int = 5,
        breaker_open_s: float = 10.0,
    ) -> None:
        """`tells_use`: ask the service for its token counts; a service that refuses the option needs it off."""
        self.name = model
        self.host = urlsplit(base_url).netloc.rpartition("@")[2]
        self._first_token_s = first_token_s
        self._total_s = total_s
        self._max_tokens = max_tokens
        self._options: dict[str, Any] = {"stream_options": {"include_usage": True}} if tells_use else {}
        self._breaker = Breaker(failures=breaker_failures, open_s=breaker_open_s)
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0, timeout=total_s)

    async def stream(self, messages: Sequence[ChatMessage], *, request_id: str) -> AsyncGenerator[str | TokenUse, None]:
        before = self._breaker.state
        admission = self._breaker.admit()
        has_spoken = False
        try:
            async with aclosing(self._reply(messages, request_id)) as pieces:
                async for piece in pieces:
                    has_spoken = True
                    yield piece
        except BackendError as error:
            admission.failed(error.failure.kind)
            raise
        finally:
            admission.close(is_alive=has_spoken)
            if self._breaker.state != before:
                log.warning("model_circuit", state=self._breaker.state, was=before)

    async def _reply(self, messages: Sequence[ChatMessage], request_id: str) -> AsyncGenerator[str | TokenUse, None]:
        started = time.monotonic()
        with _model_failures(began=False):
            async with asyncio.timeout(self._first_token_s):
                chunks = await self._open(messages, request_id)
        began = is_finished = False
        room = self._max_tokens * _CHARS_PER_TOKEN
        try:
            while True:
                limit_s = self._total_s if began else self._first_token_s
                with _model_failures(began=began):
                    async with asyncio.timeout(max(0.0, started + limit_s - time.monotonic())):
                        chunk = await anext(chunks, None)
                if chunk is None:
                    break
                text, finishes = _read(chunk)
                is_finished = is_finished or finishes
                if text:
                    began = True
                    room -= len(text)
                    if room < 0:
                        raise BackendError(FailureKind.MALFORMED, "model: reply without end")
                    yield text
                if use := _use(chunk):
                    yield use
            if not is_finished:  # the connection closed in mid-sentence, politely
                raise BackendError(FailureKind.INTERRUPTED if began else FailureKind.EMPTY, "model: no finish reason")
        finally:
            await cast(Any, chunks).close()

    async def probe(self) -> str | None:
        if self._breaker.state == OPENED:
            return "model: circuit open"
        try:
            with _model_failures(began=False):
                async with asyncio.timeout(self._first_token_s):
                    await self._client.models.list()
        except BackendError as error:
            return f"model: {error.failure.kind} {error.failure.note}".strip()
        return None

    async def aclose(self) -> None:
        await self._client.close()

    async def _open(self, messages: Sequence[ChatMessage], request_id: str) -> AsyncIterator[Any]:
        """One request, or two: the second only when the first was turned away or lost before a byte of a reply, and while the first
        token may still come in time."""
        try:
            return await self._create(messages, request_id)
        except openai.APITimeoutError:
            raise
        except openai.APIConnectionError:
            pause_s = 0.0  # a connection of the pool that had gone stale
        except openai.APIStatusError as error:
            if error.status_code not in _RETRIED_STATUSES:
                raise
            pause_s = _wished_pause_s(error) or random.uniform(*_PAUSE_S)  # noqa: S311 - spreads load, keeps no secret
            if pause_s >= self._first_token_s:
                raise
        await asyncio.sleep(pause_s)
        return await self._create(messages, request_id)

    async def _create(self, messages: Sequence[ChatMessage], request_id: str) -> AsyncIterator[Any]:
        return await self._client.chat.completions.create(
            model=self.name,
            messages=[],
            extra_body={"messages": list(messages)},  # past the client's conversion of typed parameters: 2 ms CPU a call
            stream=True,
            temperature=0,
            max_tokens=self._max_tokens,
            extra_headers={"X-Request-ID": request_id} if request_id else {},
            **self._options,
        )


def _wished_pause_s(error: openai.APIStatusError) -> float | None:
    """Retry-After in seconds; None when there is none that can be read (a date is not)."""
    wish = error.response.headers.get("retry-after", "")
    return float(wish) if wish.isascii() and wish.replace(".", "", 1).isdigit() else None


def _use(chunk: Any) -> TokenUse | None:
    """The counts a service sends once, at the end of its stream."""
    usage = getattr(chunk, "usage", None)
    prompt, completion = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    return TokenUse(prompt, completion) if isinstance(prompt, int) and isinstance(completion, int) else None


def _read(chunk: Any) -> tuple[str, bool]:
    """The text of a chunk, empty for chunks without any (roles, reasoning, usage), and whether it says that the reply is complete.
    Characters that no database takes do not pass."""
    choices = getattr(chunk, "choices", None) or []
    if not choices:
        return "", False
    content = choices[0].delta.content if choices[0].delta else None
    return (clean_text(content) if isinstance(content, str) else ""), bool(choices[0].finish_reason)


@contextmanager
def _model_failures(*, began: bool) -> Generator[None]:
    """Foreign errors become ours. `began`: text has arrived, so a lost connection is an interruption."""
    try:
        yield
    except (TimeoutError, openai.APITimeoutError) as error:
        raise BackendError(FailureKind.TIMEOUT, "model") from error
    except openai.APIConnectionError as error:
        raise BackendError(FailureKind.INTERRUPTED if began else FailureKind.UNREACHABLE, "model") from error
    except openai.APIStatusError as error:
        kind = FailureKind.CONFIGURATION if error.status_code in _CONFIGURATION_STATUSES else FailureKind.REFUSED
        raise BackendError(kind, f"model status {error.status_code}") from error
    except openai.APIError as error:
        raise BackendError(FailureKind.REFUSED, "model error event") from error
    except openai.OpenAIError as error:
        raise BackendError(FailureKind.MALFORMED, type(error).__name__) from error
    except ValueError as error:  # a line of the stream that is no JSON
        raise BackendError(FailureKind.MALFORMED, "model stream") from error
    except OSError as error:  # a socket that broke while the stream was read
        raise BackendError(FailureKind.INTERRUPTED if began else FailureKind.UNREACHABLE, type(error).__name__) from error
