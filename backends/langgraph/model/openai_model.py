"""A chat model behind an OpenAI-compatible address. All errors of the client are translated here.

The client's own retries are off: a turn has its deadline, and a second request is made only when no byte of the first one came.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import openai

from backends.langgraph.model.port import ChatMessage
from domain.errors import BackendError, FailureKind
from domain.events import clean_text

_CONFIGURATION_STATUSES = frozenset({400, 401, 403, 404, 422})


class OpenAiModel:
    """Implements ChatModel. One client, with its connection pool, for the life of the process."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        first_token_s: float = 5.0,
        total_s: float = 20.0,
        max_tokens: int = 512,
    ) -> None:
        self._model = model
        self._first_token_s = first_token_s
        self._total_s = total_s
        self._max_tokens = max_tokens
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0, timeout=total_s)

    async def stream(self, messages: Sequence[ChatMessage], *, request_id: str) -> AsyncGenerator[str, None]:
        started = time.monotonic()
        with _model_failures(began=False):
            async with asyncio.timeout(self._first_token_s):
                chunks = await self._open(messages, request_id)
        began = is_finished = False
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
                    yield text
            if not is_finished:  # the connection closed in mid-sentence, politely
                raise BackendError(FailureKind.INTERRUPTED if began else FailureKind.EMPTY, "model: no finish reason")
        finally:
            await cast(Any, chunks).close()

    async def probe(self) -> str | None:
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
        try:
            return await self._create(messages, request_id)
        except openai.APITimeoutError:
            raise
        except openai.APIConnectionError:
            return await self._create(messages, request_id)

    async def _create(self, messages: Sequence[ChatMessage], request_id: str) -> AsyncIterator[Any]:
        return await self._client.chat.completions.create(
            model=self._model,
            messages=[],
            extra_body={"messages": list(messages)},  # past the client's conversion of typed parameters: 2 ms CPU a call
            stream=True,
            temperature=0,
            max_tokens=self._max_tokens,
            extra_headers={"X-Request-ID": request_id} if request_id else {},
        )


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
