"""The runtime side of one turn: what the nodes share and no checkpoint ever sees. It travels as the graph's context."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from backends.langgraph.accident.prompts import Prompts
from backends.langgraph.model.live_reply import LiveReply
from backends.langgraph.model.port import ChatModel, TokenUse
from domain.decision import Decision, Rejection
from domain.draft import Draft
from domain.outcome import FormChanged, ModelUse, StageDecided, TextPiece
from domain.proposal import Proposal
from domain.safety import SafetyFinding
from domain.session import SessionState
from domain.turn import Turn, UserMessage

OnInvalid = Literal["error", "handoff", "error_then_handoff"]
Emit = Callable[[StageDecided | FormChanged | TextPiece], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class TurnRun:
    """One turn. Written by the nodes in the order of the graph; only one node runs at a time."""

    turn: Turn
    session: SessionState
    model: ChatModel
    prompts: Prompts
    emit: Emit
    on_invalid: OnInvalid
    invalid_turns: int  # turns running whose model output stayed unusable, before this one
    finding: SafetyFinding = field(default_factory=SafetyFinding)
    draft: Draft | None = None
    live: LiveReply | None = None  # the open model reply, its head read, its body not
    said: Proposal | None = None
    rejection: Rejection | None = None
    decision: Decision | None = None
    model_calls: int = 0
    is_announced: bool = False  # stage and fields are out
    is_said: bool = False  # the text is out
    uses: list[TokenUse] = field(default_factory=list[TokenUse])  # of the replies whose use the service told
    violations: list[str] = field(default_factory=list[str])
    tags: tuple[str, ...] = ()

    @property
    def text(self) -> str | None:
        """What a person said; None for a client's event."""
        return self.turn.event.text if isinstance(self.turn.event, UserMessage) else None

    def decided(self) -> Decision:
        assert self.decision is not None, "the graph reached a node that needs a decision without one"
        return self.decision

    async def close_reply(self) -> None:
        if self.live is not None:
            live, self.live = self.live, None
            await live.aclose()
            if live.use:
                self.uses.append(live.use)

    def model_use(self) -> ModelUse | None:
        """What the turn took of its model, for the record."""
        if not self.model_calls:
            return None
        if len(self.uses) < self.model_calls:
            return ModelUse(name=self.model.name)
        return ModelUse(
            name=self.model.name,
            prompt_tokens=sum(use.prompt_tokens for use in self.uses),
            completion_tokens=sum(use.completion_tokens for use in self.uses),
        )
