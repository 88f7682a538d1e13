"""One turn as a task: what is sent, when it is sent, what a failure becomes, and that leaving early leaves nothing."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest

from backends.langgraph.backend import LangGraphBackend
from domain.errors import BackendError, FailureKind
from domain.events import event_from_text
from domain.outcome import Failed, Replied, StageDecided, TextPiece
from domain.session import SessionState
from domain.stages import StageCode
from tests.backends.langgraph.conversation import Conversation
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_model import ScriptedModel, StuckModel
from tests.fakes.values import NOON, a_turn

pytestmark = pytest.mark.graph

ASKING = SessionState(stage=StageCode.COLLECTING).with_dialogue(pending_question="YWRYSW")
REPLY = '<state>1002</state><form>{"fields":{"sgyy":"倒车"},"safety":"none"}</form>好的，您还在现场吗？'
SAID = "没有人受伤，我倒车撞的"


@pytest.mark.parametrize("cut", range(len(REPLY) + 1))
async def test_events_add_up_to_the_same_reply_wherever_the_model_is_cut(cut: int):
    conversation = Conversation(ScriptedModel(cut=lambda text: [text[:cut], text[cut:]]), ASKING)
    end = await conversation.say(SAID, REPLY)
    assert isinstance(end, Replied)
    assert end.outcome.reply is not None
    assert end.outcome.reply.text == "好的，您还在现场吗？"
    assert end.outcome.reply.patch == {"ywrysw": False, "sgyy": "倒车"}
    assert end.outcome.reply.stage is StageCode.COLLECTING


async def test_text_is_passed_on_piece_by_piece():
    conversation = Conversation(ScriptedModel(cut=list), ASKING)
    await conversation.say(SAID, REPLY)
    assert [event.text for event in conversation.events if isinstance(event, TextPiece)] == list("好的，您还在现场吗？")


async def test_stage_is_sent_before_the_model_has_finished():
    model = StuckModel("<state>1002</state>好")
    backend = LangGraphBackend(model, None, FixedClock(NOON))
    events = backend.reply(a_turn("没有人受伤"), ASKING)
    assert await anext(events) == StageDecided(StageCode.COLLECTING)
    await events.aclose()


async def test_leaving_while_the_model_thinks_leaves_no_task_and_no_request():
    model = StuckModel()
    backend = LangGraphBackend(model, None, FixedClock(NOON))
    before = asyncio.all_tasks()
    reader = asyncio.create_task(_read_all(backend))
    await model.is_stuck.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert asyncio.all_tasks() == before
    assert model.closed == 1


async def _read_all(backend: LangGraphBackend) -> None:
    async for _ in backend.reply(a_turn("好了"), SessionState()):
        pass


async def test_closing_the_iterator_in_the_middle_of_the_text_ends_the_turn():
    model = StuckModel("<state>1002</state>好")
    backend = LangGraphBackend(model, None, FixedClock(NOON))
    before = asyncio.all_tasks()
    events = backend.reply(a_turn("没有人受伤"), ASKING)
    async for event in events:
        if isinstance(event, TextPiece):
            break
    await events.aclose()
    assert asyncio.all_tasks() == before
    assert model.closed == 1


async def test_closing_the_backend_ends_turns_that_nobody_closed():
    model = StuckModel()
    backend = LangGraphBackend(model, None, FixedClock(NOON))
    events = backend.reply(a_turn("好了"), SessionState())
    waiting = asyncio.create_task(anext(events))
    await model.is_stuck.wait()
    await backend.aclose()
    assert model.closed == 1
    assert isinstance(await waiting, Failed)


@pytest.mark.parametrize("kind", [FailureKind.TIMEOUT, FailureKind.UNREACHABLE, FailureKind.REFUSED, FailureKind.CONFIGURATION])
async def test_model_failure_is_the_failure_of_the_turn_and_is_not_retried(kind: FailureKind):
    conversation = Conversation(ScriptedModel([BackendError(kind, "model")]), ASKING)
    end = await conversation.say("我倒车撞的")
    assert isinstance(end, Failed)
    assert end.outcome.failure is not None
    assert end.outcome.failure.kind is kind
    assert end.outcome.model_calls == 1
    assert conversation.state == ASKING


async def test_a_model_that_says_nothing_is_empty():
    conversation = Conversation(ScriptedModel(), ASKING)
    end = await conversation.say("我倒车撞的", "")
    assert isinstance(end, Failed)
    assert end.outcome.failure is not None
    assert end.outcome.failure.kind is FailureKind.EMPTY


async def test_a_cancellation_from_inside_the_graph_is_a_failure_not_silence():
    class Cancelling:
        checkpointer = None

        async def astream(self, *_: Any, **__: Any) -> AsyncGenerator[None]:
            raise asyncio.CancelledError
            yield

    conversation = Conversation(ScriptedModel(), ASKING)
    conversation.backend._engine._graph = Cancelling()  # pyright: ignore  # stands in for the library's own race
    end = await conversation.say("我倒车撞的")
    assert isinstance(end, Failed)
    assert end.outcome.failure is not None
    assert end.outcome.failure.kind is FailureKind.INTERNAL
    assert end.outcome.failure.note == "the graph was cancelled from inside"


async def test_an_unusable_reply_is_asked_for_once_more_with_a_note():
    conversation = Conversation(ScriptedModel(), ASKING)
    end = await conversation.say("没有人受伤", "没有标签", "<state>1002</state>您还在现场吗？")
    assert isinstance(end, Replied)
    assert end.outcome.model_calls == 2
    assert end.outcome.violations == ("prefix:missing",)
    assert "retry_note" not in conversation.model.sent[0][1]["content"]
    assert "retry_note" in conversation.model.sent[1][1]["content"]
    assert conversation.model.closed == 2


@pytest.mark.parametrize(
    "replies, kind",
    [
        (("没有标签", "还是没有"), FailureKind.MALFORMED),
        (("<state>12</state>x", "<state>1002"), FailureKind.MALFORMED),
        (("<state>1002</state><state>1002</state>x",) * 2, FailureKind.MALFORMED),
        (("<state>9999</state>x",) * 2, FailureKind.INVALID_STAGE),
        (("<state>3002</state>x",) * 2, FailureKind.INVALID_STAGE),
        (("<state>2000</state>x",) * 2, FailureKind.INVALID_STAGE),
        (("<state>0000</state>x",) * 2, FailureKind.INVALID_STAGE),
    ],
)
async def test_two_unusable_replies_fail_the_turn_and_move_nothing(replies: tuple[str, str], kind: FailureKind):
    conversation = Conversation(ScriptedModel(), ASKING)
    end = await conversation.say("没有人受伤", *replies)
    assert isinstance(end, Failed)
    assert end.outcome.failure is not None
    assert end.outcome.failure.kind is kind
    assert "prefix:exhausted" in end.outcome.violations
    assert conversation.state == ASKING.with_dialogue(invalid_turns=1)
    assert [type(event) for event in conversation.events] == [Failed]


async def test_policy_handoff_hands_over_at_the_first_unusable_turn():
    conversation = Conversation(ScriptedModel(), ASKING, on_invalid="handoff")
    end = await conversation.say("没有人受伤", "x", "x")
    assert isinstance(end, Replied)
    assert end.after.stage is StageCode.HANDOFF_UNCLEAR


async def test_policy_error_never_hands_over():
    conversation = Conversation(ScriptedModel(), ASKING, on_invalid="error")
    for _ in range(3):
        assert isinstance(await conversation.say("没有人受伤", "x", "x"), Failed)


async def test_a_good_turn_forgets_an_unusable_one():
    conversation = Conversation(ScriptedModel(), ASKING)
    assert isinstance(await conversation.say("没有人受伤", "x", "x"), Failed)
    assert isinstance(await conversation.say("没有人受伤", "<state>1002</state>还在现场吗？"), Replied)
    assert isinstance(await conversation.say("在", "x", "x"), Failed)


async def test_an_empty_body_is_filled_with_the_fixed_text():
    conversation = Conversation(ScriptedModel(), ASKING)
    end = await conversation.say("没有人受伤", "<state>1002</state>")
    assert isinstance(end, Replied)
    assert end.outcome.reply is not None
    assert end.outcome.reply.text == "请问您现在还在事故现场吗？"
    assert "empty_body" in end.outcome.violations


async def test_a_tag_inside_the_body_is_taken_out_and_counted():
    end = await Conversation(ScriptedModel(), ASKING).say("没有人受伤", "<state>1002</state>好<state>0000</state>的")
    assert isinstance(end, Replied)
    assert end.outcome.reply is not None
    assert end.outcome.reply.text == "好的"
    assert "prefix:duplicate_late" in end.outcome.violations


async def test_receipt_names_the_turn_and_the_exact_wording():
    turn = a_turn("喂", event_from_text("【会话开始】"))
    backend = LangGraphBackend(ScriptedModel(), None, FixedClock(NOON), build="r7")
    *_, end = [event async for event in backend.reply(turn, SessionState())]
    assert isinstance(end, Replied)
    assert end.outcome.receipt is not None
    assert end.outcome.receipt.turn_id == turn.turn_id
    assert end.outcome.receipt.build.startswith("r7+accident-1+")


async def test_times_are_measured_from_the_start_of_the_turn():
    end = await Conversation(ScriptedModel(), ASKING).say("没有人受伤", "<state>1002</state>好")
    assert end.outcome.first_text_ms is not None
    assert 0 < end.outcome.first_text_ms < end.outcome.total_ms


async def test_turns_of_two_sessions_run_side_by_side():
    model = StuckModel()
    backend = LangGraphBackend(model, None, FixedClock(NOON))
    stuck = backend.reply(a_turn("好了"), SessionState())
    waiting = asyncio.create_task(anext(stuck))
    await model.is_stuck.wait()
    other = replace(a_turn("", event_from_text("【会话开始】")), session_id="S-2")
    *_, end = [event async for event in backend.reply(other, SessionState())]
    assert isinstance(end, Replied)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
