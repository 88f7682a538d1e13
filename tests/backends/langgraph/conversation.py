"""Play a conversation with the LangGraph backend, carrying the committed state from turn to turn as the proxy does."""

import uuid
from dataclasses import replace
from typing import Any

from backends.langgraph.backend import LangGraphBackend
from domain.errors import FailureKind
from domain.events import event_from_text
from domain.outcome import Failed, Replied, ReplyEvent
from domain.session import Message, SessionState
from domain.turn import InputEvent, SetInfo, Turn
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.values import NOON, a_turn


class Conversation:
    """`state` is what the business row would hold after the last good turn."""

    def __init__(self, model: ScriptedModel | None = None, state: SessionState | None = None, **backend: Any) -> None:
        self.model = model or ScriptedModel()
        self.backend = LangGraphBackend(self.model, None, FixedClock(NOON), **backend)
        self.state = state or SessionState()
        self.events: list[ReplyEvent] = []

    async def say(self, text: str, *replies: str) -> Replied | Failed:
        self.model.then(*replies)
        return await self.send(a_turn(text, event_from_text(text), turn_id=str(uuid.uuid4())))

    async def write(self, key: str, value: object) -> Replied | Failed:
        return await self.send(a_turn("", SetInfo(key, value)))

    async def send(self, turn: Turn) -> Replied | Failed:
        self.events = [event async for event in self.backend.reply(turn, self.state)]
        end = self.events[-1]
        assert isinstance(end, Replied | Failed)
        if isinstance(end, Replied):
            assert end.outcome.reply is not None
            lines = (*end.after.transcript, Message("user", turn.text), Message("assistant", end.outcome.reply.text))
            self.state = SessionState(
                stage=end.after.stage,
                form=end.after.form,
                dialogue=replace(end.after.dialogue, invalid_turns=0),
                version=self.state.version + 1,
                transcript=lines,
            )
        elif end.outcome.failure and end.outcome.failure.kind in (FailureKind.MALFORMED, FailureKind.INVALID_STAGE):
            # As the store does it: counted from the failure rows since the last commit.
            self.state = self.state.with_dialogue(invalid_turns=self.state.dialogue.invalid_turns + 1)
        return end

    async def happen(self, event: InputEvent) -> Replied | Failed:
        return await self.send(a_turn("", event))
