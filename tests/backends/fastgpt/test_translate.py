"""The meaning of single events and of their order: tags, text, interactive nodes, form changes, failures."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from backends.fastgpt import translate
from backends.fastgpt.translate import FastGptReply, has_failed
from contract.sse import ServerSentEvent
from domain.errors import BackendError, FailureKind
from domain.handoff_reason import HandoffReason
from domain.outcome import FormChanged, StageDecided, TextPiece
from domain.session import SessionState
from domain.stages import StageCode

pytestmark = pytest.mark.unit

Event = ServerSentEvent


def event(name: str | None, payload: object) -> Event:
    return Event(name, json.dumps(payload, ensure_ascii=False))


def chunk(delta: object, finish_reason: str | None = None, name: str | None = "answer") -> Event:
    return event(name, {"id": "", "choices": [{"delta": delta, "index": 0, "finish_reason": finish_reason}]})


def say(text: str, name: str | None = "answer") -> Event:
    return chunk({"role": "assistant", "content": text}, name=name)


STOP = chunk({"role": "assistant", "content": None}, "stop")
TAG = say("<state>1002</state>")
DONE = Event("answer", "[DONE]")


@pytest.fixture
def play(make_config: Callable[..., Any], session: SessionState, now: Any) -> Callable[..., Any]:
    def play_events(*events: Event, session: SessionState = session, **changes: Any) -> Any:
        """The parts, and the finished reply."""
        reply = FastGptReply(make_config(**changes), session, now)
        parts: list[Any] = []
        for one in events:
            parts.extend(reply.feed(one))
        finished = reply.finish()
        return [*parts, *finished.rest], finished

    return play_events


@pytest.fixture
def failure_of(play: Callable[..., Any]) -> Callable[..., tuple[FailureKind, str]]:
    def fail(*events: Event, **changes: Any) -> tuple[FailureKind, str]:
        with pytest.raises(BackendError) as caught:
            play(*events, **changes)
        return caught.value.failure.kind, caught.value.failure.note

    return fail


def test_stage_text_and_stop_make_a_reply(play: Callable[..., Any]) -> None:
    parts, finished = play(say("\n<state>1002</state>"), say("请问？"), STOP)
    assert parts == [StageDecided(StageCode.COLLECTING), TextPiece("请问？")]
    assert (finished.reply.stage, finished.reply.text, finished.reply.patch) == ("1002", "请问？", {})
    assert finished.violations == ()


@pytest.mark.parametrize(
    "noise",
    [
        say(""),
        chunk({"role": "assistant", "content": None}),
        chunk({}),
        chunk(None),
        chunk({"role": "assistant", "reasoning_content": "<state>2001</state>想"}),
        event("answer", {"choices": []}),
        event("answer", {"choices": [None]}),
        event("answer", [1]),
        event(None, {"durationSeconds": 2.31}),
        event("workflowDuration", {"durationSeconds": 2.31}),
        Event("flowNodeStatus", "not even JSON"),
        event("chatTitle", {"title": "<state>1001</state>"}),
        event("somethingNew", {"choices": [{"delta": {"content": "x"}}]}),
        event("toolCall", {"tool": {}}),
        DONE,
    ],
)
def test_what_says_nothing_changes_nothing(noise: Event, play: Callable[..., Any]) -> None:
    quiet, _ = play(TAG, say("好"), STOP)
    assert play(noise, TAG, noise, say("好"), noise, STOP, noise)[0] == quiet


@pytest.mark.parametrize("name", ["answer", "fastAnswer", None])
def test_all_three_kinds_of_answer_event_are_read(name: str | None, play: Callable[..., Any]) -> None:
    _, finished = play(say("<state>1002</state>好", name), STOP)
    assert finished.reply.text == "好"


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": {"content": "<state>1002</state>好"}}],
        [{"type": "reasoning", "reasoning": {"content": "想"}}, {"text": "<state>1002</state>"}, {"text": {"content": "好"}}, None, "x"],
    ],
)
def test_content_as_an_array_gives_its_texts(content: object, play: Callable[..., Any]) -> None:
    _, finished = play(chunk({"content": content}), STOP)
    assert finished.reply.text == "好"


def test_a_stop_without_done_is_an_end_and_done_without_a_stop_is_none(play: Callable[..., Any], failure_of: Callable[..., Any]) -> None:
    assert play(TAG, say("好"), chunk({}, "stop"))[1].reply.text == "好"
    assert failure_of(TAG, say("好"), DONE) == (FailureKind.INTERRUPTED, "no_stop")


@pytest.mark.parametrize(
    "events, failure",
    [
        ((STOP,), (FailureKind.EMPTY, "")),
        ((TAG, STOP), (FailureKind.EMPTY, "")),
        ((TAG, say(" \n"), STOP), (FailureKind.EMPTY, "")),
        ((say("您好"), STOP), (FailureKind.MALFORMED, "missing")),
        ((say("<state>1002</sta"), STOP), (FailureKind.MALFORMED, "malformed")),
        ((say("<state>9999</state>好"), STOP), (FailureKind.INVALID_STAGE, "9999")),
        ((Event("answer", '{"choices"'),), (FailureKind.MALFORMED, "not_json")),
        ((event("updateVariables", [1]),), (FailureKind.MALFORMED, "not_an_object")),
        ((TAG, say("好"), event("error", {"message": "boom"})), (FailureKind.REFUSED, "unnamed")),
        ((event("error", {"code": 514, "statusText": "unAuthApiKey"}),), (FailureKind.CONFIGURATION, "unAuthApiKey")),
        ((TAG, say("好"), event("interactive", {"interactive": {"type": "paymentPause"}}), STOP), (FailureKind.REFUSED, "paymentPause")),
    ],
)
def test_an_answer_that_can_not_be_served_says_why(events: tuple[Event, ...], failure: object, failure_of: Callable[..., Any]) -> None:
    assert failure_of(*events) == failure


def test_an_error_after_the_stop_still_fails_the_turn(failure_of: Callable[..., Any]) -> None:
    assert failure_of(TAG, say("好"), STOP, event("error", {"message": "boom"})) == (FailureKind.REFUSED, "unnamed")


def test_the_first_tag_wins_and_later_ones_leave_the_text(play: Callable[..., Any]) -> None:
    parts, finished = play(say("<state>1002</state><state>1001</state>一"), say("<state>20"), say("01</state>二"), STOP)
    assert [part for part in parts if isinstance(part, StageDecided)] == [StageDecided(StageCode.COLLECTING)]
    assert finished.reply.text == "一二"
    assert finished.violations == ("duplicate", "duplicate_late")


@pytest.mark.parametrize(
    "before, after, violations",
    [
        (StageCode.COLLECTING, "1002", ()),
        (StageCode.COLLECTING, "0003", ()),
        (None, "1001", ()),
        (StageCode.COLLECTING, "3001", ("illegal_transition:1002->3001",)),
        (None, "3002", ("illegal_transition:none->3002",)),
        (StageCode.COMPLETED, "1002", ("illegal_transition:0000->1002",)),
    ],
)
def test_a_forbidden_move_is_served_and_reported(
    before: StageCode | None, after: str, violations: tuple[str, ...], play: Callable[..., Any]
) -> None:
    _, finished = play(say(f"<state>{after}</state>好"), STOP, session=SessionState(stage=before))
    assert finished.reply.stage == after
    assert finished.violations == violations


VARIABLES = event("updateVariables", {"plateNo": "京A12345"})
RECORDS = [{"moduleType": "contentExtract", "model": "m", "extractResult": {"plateNo": "京A12345", "accidentType": "追尾"}}]


def test_a_form_known_before_the_text_comes_right_after_the_stage(play: Callable[..., Any]) -> None:
    parts, _ = play(VARIABLES, TAG, say("一"), say("二"), STOP)
    assert parts == [StageDecided(StageCode.COLLECTING), FormChanged({"hphm1": "京A12345"}), TextPiece("一"), TextPiece("二")]


def test_a_form_known_later_comes_at_the_end_with_all_its_fields(play: Callable[..., Any]) -> None:
    parts, finished = play(TAG, say("一"), VARIABLES, say("二"), STOP, event("flowResponses", RECORDS))
    assert parts[1:3] == [TextPiece("一"), TextPiece("二")]
    assert parts[3:] == [FormChanged({"sgyy": "追尾", "hphm1": "京A12345"})]
    assert finished.violations == ()
    assert finished.model_calls == 1


def test_a_field_learnt_after_the_form_was_told_is_kept_for_the_form_and_reported(play: Callable[..., Any]) -> None:
    parts, finished = play(
        VARIABLES, TAG, say("一"), event("updateVariables", {"plateNo": "京B67890"}), STOP, event("flowResponses", RECORDS)
    )
    assert [part for part in parts if isinstance(part, FormChanged)] == [FormChanged({"hphm1": "京A12345"})]
    assert finished.reply.patch == {"hphm1": "京A12345"}
    assert finished.late == {"sgyy": "追尾", "hphm1": "京B67890"}
    assert set(finished.violations) == {"late_field:hphm1", "late_field:sgyy"}


HIGH, LOW = "\\ud83d", "\\ude97"  # the two halves of 🚗, as JavaScript escapes them when they stand alone


def raw_say(content: str) -> Event:
    return Event("answer", '{"choices":[{"delta":{"content":"' + content + '"}}]}')


@pytest.mark.parametrize(
    "pieces, text",
    [
        ((f"车{HIGH}", f"{LOW}来"), "车🚗来"),
        ((HIGH, "", LOW), "🚗"),
        ((f"车{HIGH}", "来"), "车来"),
        ((f"{LOW}来",), "来"),
        ((f"来{HIGH}",), "来"),
        ((f"{HIGH}{LOW}{HIGH}", LOW), "🚗🚗"),
    ],
)
def test_a_character_cut_in_two_is_joined_and_a_lost_half_costs_no_turn(
    pieces: tuple[str, ...], text: str, play: Callable[..., Any]
) -> None:
    _, finished = play(TAG, *map(raw_say, pieces), STOP)
    assert finished.reply.text == text


def test_half_a_character_in_a_node_record_or_a_variable_costs_no_turn(play: Callable[..., Any]) -> None:
    rows = Event("flowResponses", f'[{{"textOutput":"{HIGH}","extractResult":{{"plateNo":"京A12345{HIGH}"}}}}]')
    _, finished = play(TAG, say("一"), STOP, rows)
    assert finished.reply.patch == {"hphm1": "京A12345"}


def test_node_results_that_come_as_they_happen_are_in_time(play: Callable[..., Any]) -> None:
    parts, finished = play(event("flowNodeResponse", RECORDS[0]), TAG, say("一"), STOP)
    assert parts[1] == FormChanged({"sgyy": "追尾", "hphm1": "京A12345"})
    assert finished.violations == ()


def test_a_form_that_says_nothing_new_is_not_told(play: Callable[..., Any], session: SessionState) -> None:
    known = replace(session, form={"hphm1": "京A12345"})
    parts, finished = play(VARIABLES, TAG, say("一"), STOP, session=known)
    assert not any(isinstance(part, FormChanged) for part in parts)
    assert finished.reply.patch == {}


@pytest.mark.parametrize("rows", [RECORDS, {"0": RECORDS[0], "responseValueId": "x"}])
def test_node_records_are_read_as_a_list_and_as_an_object_with_digit_keys(rows: object, play: Callable[..., Any]) -> None:
    parts, _ = play(TAG, say("一"), STOP, event("flowResponses", rows))
    assert parts[-1] == FormChanged({"sgyy": "追尾", "hphm1": "京A12345"})


@pytest.mark.parametrize("rows", [None, "x", [None, 1, "x"], {"a": {}}])
def test_node_records_of_another_shape_are_passed_over(rows: object, play: Callable[..., Any]) -> None:
    assert play(TAG, say("一"), STOP, event("flowResponses", rows))[1].violations == ()


FAILED_NODE = event("flowResponses", [{"moduleType": "chatNode", "errorText": "401"}])


def test_a_failed_node_fails_an_answer_without_words_and_marks_one_with_words(
    play: Callable[..., Any], failure_of: Callable[..., Any]
) -> None:
    node_failed = (FailureKind.NODE_FAILED, "")
    assert failure_of(STOP, FAILED_NODE) == node_failed
    assert failure_of(TAG, STOP, FAILED_NODE) == node_failed
    assert failure_of(say("<state>1002</sta"), STOP, FAILED_NODE) == node_failed
    assert play(TAG, say("好"), STOP, FAILED_NODE)[1].violations == ("node_failed",)


@pytest.mark.parametrize(
    "record, failed",
    [
        ({}, False),
        ({"error": {"message": "x"}}, True),
        ({"error": "x"}, True),
        ({"errorText": "x"}, True),
        ({"httpErrorResult": {"message": "x"}}, True),
        ({"httpResult": {"error": {"message": "x"}}}, True),
        ({"httpResult": {"error": None, "data": 1}}, False),
        ({"httpResult": "error"}, False),
        ({"error": "x", "errorText": "x", "errorCaptured": True}, False),
    ],
)
def test_a_failed_node_is_recognised_in_every_release(record: dict[str, Any], failed: bool) -> None:
    assert has_failed(record) is failed


def test_a_node_that_failed_inside_another_counts(play: Callable[..., Any]) -> None:
    nested = event("flowResponses", [{"moduleType": "pluginModule", "pluginDetail": [{"error": "x"}]}])
    assert play(TAG, say("好"), STOP, nested)[1].violations == ("node_failed",)


def question(description: object, **around: object) -> Event:
    node: dict[str, object] = {"type": "userSelect", "params": {"description": description, "userSelectOptions": []}}
    for kind in around.values():
        node = {"type": kind, "params": {"childrenResponse": node}}
    return event("interactive", {"interactive": node | {"nodeOutputs": [{"value": "private"}]}})


@pytest.mark.parametrize("asked", [question("有人受伤吗？"), question("有人受伤吗？", a="childrenInteractive", b="loopInteractive")])
def test_the_question_of_a_waiting_node_follows_on_a_line_of_its_own(asked: Event, play: Callable[..., Any]) -> None:
    _, finished = play(TAG, say("请确认。"), asked, STOP)
    assert finished.reply.text == "请确认。\n有人受伤吗？"
    assert finished.violations == ("interactive",)


@pytest.mark.parametrize(
    "asked", [question(None), question(""), event("interactive", {}), event("interactive", {"interactive": {"params": 1}})]
)
def test_a_waiting_node_without_a_question_adds_no_text(asked: Event, play: Callable[..., Any]) -> None:
    _, finished = play(TAG, say("请确认。"), asked, STOP)
    assert (finished.reply.text, finished.violations) == ("请确认。", ("interactive",))


def test_a_question_alone_has_no_stage_and_is_no_reply(failure_of: Callable[..., Any]) -> None:
    assert failure_of(question("请补充"), STOP) == (FailureKind.MALFORMED, "missing")


@pytest.mark.parametrize(
    "stage, variables, known, reason",
    [
        ("0001", {}, {}, HandoffReason.EXPLICIT_REQUEST),
        ("0003", {}, {}, HandoffReason.OTHER_COMPLEX),
        ("0003", {"injured": "有"}, {}, HandoffReason.INJURY),
        ("0003", {}, {"ywrysw": True}, HandoffReason.INJURY),
        ("0003", {"injured": "无"}, {"ywrysw": True}, HandoffReason.OTHER_COMPLEX),
        ("0001", {"injured": "有"}, {}, HandoffReason.EXPLICIT_REQUEST),
        ("1002", {"injured": "有"}, {}, None),
    ],
)
def test_the_reason_of_a_handoff_is_told_from_stage_and_form(
    stage: str, variables: Any, known: Any, reason: HandoffReason | None, play: Callable[..., Any], session: SessionState
) -> None:
    _, finished = play(event("updateVariables", variables), say(f"<state>{stage}</state>好"), STOP, session=replace(session, form=known))
    assert finished.reply.handoff_reason is reason


@pytest.mark.parametrize(
    "text, is_twice",
    [
        ("请问车牌号是多少？请问车牌号是多少？", True),
        ("请问车牌号是多少？\n请问车牌号是多少？", True),
        ("请问车牌号是多少？<state>1002</state>\n请问车牌号是多少？", True),
        ("请问车牌号是多少？请问姓名怎么称呼？", False),
        ("好的好的", False),
    ],
)
def test_an_answer_said_twice_is_served_whole_and_reported(text: str, is_twice: bool, play: Callable[..., Any]) -> None:
    _, finished = play(TAG, say(text), STOP)
    assert finished.reply.text == text.replace("<state>1002</state>", "")
    assert ("answer_said_twice" in finished.violations) is is_twice


def test_a_late_injury_is_the_reason_of_its_handoff(play: Callable[..., Any]) -> None:
    rows = [{"extractResult": {"injured": True}}]
    _, finished = play(VARIABLES, say("<state>0003</state>转人工"), STOP, event("flowResponses", rows))
    assert finished.late == {"ywrysw": True}
    assert finished.reply.handoff_reason is HandoffReason.INJURY


def test_an_answer_without_end_is_cut(make_config: Callable[..., Any], session: Any, now: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translate, "MAX_ANSWER_CHARS", 100)
    reply = FastGptReply(make_config(), session, now)
    piece = ServerSentEvent("answer", '{"choices":[{"delta":{"content":"<state>1002</state>好好好好好好好好好好好好好好好好好好好好"}}]}')
    reply.feed(piece)
    more = ServerSentEvent("answer", '{"choices":[{"delta":{"content":"好好好好好好好好好好好好好好好好好好好好"}}]}')
    for _ in range(3):
        reply.feed(more)
    with pytest.raises(BackendError) as caught:
        reply.feed(more)
    assert (caught.value.failure.kind, caught.value.failure.note) == (FailureKind.MALFORMED, "answer_without_end")


def test_a_known_variable_that_is_missing_from_the_set_clears_nothing_and_is_reported(make_config: Callable[..., Any], now: Any) -> None:
    known = SessionState(stage=StageCode.COLLECTING, form={"hphm1": "京A12345"}, version=3)
    seen: set[str] = set()

    def play(data: str) -> Any:
        reply = FastGptReply(make_config(), known, now, names_seen=seen)
        reply.feed(ServerSentEvent("updateVariables", data))
        for text in ('{"choices":[{"delta":{"content":"<state>1002</state>好"}}]}', '{"choices":[{"delta":{},"finish_reason":"stop"}]}'):
            reply.feed(ServerSentEvent("answer", text))
        return reply.finish()

    assert play('{"other":1}').violations == ()  # an app that never told the variable may not have it
    assert play('{"plateNo":"京A12345"}').violations == ()
    missing = play('{"other":1}')
    assert (missing.violations, dict(missing.reply.patch), dict(missing.late)) == (("erased_field:hphm1",), {}, {})
