"""The golden conversations through the real compiled graph, with a model that says what each turn scripts. Over HTTP: tests/golden."""

from typing import Any

import pytest
import yaml

from domain.errors import FailureKind
from domain.outcome import Failed, FormChanged, Replied, StageDecided, TextPiece
from domain.session import SessionState
from domain.transitions import edges_between
from tests.backends.langgraph.conversation import Conversation
from tests.golden.scenarios import Play, Step, plays

pytestmark = pytest.mark.graph


@pytest.mark.parametrize("play", plays(), ids=lambda play: play.name)
async def test_conversation_goes_as_written(play: Play):
    conversation = Conversation()
    for step in play.steps:
        await _take(conversation, step)


async def _take(conversation: Conversation, step: Step) -> None:
    before, calls = conversation.state, len(conversation.model.sent)
    if step.write:
        end = await conversation.write(step.write.key, yaml.safe_load(step.write.value))
    else:
        end = await conversation.say(step.said, *step.replies)
    assert len(conversation.model.sent) - calls == len(step.replies)
    _check_end(step, end, conversation.state)
    if isinstance(end, Replied):
        _check_events(conversation, before, end, is_write=step.write is not None)


def _check_end(step: Step, end: Replied | Failed, state: SessionState) -> None:
    assert state.stage == step.stage
    if step.error:
        assert isinstance(end, Failed)
        assert end.outcome.failure is not None
        assert end.outcome.failure.kind is FailureKind.INVALID_STAGE
        return
    assert isinstance(end, Replied), end
    assert end.outcome.reply is not None
    assert list(end.outcome.reply.patch.items()) == list(step.patch.items())
    if step.asks:
        assert end.after.dialogue.pending_question == step.asks
    if step.reason:
        assert end.after.dialogue.handoff_reason == step.reason
        assert end.outcome.reply.handoff_reason == step.reason
    if step.secondary:
        assert list(end.after.dialogue.secondary_reasons) == list(step.secondary)
    if step.rejected:
        assert "prefix:illegal" in end.outcome.violations
    assert step.tells in end.outcome.reply.text


def _check_events(conversation: Conversation, before: SessionState, end: Replied, *, is_write: bool) -> None:
    """Stage, fields, text, end: in this order; their sum is the reply; the step is an edge of the table."""
    assert end.outcome.reply is not None
    kinds: list[Any] = [type(event) for event in conversation.events]
    has_patch = bool(end.outcome.reply.patch)
    texts = kinds.count(TextPiece)
    assert kinds == [StageDecided, *[FormChanged] * has_patch, *[TextPiece] * texts, Replied]
    assert is_write or texts >= 1
    assert "".join(event.text for event in conversation.events if isinstance(event, TextPiece)) == end.outcome.reply.text
    assert conversation.events[0] == StageDecided(end.outcome.reply.stage)
    assert end.after.stage is not None
    assert edges_between(before.stage, end.after.stage)
