"""A question of the upstream's own takes any next message as its answer: what it accepts is remembered, what it does not is named."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
import respx

from backends.fastgpt.waiting import Asked, asked_by, is_no_answer
from contract.sse import SseDecoder
from domain.outcome import Replied
from domain.session import Dialogue, SessionState
from tests.backends.fastgpt.test_backend import BODY, STOP, events_of, http, make_backend, upstream

pytestmark = pytest.mark.unit
__all__ = ["http", "make_backend", "upstream"]

ASKS = {
    "interactive": {
        "type": "userSelect",
        "params": {"description": "是否有人受伤？", "userSelectOptions": [{"key": "a", "value": "有"}, {"key": "b", "value": "没有"}]},
    }
}


@pytest.mark.parametrize(
    ("interactive", "asked"),
    [
        (ASKS["interactive"], Asked(options=("有", "没有"))),
        ({"type": "childrenInteractive", "params": {"childrenResponse": ASKS["interactive"]}}, Asked(options=("有", "没有"))),
        ({"type": "userInput", "params": {"description": "请填表", "inputForm": []}}, Asked(options=())),
        ({"type": "userSelect", "params": {"userSelectOptions": [{"value": 5}, "x", {"value": "好"}]}}, Asked(options=("好",))),
        ({"type": "userSelect"}, None),
        ("broken", None),
        (None, None),
    ],
)
def test_options_are_found_wherever_a_release_keeps_them(interactive, asked):
    assert asked_by(interactive) == asked


@pytest.mark.parametrize("era", ["4.9.0", "4.11.1", "4.16.0"])
def test_the_recorded_questions_name_their_options(era: str, recording: Callable[[str], Any]) -> None:
    decoder = SseDecoder()
    events = [*decoder.feed(recording(f"{era}/24-select-stream-detail-true-ask").body), *decoder.finish()]
    asked = asked_by(json.loads(next(event.data for event in events if event.name == "interactive"))["interactive"])
    assert asked is not None
    assert len(asked.options) >= 2


@pytest.mark.parametrize(
    ("options", "said", "is_none"),
    [((), "随便", False), (("有", "没有"), "有", False), (("有",), " 有 ", False), (("有",), "好像有", True)],
)
def test_what_is_no_option(options, said, is_none):
    assert is_no_answer(options, said) is is_none


async def test_a_question_is_remembered_and_the_next_message_uses_it_up(
    upstream: respx.Router, make_backend: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState
) -> None:
    head = 'event: answer\ndata: {"choices":[{"delta":{"content":"<state>1002</state>请确认。"}}]}\n\n'
    asks = f"{head}event: interactive\ndata: {json.dumps(ASKS)}\n\n".encode() + STOP
    route = upstream.post("/api/v1/chat/completions")
    route.mock(httpx.Response(200, content=asks))
    end = (await events_of(make_backend(), make_turn(), session))[-1]
    assert isinstance(end, Replied)
    assert end.after.dialogue.options == ("有", "没有")
    assert SessionState.from_json(end.after.as_json(), version=4).dialogue.options == ("有", "没有")

    route.mock(httpx.Response(200, content=BODY))
    for said, violations in (("没有", ()), ("不好说", ("answer_is_no_option",))):
        waiting = replace(session, dialogue=Dialogue(options=("有", "没有")))
        end = (await events_of(make_backend(), make_turn(said), waiting))[-1]
        assert isinstance(end, Replied)
        assert tuple(name for name in end.outcome.violations if name == "answer_is_no_option") == violations
        assert end.after.dialogue.options == ()
