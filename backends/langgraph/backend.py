"""The LangGraph backend as the proxy sees it. An abandoned turn is cancelled and leaves nothing behind."""

from collections.abc import AsyncGenerator

from backends.langgraph.accident.graph import build_graph
from backends.langgraph.accident.prompts import load_prompts
from backends.langgraph.checkpoints import Checkpoints
from backends.langgraph.engine import AccidentEngine
from backends.langgraph.model.port import ChatModel
from contract.ports import Clock
from domain.backend_name import BackendName
from domain.outcome import ReplyEvent
from domain.session import SessionState
from domain.turn import Turn


class LangGraphBackend:
    """Implements contract.ports.Backend. Live and shadow differ only in the checkpoints they are given."""

    name = BackendName.LANGGRAPH
    finishes_when_abandoned = False

    def __init__(self, engine: AccidentEngine, model: ChatModel) -> None:
        self._engine = engine
        self._model = model

    def reply(self, turn: Turn, session: SessionState) -> AsyncGenerator[ReplyEvent, None]:
        return self._engine.run(turn, session)

    async def probe(self) -> str | None:
        return await self._model.probe()

    async def aclose(self) -> None:
        """Checkpoints belong to whoever opened them."""
        await self._engine.aclose()
        await self._model.aclose()


def langgraph_backend(model: ChatModel, clock: Clock, checkpoints: Checkpoints | None, *, build: str = "") -> LangGraphBackend:
    """Put the parts together. Without checkpoints the graph remembers nothing between turns; the business row carries the session."""
    graph = build_graph(checkpoints.saver if checkpoints else None)
    prune = checkpoints.prune if checkpoints else None
    return LangGraphBackend(AccidentEngine(graph, model, load_prompts(), clock, build=build, prune=prune), model)
