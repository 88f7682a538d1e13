"""One reply of the model while it is being written: first its head, later, once the head has been judged, its body from the same stream.

Nothing of the body is read ahead beyond the piece that completed the head.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

from backends.langgraph.model.port import TokenUse
from contract.state_prefix import BodyText, FormBlock, Irregularity, MalformedReply, PrefixEvent, StatePrefixParser, StateTag
from domain.errors import BackendError, FailureKind

LATE = frozenset({"duplicate_late"})  # of the body: told with it, wherever the stream was cut


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyHead:
    code: str  # four digits, not checked yet
    form_text: str | None
    irregularities: tuple[str, ...]


class LiveReply:
    """Read `head()` once, then `body()` at most once; `aclose()` ends the upstream request whatever was read. `use` is known after a reply
    that was read to its end, when the service told it."""

    def __init__(self, pieces: AsyncGenerator[str | TokenUse, None]) -> None:
        self._pieces = pieces
        self._parser = StatePrefixParser()
        self._early: list[str] = []  # body text that came with the piece that completed the head
        self._is_over = False
        self.late_irregularities: list[str] = []
        self.use: TokenUse | None = None

    async def head(self) -> ReplyHead:
        """Raises MalformedReply (a doubled tag is `duplicate`) and BackendError (EMPTY when not a word came)."""
        events: list[PrefixEvent] = []
        has_text = False
        while not self._parser.in_body and not self._is_over:
            piece = await self._next()
            if piece is None:
                self._is_over = True
                if not has_text:
                    raise BackendError(FailureKind.EMPTY, "model")
                events += self._parser.finish()
            else:
                has_text = has_text or bool(piece.strip())
                events += self._parser.feed(piece)
        return self._head_of(events)

    async def _next(self) -> str | None:
        """The next piece of text; None at the end."""
        while isinstance(piece := await anext(self._pieces, None), TokenUse):
            self.use = piece
        return piece

    def _head_of(self, events: list[PrefixEvent]) -> ReplyHead:
        irregular = tuple(event.name for event in events if isinstance(event, Irregularity))
        if "duplicate" in irregular:
            raise MalformedReply("duplicate")
        self.late_irregularities = [name for name in irregular if name in LATE]
        self._early = [event.text for event in events if isinstance(event, BodyText)]
        return ReplyHead(
            code=next(event.code for event in events if isinstance(event, StateTag)),
            form_text=next((event.text for event in events if isinstance(event, FormBlock)), None),
            irregularities=tuple(name for name in irregular if name not in LATE),
        )

    async def body(self) -> AsyncIterator[str]:
        """The rest of the reply, without leading white space. Raises BackendError."""
        is_leading = True
        async with aclosing(self._body_pieces()) as pieces:
            async for piece in pieces:
                text = piece.lstrip() if is_leading else piece
                if text:
                    is_leading = False
                    yield text

    async def _body_pieces(self) -> AsyncGenerator[str, None]:
        for text in self._early:
            yield text
        while not self._is_over:
            piece = await self._next()
            self._is_over = piece is None
            for text in self._spoken(self._parser.finish() if piece is None else self._parser.feed(piece)):
                yield text

    def _spoken(self, events: list[PrefixEvent]) -> list[str]:
        self.late_irregularities += [event.name for event in events if isinstance(event, Irregularity)]
        return [event.text for event in events if isinstance(event, BodyText)]

    async def aclose(self) -> None:
        await self._pieces.aclose()
