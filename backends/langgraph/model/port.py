"""What the dialogue needs of a language model: text, piece by piece."""

from collections.abc import AsyncGenerator, Sequence
from typing import Literal, Protocol, TypedDict


class ChatMessage(TypedDict):
    role: Literal["system", "user", "assistant"]
    content: str


class ChatModel(Protocol):
    def stream(self, messages: Sequence[ChatMessage], *, request_id: str) -> AsyncGenerator[str, None]:
        """The reply as it comes, in pieces of any length. Closing the generator ends the upstream request.

        Raises domain.errors.BackendError: TIMEOUT (first token or in all), UNREACHABLE, INTERRUPTED (broke off after it had begun),
        REFUSED (busy, overloaded, rejected), CONFIGURATION (key, model or address), MALFORMED.
        """
        ...

    async def probe(self) -> str | None:
        """None when the model can be asked, else why not, for an operator."""
        ...

    async def aclose(self) -> None: ...
