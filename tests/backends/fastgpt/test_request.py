"""What goes upstream: live calls carry one message, shadow calls carry everything, and chat ids tell nobody anything."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.fastgpt.config import FastGptConfig
from backends.fastgpt.request import chat_id_of, china_time, live_request, shadow_request
from domain.session import Dialogue, Message, SessionState

pytestmark = pytest.mark.unit


@pytest.fixture
def known(session: SessionState) -> SessionState:
    return replace(
        session,
        form={"hphm1": "京A12345", "ywrysw": False, "sgyy": None},
        dialogue=Dialogue(pending_question="ASK_PLATE_1", no_response_count=2),
        transcript=(Message("user", "我追尾了"), Message("assistant", "请问车牌？")),
    )


def live(config: FastGptConfig, turn: Any, session: SessionState, fresh_id: str = "fresh") -> Any:
    return live_request(config, turn, session, fresh_id=fresh_id)


def test_a_live_call_in_step_carries_the_new_message_alone(
    make_config: Callable[..., Any], make_turn: Callable[..., Any], known: SessionState
) -> None:
    request = live(make_config(), make_turn("【用户无回复】"), replace(known, memory="cf-the-chat"))
    assert request.chat_id == "cf-the-chat"
    assert request.body == {
        "chatId": "cf-the-chat",
        "stream": True,
        "detail": True,
        "responseChatItemId": "turn-1",
        # A field that was cleared travels as an empty text; one that was never known does not travel.
        "variables": {"plateNo": "京A12345", "injured": False, "accidentType": ""},
        "messages": [{"dataId": "turn-1-q", "role": "user", "content": "【用户无回复】"}],
    }


def test_a_live_call_may_leave_the_form_to_the_upstream_and_add_what_is_configured(
    make_config: Callable[..., Any], make_turn: Callable[..., Any], known: SessionState
) -> None:
    in_step = replace(known, memory="cf-the-chat")
    assert "variables" not in live(make_config(resend_form="never"), make_turn(), in_step).body
    config = make_config(resend_form="never", extra={"channel": "app"}, send_now=True)
    assert live(config, make_turn(), in_step).body["variables"] == {"channel": "app", "now": "2026-07-27 15:30:00"}


def test_a_new_session_begins_in_the_chat_that_its_id_names(make_config: Callable[..., Any], make_turn: Callable[..., Any]) -> None:
    config, empty = make_config(), SessionState()
    first = live(config, make_turn(), empty)
    assert first.chat_id == chat_id_of(config, make_turn().tenant_id, make_turn().session_id)
    assert "variables" not in first.body
    assert live(config, make_turn(session_id="session-2"), empty).chat_id != first.chat_id
    assert live(config, make_turn(tenant_id="tenant-2"), empty).chat_id != first.chat_id


def test_a_session_out_of_step_goes_on_in_a_fresh_chat_that_is_told_everything(
    make_config: Callable[..., Any], make_turn: Callable[..., Any], known: SessionState
) -> None:
    """Served elsewhere since, or moved upstream by a turn that was never committed here."""
    config = make_config(pending_variables={"pending_question": "pending"})
    request = live(config, make_turn("好"), known, "f1")
    assert request.chat_id.endswith("-f1")
    assert request.body["variables"] == {
        "plateNo": "京A12345", "injured": False, "accidentType": "", "stage_code": "1002", "pending": "ASK_PLATE_1",
    }  # fmt: skip
    assert [message["content"] for message in request.body["messages"]] == ["我追尾了", "请问车牌？", "好"]


def test_a_first_turn_that_failed_is_tried_again_in_a_fresh_chat(make_config: Callable[..., Any], make_turn: Callable[..., Any]) -> None:
    config = make_config()
    again = live(config, make_turn(), SessionState(loose_turns=1), "f1")
    assert again.chat_id == f"{chat_id_of(config, make_turn().tenant_id, make_turn().session_id)}-f1"
    assert len(again.body["messages"]) == 1


@pytest.mark.parametrize("text", ["", "  ", "\u200b"])
def test_a_blank_opening_is_sent_as_its_event(make_config: Callable[..., Any], make_turn: Callable[..., Any], text: str) -> None:
    assert live(make_config(), make_turn(text), SessionState()).body["messages"][-1]["content"] == "【会话开始】"


def test_a_chat_id_can_not_be_worked_out_without_the_secret(make_config: Callable[..., Any]) -> None:
    here, there = chat_id_of(make_config(), "t", "s"), chat_id_of(make_config(chat_secret="another"), "t", "s")
    assert here != there
    assert here.startswith("cf-")
    assert len(here) == len("cf-") + 32


def test_where_tenant_ends_and_session_begins_is_part_of_the_id(make_config: Callable[..., Any]) -> None:
    config = make_config()
    assert chat_id_of(config, "a:b", "c") != chat_id_of(config, "a", "b:c")
    assert chat_id_of(config, "a%3Ab", "c") != chat_id_of(config, "a:b", "c")


def test_a_template_may_show_whose_chat_it_is(make_config: Callable[..., Any]) -> None:
    assert chat_id_of(make_config(chat_id_template="{tenant}-{digest}"), "t", "s").startswith("t-")


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(st.text("ab:%", max_size=4), st.text("ab:%", max_size=4)), st.tuples(st.text("ab:%", max_size=4), st.text("ab:%", max_size=4))
)
def test_no_two_sessions_share_a_chat(one: tuple[str, str], other: tuple[str, str]) -> None:
    config = FastGptConfig(base_url="http://x", api_key="k", chat_secret="s")
    assert (chat_id_of(config, *one) == chat_id_of(config, *other)) == (one == other)


def test_a_shadow_call_is_seeded_with_form_stage_clock_and_transcript(
    make_config: Callable[..., Any], make_turn: Callable[..., Any], known: SessionState
) -> None:
    config = make_config(pending_variables={"pending_question": "pending", "candidates": "candidate"}, extra={"channel": "app"})
    request = shadow_request(config, make_turn("没有人受伤"), known, fresh_id="f1")
    assert request.chat_id == "cf-shadow-f1"
    assert request.body["responseChatItemId"] == "f1"
    assert request.body["variables"] == {
        "channel": "app",
        "plateNo": "京A12345",
        "injured": False,
        "accidentType": "",
        "stage_code": "1002",
        "now": "2026-07-27 15:30:00",
        "pending": "ASK_PLATE_1",
    }
    assert request.body["messages"] == [
        {"role": "user", "content": "我追尾了"},
        {"role": "assistant", "content": "请问车牌？"},
        {"dataId": "f1-q", "role": "user", "content": "没有人受伤"},
    ]


def test_a_shadow_of_a_first_turn_names_no_stage(make_config: Callable[..., Any], make_turn: Callable[..., Any]) -> None:
    body = shadow_request(make_config(), make_turn(), SessionState(), fresh_id="f1").body
    assert body["variables"] == {"now": "2026-07-27 15:30:00"}
    assert len(body["messages"]) == 1


def test_a_shadow_chat_is_never_the_live_one(make_config: Callable[..., Any], make_turn: Callable[..., Any], session: SessionState) -> None:
    turn = make_turn(session_id="shadow-f1")
    assert shadow_request(make_config(), turn, session, fresh_id="f1").chat_id != live(make_config(), turn, session).chat_id


def test_time_is_told_as_it_is_in_shanghai(make_turn: Callable[..., Any]) -> None:
    assert china_time(make_turn().received_at) == "2026-07-27 15:30:00"
