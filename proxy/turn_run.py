"""A streamed turn in a task of its own: the response only reads what the task has put out.

So a caller who hangs up never cancels by accident (a response that iterated the graph itself would lose the running node). What happens
then is decided here: a backend whose memory has moved finishes and commits; any other turn is cancelled, unless it is already committing.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import structlog
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from contract.sse import KEEP_ALIVE
from contract.wire import error_event
from domain.errors import ErrorType, Refusal
from proxy.errors import envelope
from proxy.render import Manner, SseRenderer
from proxy.turn_path import OpenTurn, Progress, TurnPath

log = structlog.get_logger(__name__)

QUEUE_PIECES = 64  # a reader slower than this slows the upstream's reading down, not our memory
KEEP_ALIVE_SECONDS = 15.0


class TurnRun:
    """Start it with a running loop; iterate `pieces` once; call `abandon` when the reader is gone."""

    def __init__(self, path: TurnPath, open_turn: OpenTurn, manner: Manner, tasks: set[asyncio.Task[None]]) -> None:
        self._path = path
        self._open_turn = open_turn
        self._manner = manner
        self._progress = Progress()
        self._out: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUE_PIECES)
        self._is_read = True
        self._task = asyncio.create_task(self._tell())
        tasks.add(self._task)
        self._task.add_done_callback(tasks.discard)

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Bytes for the socket; everything that is ready goes out in one write."""
        while True:
            try:
                piece = self._out.get_nowait()
            except asyncio.QueueEmpty:
                try:
                    async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                        piece = await self._out.get()
                except TimeoutError:
                    if self._task.done() and self._out.empty():
                        return
                    yield KEEP_ALIVE
                    continue
            ready: list[bytes] = []
            while piece is not None:
                ready.append(piece)
                if self._out.empty():
                    break
                piece = self._out.get_nowait()
            if ready:
                yield b"".join(ready)
            if piece is None:
                return

    def abandon(self) -> None:
        """The reader is gone. Never blocks, never raises; a turn that has ended is left alone."""
        self._is_read = False
        while not self._out.empty():  # frees a task that waits to put
            self._out.get_nowait()
        if not self._task.done() and not self._progress.is_committing and not self._open_turn.backend.finishes_when_abandoned:
            self._task.cancel()

    async def _tell(self) -> None:
        renderer = SseRenderer(self._manner)
        try:
            async with aclosing(self._path.run(self._open_turn, self._progress)) as events:
                async for event in events:
                    await self._put(renderer.feed(event))
        except Refusal as refusal:
            await self._put(self._error(refusal))
        except asyncio.CancelledError:
            # Once it is committing, the turn may well be stored: the caller is not told that it failed, but to ask again.
            is_open = self._progress.is_committing
            self._put_at_once(self._error(Refusal(ErrorType.STATE_PERSISTENCE_FAILED if is_open else ErrorType.INTERNAL_ERROR)))
            self._put_at_once(None)
            raise
        except Exception:
            log.exception("turn_broke")
            await self._put(self._error(Refusal(ErrorType.INTERNAL_ERROR)))
        await self._put(None)

    async def _put(self, piece: bytes | None) -> None:
        if piece != b"" and self._is_read:
            await self._out.put(piece)

    def _put_at_once(self, piece: bytes | None) -> None:
        """For a task that may not wait any more; a reader that gets no end notices the task's (see `pieces`)."""
        if self._is_read and not self._out.full():
            self._out.put_nowait(piece)

    def _error(self, refusal: Refusal) -> bytes:
        told = envelope(refusal, self._manner.profile)
        return error_event(told.code, told.message)


class TurnResponse(StreamingResponse):
    """The run told over the wire. Whatever ends the response, also before its first byte, the run hears of it."""

    def __init__(self, run: TurnRun, headers: Mapping[str, str]) -> None:
        super().__init__(run.pieces(), headers=headers)
        self._run = run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._run.abandon()
