"""The LangGraph backend as the proxy sees it. An abandoned turn is cancelled and leaves nothing behind."""

from collections.abc import AsyncGenerator, Sequence

from backends.langgraph.accident.graph import build_graph
from backends.langgraph.accident.prompts import load_prompts
from backends.langgraph.accident.run import OnInvalid
from backends.langgraph.checkpoints import Checkpoints
from backends.langgraph.engine import AccidentEngine
from backends.langgraph.model.port import ChatModel
from contract.ports import Clock, Examined, HeldSession
from domain.adoption import Adopted
from domain.backend_name import BackendName
from domain.errors import StoreUnavailable
from domain.outcome import ReplyEvent
from domain.session import SessionState
from domain.thread_id import thread_id
from domain.turn import Turn


class LangGraphBackend:
    """Implements contract.ports.Backend. Live and shadow differ only in the checkpoints they are given."""

    name = BackendName.LANGGRAPH
    finishes_when_abandoned = False

    def __init__(
        self,
        model: ChatModel,
        checkpoints: Checkpoints | None,
        clock: Clock,
        *,
        on_invalid: OnInvalid = "error_then_handoff",
        build: str = "",
    ) -> None:
        """Without checkpoints the graph remembers nothing between turns; the business row carries the session."""
        self._model = model
        self._checkpoints = checkpoints
        self._engine = AccidentEngine(
            build_graph(checkpoints.for_turns if checkpoints else None),
            model,
            load_prompts(),
            clock,
            on_invalid=on_invalid,
            build=build,
        )

    def reply(self, turn: Turn, session: SessionState) -> AsyncGenerator[ReplyEvent, None]:
        return self._engine.run(turn, session)

    async def ready(self) -> str | None:
        if self._checkpoints is None:
            return None
        try:
            await self._checkpoints.ping()
        except StoreUnavailable:
            return "the checkpointer is unreachable"
        return None

    async def probe(self) -> str | None:
        return await self.ready() or await self._model.probe()

    async def examine(self) -> Examined:
        """Nothing beyond what `describe` says: the model is the only upstream."""
        return Examined()

    def describe(self) -> str:
        return f"model {self._model.name} at {self._model.host}, {self._engine.version}"

    def lost(self, session: SessionState) -> tuple[str, ...]:
        """Nothing: the session is the whole of what a turn starts from."""
        return ()

    async def adopt(self, turn: Turn) -> Adopted | None:
        """A session of ours is in the store from its first turn on."""
        return None

    async def drift(self, held: HeldSession) -> tuple[str, ...]:
        """The checkpoint against the session. One that is behind is no drift: it was left where another backend served."""
        if self._checkpoints is None:
            return ()
        return await self._checkpoints.drift(thread_id(held.tenant_id, held.session_id), held.opened.state)

    async def forget(self, tenant_id: str, session_id: str, memories: Sequence[str]) -> None:
        if self._checkpoints is not None:
            await self._checkpoints.forget(thread_id(tenant_id, session_id))

    async def aclose(self) -> None:
        """Checkpoints belong to whoever opened them."""
        await self._engine.aclose()
        await self._model.aclose()
