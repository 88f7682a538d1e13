"""A model that says what a test scripted, in pieces the test chooses, and remembers what it was sent."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from backends.langgraph.model.port import TokenUse
from domain.errors import BackendError, FailureKind


class ScriptedModel:
    """`replies` are taken in order; an exception among them is raised instead. `cut` splits a reply into pieces (default: one)."""

    name = "scripted"
    host = "nowhere"

    def __init__(self, replies: Sequence[str | BackendError] = (), *, cut: Callable[[str], list[str]] | None = None) -> None:
        self.replies = list(replies)
        self.sent: list[list[dict[str, Any]]] = []
        self.closed = 0
        self._cut = cut or (lambda text: [text])

    def then(self, *replies: str | BackendError) -> None:
        self.replies += replies

    async def stream(self, messages: Sequence[Any], *, request_id: str) -> AsyncGenerator[str | TokenUse, None]:
        self.sent.append(list(messages))
        if not self.replies:
            raise BackendError(FailureKind.INTERNAL, "the script has no reply left")
        reply = self.replies.pop(0)
        try:
            if isinstance(reply, BackendError):
                raise reply
            for piece in self._cut(reply):
                await asyncio.sleep(0)
                yield piece
        finally:
            self.closed += 1

    async def probe(self) -> str | None:
        return None

    async def aclose(self) -> None:
        pass


class StuckModel(ScriptedModel):
    """Says `lead`, then nothing for ever; `is_stuck` is set when it hangs."""

    def __init__(self, lead: str = "") -> None:
        super().__init__()
        self._lead = lead
        self.is_stuck = asyncio.Event()

    async def stream(self, messages: Sequence[Any], *, request_id: str) -> AsyncGenerator[str | TokenUse, None]:
        self.sent.append(list(messages))
        try:
            if self._lead:
                yield self._lead
            self.is_stuck.set()
            await asyncio.Event().wait()
        finally:
            self.closed += 1
