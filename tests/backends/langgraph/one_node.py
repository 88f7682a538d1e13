"""One node in a graph of its own, with the stock in-memory saver: what it is given, what it leaves, what it says."""

from collections.abc import Callable
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from backends.langgraph.accident.prompts import load_prompts
from backends.langgraph.accident.run import OnInvalid, TurnRun
from backends.langgraph.accident.state import AccidentState
from domain.events import event_from_text
from domain.outcome import FormChanged, StageDecided, TextPiece
from domain.session import SessionState
from domain.turn import Turn
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.values import a_turn


class Stage:
    """A turn under way. `said` is what the caller has been told so far; `replies` are the model's."""

    def __init__(
        self, session: SessionState, text: str = "", *replies: Any, turn: Turn | None = None, on_invalid: OnInvalid = "error_then_handoff"
    ) -> None:
        self.model = ScriptedModel(replies)
        self.said: list[StageDecided | FormChanged | TextPiece] = []
        self.run = TurnRun(
            turn=turn or a_turn(text, event_from_text(text)),
            session=session,
            model=self.model,
            prompts=load_prompts(),
            emit=self._hear,
            on_invalid=on_invalid,
            invalid_turns=session.dialogue.invalid_turns,
        )

    async def _hear(self, event: StageDecided | FormChanged | TextPiece) -> None:
        self.said.append(event)

    async def play(self, *nodes: Callable[..., Any], **state: Any) -> dict[str, Any]:
        """Run these nodes one after the other on a state; what the checkpoint then holds."""
        graph = StateGraph(AccidentState, context_schema=TurnRun)
        for node in nodes:
            graph.add_node(node.__name__, node)
        names = [node.__name__ for node in nodes]
        for before, after in zip([START, *names], [*names, END], strict=True):
            graph.add_edge(before, after)
        saver = InMemorySaver()
        config: Any = {"configurable": {"thread_id": "t1:S-1"}}
        await graph.compile(checkpointer=saver).ainvoke(state, config, context=self.run, durability="exit")
        saved = await saver.aget_tuple(config)
        assert saved is not None
        return saved.checkpoint["channel_values"]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.said if isinstance(event, TextPiece))
