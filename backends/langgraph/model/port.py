"""What the dialogue needs of a language model: text, piece by piece."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypedDict


class ChatMessage(TypedDict):
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class TokenUse:
    """What the service says one reply took. Not every service says it."""

    prompt_tokens: int
    completion_tokens: int


class ChatModel(Protocol):
    @property
    def name(self) -> str:
        """What the service calls the model."""
        ...

    @property
    def host(self) -> str:
        """Where it is asked, host and port."""
        ...

    def stream(self, messages: Sequence[ChatMessage], *, request_id: str) -> AsyncGenerator[str | TokenUse, None]:
        """The reply as it comes, in pieces of any length, and its use when the service tells it. Closing the generator ends the upstream
        request.

        Raises domain.errors.BackendError: TIMEOUT (first token or in all), UNREACHABLE, INTERRUPTED (broke off after it had begun),
        REFUSED (busy, overloaded, rejected), CONFIGURATION (key, model or address), MALFORMED.
        """
        ...

    async def probe(self) -> str | None:
        """None when the model can be asked, else why not, for an operator."""
        ...

    async def aclose(self) -> None: ...
