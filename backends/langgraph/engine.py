"""Run one turn of the graph in a task of its own, and hand its events over a bounded queue.

`graph.astream` is never given away: a cancelled reader would leave its nodes running. Here the reader owns a task; closing the iterator
cancels the task, and what the graph had not finished never happened. The checkpoint is written once, when the graph ends.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine
from functools import partial
from typing import Any

import structlog
from langchain_core.runnables import RunnableConfig

from backends.langgraph.accident.graph import GRAPH_VERSION, AccidentGraph
from backends.langgraph.accident.prompts import Prompts
from backends.langgraph.accident.run import OnInvalid, TurnRun
from backends.langgraph.model.port import ChatModel
from contract.ports import Clock
from domain.backend_name import BackendName
from domain.errors import BackendError, BackendFailure, FailureKind
from domain.outcome import Failed, FormChanged, Outcome, Receipt, Replied, Reply, ReplyEvent, StageDecided, TextPiece
from domain.published import tables_digest
from domain.session import SessionState
from domain.thread_id import thread_id
from domain.turn import Turn

log = structlog.get_logger()

QUEUE_SIZE = 64


class AccidentEngine:
    """One compiled graph with its model. Turns of different sessions run side by side; turns of one session are serialised by its lease."""

    def __init__(
        self,
        graph: AccidentGraph,
        model: ChatModel,
        prompts: Prompts,
        clock: Clock,
        *,
        on_invalid: OnInvalid = "error_then_handoff",
        build: str = "",
    ) -> None:
        self._graph = graph
        self._model = model
        self._prompts = prompts
        self._clock = clock
        self._on_invalid: OnInvalid = on_invalid
        self._tasks: set[asyncio.Task[None]] = set()
        # Which program, which wording and which rules served a turn: every turn's receipt carries it.
        self.version = "+".join(part for part in (build, GRAPH_VERSION, f"prompts-{prompts.digest}", f"tables-{tables_digest()}") if part)

    async def run(self, turn: Turn, session: SessionState) -> AsyncGenerator[ReplyEvent, None]:
        """The events of one turn, ending with Replied or Failed. Closing it early cancels the turn."""
        queue: asyncio.Queue[ReplyEvent] = asyncio.Queue(QUEUE_SIZE)
        task = self._start(self._serve(turn, session, queue))
        task.add_done_callback(partial(self._tell_reader, turn, queue))
        is_over = False
        try:
            while not is_over:
                event = await queue.get()
                is_over = isinstance(event, Replied | Failed)
                yield event
        finally:
            if not is_over:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def aclose(self) -> None:
        """Cancel the turns that nobody closed."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def running(self) -> int:
        """Tasks alive now; zero when no turn is in hand."""
        return len(self._tasks)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name="langgraph-turn")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _tell_reader(self, turn: Turn, queue: asyncio.Queue[ReplyEvent], task: asyncio.Task[None]) -> None:
        """A task that ended without a word (the process is closing) must not leave its reader waiting: the turn has failed."""
        if not task.cancelled() and task.exception() is None:
            return
        if queue.full():
            queue.get_nowait()
        receipt = Receipt(backend=BackendName.LANGGRAPH, build=self.version, turn_id=turn.turn_id)
        failure = BackendFailure(kind=FailureKind.INTERNAL, note="the turn's task ended early")
        queue.put_nowait(Failed(Outcome(backend=BackendName.LANGGRAPH, failure=failure, receipt=receipt)))

    async def _serve(self, turn: Turn, session: SessionState, queue: asyncio.Queue[ReplyEvent]) -> None:
        watch = _Recorder(queue, self._clock)
        thread = thread_id(turn.tenant_id, turn.session_id)
        run = TurnRun(
            turn=turn,
            session=session,
            model=self._model,
            prompts=self._prompts,
            emit=watch.emit,
            on_invalid=self._on_invalid,
            invalid_turns=session.dialogue.invalid_turns,
        )
        failure = await self._failure_of(run, thread)
        if failure is not None:
            log.info("langgraph_turn_failed", turn_id=turn.turn_id, kind=failure.kind, note=failure.note, model_calls=run.model_calls)
            await queue.put(Failed(self._outcome(run, watch, failure=failure)))
            return
        await queue.put(self._replied(run, watch))

    async def _failure_of(self, run: TurnRun, thread: str) -> BackendFailure | None:
        """Run the graph; None when it reached its end. Our own cancellation passes through; a foreign one is a failure."""
        try:
            durability = "exit" if self._graph.checkpointer else None
            config: RunnableConfig = {"configurable": {"thread_id": thread}}
            # Nobody reads the steps: no stream mode, no copy of the state for each of them (ainvoke would make two).
            async for _ in self._graph.astream({}, config, context=run, stream_mode=(), durability=durability):
                pass
        except BackendError as error:
            return error.failure
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return BackendFailure(kind=FailureKind.INTERNAL, note="the graph was cancelled from inside")
        except Exception as error:
            return BackendFailure(kind=FailureKind.INTERNAL, note=type(error).__name__)
        finally:
            with contextlib.suppress(BackendError):
                await run.close_reply()
        return None

    def _replied(self, run: TurnRun, watch: "_Recorder") -> Replied:
        decision = run.decided()
        after = decision.after(run.session)
        reply = Reply(
            stage=decision.stage,
            text="".join(watch.text),
            patch=decision.patch(run.session),
            handoff_reason=decision.dialogue.handoff_reason if after.is_terminal else None,
        )
        return Replied(self._outcome(run, watch, reply=reply), after)

    def _outcome(self, run: TurnRun, watch: "_Recorder", *, reply: Reply | None = None, failure: BackendFailure | None = None) -> Outcome:
        return Outcome(
            backend=BackendName.LANGGRAPH,
            reply=reply,
            failure=failure,
            violations=tuple(dict.fromkeys(run.violations)),
            tags=run.tags,
            receipt=Receipt(backend=BackendName.LANGGRAPH, build=self.version, turn_id=run.turn.turn_id),
            model_calls=run.model_calls,
            model=run.model_use(),
            first_text_ms=watch.first_text_ms,
            total_ms=watch.elapsed_ms(),
        )


class _Recorder:
    """Puts the nodes' events on the queue and keeps what the outcome needs of them."""

    def __init__(self, queue: asyncio.Queue[ReplyEvent], clock: Clock) -> None:
        self._queue = queue
        self._clock = clock
        self._started_ms = clock.monotonic_ms()
        self.text: list[str] = []
        self.first_text_ms: float | None = None

    async def emit(self, event: StageDecided | FormChanged | TextPiece) -> None:
        if isinstance(event, TextPiece):
            if self.first_text_ms is None:
                self.first_text_ms = self.elapsed_ms()
            self.text.append(event.text)
        await self._queue.put(event)

    def elapsed_ms(self) -> float:
        return self._clock.monotonic_ms() - self._started_ms
