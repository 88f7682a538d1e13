"""What holds of a whole turn whatever the model's stream looks like: the same reply at every cut, nothing said too early, calls counted,
and no number ever sent or stored."""

import json
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from backends.langgraph.accident.graph import build_graph
from backends.langgraph.accident.prompts import load_prompts
from backends.langgraph.engine import AccidentEngine
from domain.errors import BackendError, FailureKind
from domain.events import event_from_text
from domain.outcome import Failed, FormChanged, Outcome, Replied, ReplyEvent, StageDecided, TextPiece
from domain.session import SessionState
from domain.stages import StageCode
from domain.turn import InputEvent, NoResponse, PhotoCompleted, PhotoRecognitionFailed, SessionStarted, SetInfo
from tests.backends.langgraph.conversation import Conversation
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.values import NOON, a_state, a_turn

pytestmark = pytest.mark.graph

GRAPH = build_graph(None)
ASKING = a_state().with_dialogue(pending_question="YWRYSW")
SAID = "没有人受伤，我倒车撞的"
FORM = '<form>{"fields":{"sgyy":"倒车"},"safety":"none"}</form>'
REPLIES = [
    pytest.param((f"<state>1002</state>{FORM}好的，您还在现场吗？",), id="with a form"),
    pytest.param(("<state>1002</state>好的，您还在现场吗？",), id="without one"),
    pytest.param((f" \n```\n<state>1002</state>\n{FORM}\n\n 好的 ，\n您还在现场吗？ \n",), id="white space and a fence"),
    pytest.param((f"<state>1002</state>{FORM}好<state>0000</state>的，<form>{{}}</form>您还在吗？",), id="tags in the body"),
    pytest.param((f"<state>1002</state>{FORM}a < b <st <state>12</state>",), id="what looks like a tag and is none"),
    pytest.param((f"<state>1002</state>{FORM}",), id="no body"),
    pytest.param(("<state>1002</state>好<state>0000</state>的",), id="a body that code speaks instead of"),
    pytest.param((f"<state>0003</state>{FORM}正在为您转接",), id="a handoff"),
    pytest.param((f"<state>2000</state>{FORM}拍照吧", f"<state>1002</state>{FORM}您还在现场吗？"), id="the first answer is not allowed"),
    pytest.param(("没有标签的一句话", f"<state>1002</state>{FORM}您还在现场吗？"), id="the first answer has no head"),
    pytest.param(("<state>9999</state>x", "<state>0000</state>y"), id="neither answer can stand"),
]


async def told(replies: tuple[str, ...], cut: int | None) -> tuple[list[ReplyEvent], Outcome, SessionState | None]:
    """The turn with every reply cut in two at `cut`; None: whole, as a model that does not stream would send it."""
    model = ScriptedModel(replies, cut=lambda text: [text] if cut is None else [text[:cut], text[cut:]])
    engine = AccidentEngine(GRAPH, model, load_prompts(), FixedClock(NOON))
    turn = a_turn(SAID, event_from_text(SAID), turn_id="turn-1")
    events = [event async for event in engine.run(turn, ASKING)]
    end = events[-1]
    assert isinstance(end, Replied | Failed)
    return events[:-1], end.outcome, end.after if isinstance(end, Replied) else None


def heard(events: list[ReplyEvent]) -> tuple[list[ReplyEvent], str]:
    """What a caller makes of the stream: the events before the text, and the text put together. Nothing else may stand between."""
    first_text = next((number for number, event in enumerate(events) if isinstance(event, TextPiece)), len(events))
    assert all(isinstance(event, TextPiece) for event in events[first_text:])
    return events[:first_text], "".join(event.text for event in events[first_text:] if isinstance(event, TextPiece))


@pytest.mark.parametrize("replies", REPLIES)
async def test_the_stream_adds_up_to_the_whole_reply_at_every_cut(replies: tuple[str, ...]):
    events, whole, after = await told(replies, None)
    decided, text = heard(events)
    assert text == (whole.reply.text if whole.reply else "")
    for cut in range(max(map(len, replies)) + 1):
        cut_events, outcome, cut_after = await told(replies, cut)
        assert heard(cut_events) == (decided, text), cut
        assert (outcome.reply, outcome.failure, outcome.violations, outcome.model_calls) == (
            whole.reply, whole.failure, whole.violations, whole.model_calls,
        ), cut  # fmt: skip
        assert cut_after == after, cut


@pytest.mark.parametrize("replies", REPLIES)
async def test_stage_then_fields_then_text(replies: tuple[str, ...]):
    events, outcome, _ = await told(replies, None)
    kinds = [type(event) for event in heard(events)[0]]
    assert kinds == ([] if outcome.reply is None else [StageDecided, FormChanged] if outcome.reply.patch else [StageDecided])


async def test_nothing_of_an_answer_that_is_not_allowed_is_ever_said():
    for cut in range(80):
        events, _, _ = await told((f"<state>2000</state>{FORM}现在拍照", f"<state>1002</state>{FORM}您还在现场吗？"), cut)
        assert events[0] == StageDecided(StageCode.COLLECTING)
        assert heard(events)[1] == "您还在现场吗？"


# --- calls --------------------------------------------------------------------------------------------------------------------------------

EVENTS: list[InputEvent] = [SessionStarted(), NoResponse(), PhotoCompleted(None), PhotoRecognitionFailed(None, "模糊"), SetInfo("jdcsl", 2)]
OPEN = [None, *(code for code in StageCode if code.value >= "1000"), StageCode.COMPLETED, StageCode.HANDOFF_COMPLEX]


@pytest.mark.parametrize("stage", OPEN)
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
async def test_an_event_never_asks_the_model(event: InputEvent, stage: StageCode | None):
    conversation = Conversation(state=SessionState() if stage is None else a_state(stage, ywrysw=False))
    end = await conversation.happen(event)
    assert isinstance(end, Replied)
    assert end.outcome.model_calls == 0
    assert conversation.model.sent == []


@pytest.mark.parametrize(
    ("replies", "calls"),
    [
        (("<state>1002</state>好的",), 1),
        (("没有标签", "<state>1002</state>好的"), 2),
        (("<state>2000</state>拍照", "<state>1002</state>好的"), 2),
        (("没有标签", "还是没有", "<state>1002</state>好的"), 2),
        (("<state>9999</state>x", "<state>9999</state>x", "<state>1002</state>好的"), 2),
        ((BackendError(FailureKind.TIMEOUT, "model"), "<state>1002</state>好的"), 1),
        (("没有标签", BackendError(FailureKind.INTERRUPTED, "model"), "<state>1002</state>好的"), 2),
    ],
)
async def test_one_call_and_at_most_one_controlled_retry(replies: tuple[Any, ...], calls: int):
    conversation = Conversation(ScriptedModel(replies), ASKING)
    end = await conversation.say("我倒车撞的")
    assert end.outcome.model_calls == calls == len(conversation.model.sent)


@pytest.mark.parametrize("text", ["转人工", "有人流血了", "车着火了"])
async def test_code_alone_hands_over(text: str):
    conversation = Conversation(state=ASKING)
    end = await conversation.say(text)
    assert end.outcome.model_calls == 0
    assert isinstance(end, Replied)
    assert end.after.is_terminal


# --- personal data ------------------------------------------------------------------------------------------------------------------------

NAME, PLATE, IDENTITY, PHONE = "欧阳建国", "京A12345", "11010519491231002X", "13800138000"
NUMBERS = (PLATE, "A12345", IDENTITY, "110105194912310", "002X", PHONE, "138001", "38000")
PIECES = ("一三八", "0013", "八零零零")  # of which a prompt holds none; a checkpoint's counters may look like one
PRIVATE: list[str] = [
    NAME,
    "对",
    f"车牌是{PLATE}",
    "京 A · 1 2 3 4 5",
    "对，蓝牌",
    f"我的身份证{IDENTITY}",
    "一一零一零五，一九四九一二三一，零零二叉",
    "对",
    "手机一三八",
    "0013",
    "八零零零",
    f"{PHONE}，{PHONE}",
    "对",
    f"都对，{NAME} {PLATE} {IDENTITY} {PHONE}",
]


async def test_neither_model_nor_checkpoint_ever_gets_a_number():
    """A party is verified by everything a caller may say; the whole store and every prompt are looked through after each turn."""
    saver = InMemorySaver()
    model = ScriptedModel()
    engine = AccidentEngine(build_graph(saver), model, load_prompts(), FixedClock(NOON))
    conversation = Conversation(model, a_state(StageCode.VERIFY_PARTY_1, ywrysw=False, jdcsl=1).with_dialogue(pending_question="XM_1"))
    conversation.backend._engine = engine  # pyright: ignore[reportPrivateUsage]  # the same conversation over a saver that can be looked into
    for text in PRIVATE:
        model.replies = ["<state>3001</state>好的，请继续。", "<state>3001</state>好的。"]
        await conversation.say(text)
        stored = repr((dict(saver.storage), saver.writes, saver.blobs))
        prompts = json.dumps(model.sent, ensure_ascii=False)
        for number in NUMBERS:
            assert number not in prompts, (text, number)
            assert number not in stored, (text, number)
        for piece in PIECES:
            assert piece not in prompts, (text, piece)
        assert NAME not in stored
    assert conversation.state.form.get("sjhm1") == PHONE  # and yet all of it was understood
    assert conversation.state.form.get("sfzmhm1") == IDENTITY
    assert conversation.state.form.get("hphm1") == PLATE
