"""One turn, from the open session to the commit: what a caller sees, what is stored, and what is not when something breaks."""

import asyncio
import json

import pytest

from domain.backend_name import BackendName
from domain.errors import FailureKind, SessionBusy, StoreUnavailable
from domain.outcome import StageDecided, TextPiece
from domain.stages import StageCode
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.house import House, open_house
from tests.fakes.scripted_backend import bad_reply, good_reply
from tests.fakes.values import NOON
from tests.fakes.waiting import until

pytestmark = [pytest.mark.contract, pytest.mark.integration]

BUSY = {"code": "500", "msg": "服务繁忙，请稍后重试"}


def events(body: str) -> list[tuple[str, dict[str, object]]]:
    blocks = [block.split("\n") for block in body.split("\n\n") if block and not block.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


async def version_of(house: House, session: str) -> int:
    state = await house.store.read("t1", session)
    return 0 if state is None else state.version


@pytest.mark.parametrize("form_last", [False, True])
async def test_stream_and_whole_answer_are_two_renderings_of_one_turn(house: House, langgraph, session, form_last):
    langgraph.script = lambda turn, state: good_reply(turn, state, patch={"jdcsl": 2, "sgyy": "追尾"}, form_last=form_last)
    whole = (await house.chat(session, "追尾")).json()
    told = events((await house.chat(session + "s", "追尾", stream=True)).text)
    assert [name for name, _ in told] == (
        ["stage_code", "text_delta", "text_delta", "formUpdate", "done"]
        if form_last
        else ["stage_code", "formUpdate", "text_delta", "text_delta", "done"]
    )
    by_name = dict(told)
    assert "".join(data["text"] for name, data in told if name == "text_delta") == whole["outputText"]
    assert by_name["stage_code"] == {"nextStageCode": whole["nextStageCode"], "nextStageName": whole["nextStageName"]}
    assert by_name["formUpdate"] == {"formUpdate": whole["formUpdate"]}
    assert by_name["done"] == {"code": "200", "msg": "success", "sessionId": session + "s", "stateVersion": 1}


async def test_a_form_is_told_only_to_those_who_asked_and_stored_for_all(house: House, langgraph, session):
    langgraph.script = lambda turn, state: good_reply(turn, state, patch={"jdcsl": 2})
    assert (await house.chat(session, "两辆", form=False)).json()["formUpdate"] == {}
    assert "formUpdate" not in (await house.chat(session + "s", "两辆", stream=True, form=False)).text
    state = await house.store.read("t1", session)
    assert state is not None
    assert dict(state.form) == {"jdcsl": 2}


async def test_a_client_that_needs_its_form_first_gets_it_before_any_text(house: House, langgraph, session):
    await house.add_caller("first", tenant="t1", form_update_position="before_text")
    langgraph.script = lambda turn, state: good_reply(turn, state, patch={"jdcsl": 2}, form_last=True)
    told = events((await house.chat(session, "两辆", stream=True, caller="first")).text)
    assert [name for name, _ in told] == ["stage_code", "formUpdate", "text_delta", "text_delta", "done"]
    langgraph.script = lambda turn, state: good_reply(turn, state)
    told = events((await house.chat(session, "嗯", stream=True, caller="first")).text)
    assert [name for name, _ in told] == ["stage_code", "text_delta", "text_delta", "done"]


async def test_text_chunks_are_cut_for_speech_and_say_the_same(house: House, langgraph, session):
    pieces = ("好的，人", "没事就好。请问", "您还在现", "场吗" + "长" * 50)
    langgraph.script = lambda turn, state: good_reply(turn, state, pieces=pieces)
    body = {"sessionId": session, "text": "x", "useTextChunk": True}
    told = [data["text"] for name, data in events((await house.call("/chat?stream=true", body)).text) if name == "text_delta"]
    assert told == ["好的，", "人没事就好。", "请问您还在现场吗" + "长" * 32, "长" * 18]


@pytest.mark.parametrize("kind", list(FailureKind))
@pytest.mark.parametrize("stream", [False, True])
async def test_a_backend_that_fails_ends_in_one_error_and_a_clear_retry_works(house: House, langgraph, session, kind, stream):
    await house.chat(session, "你好")
    langgraph.script = lambda turn, state: bad_reply(kind, StageDecided(StageCode.COLLECTING), TextPiece("好的"))
    response = await house.chat(session, "追尾", stream=stream)
    expected = {"code": "500", "msg": "系统内部错误"} if kind is FailureKind.INTERNAL else BUSY
    if stream:
        told = events(response.text)
        assert [name for name, _ in told] == ["stage_code", "text_delta", "error"]
        assert told[-1][1] == expected
    else:
        assert response.json() == expected | {"sessionId": session}
    assert await version_of(house, session) == 1
    langgraph.script = lambda turn, state: good_reply(turn, state)
    assert (await house.chat(session, "追尾")).json()["stateVersion"] == 2


@pytest.mark.parametrize("stream", [False, True])
async def test_a_backend_that_crashes_is_our_error_and_gives_the_session_back(house: House, langgraph, session, stream):
    langgraph.script = lambda turn, state: [StageDecided(StageCode.COLLECTING), ValueError("13800138000")]
    response = await house.chat(session, "追尾", stream=stream)
    assert "13800138000" not in response.text
    assert '"code":"500"' in response.text
    langgraph.script = lambda turn, state: good_reply(turn, state)
    assert (await house.chat(session, "追尾")).json()["stateVersion"] == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_to_another_turn_is_no_answer(house: House, langgraph, session, stream):
    langgraph.script = lambda turn, state: good_reply(turn, state, receipt_of="another-turn")
    assert '"code":"500"' in (await house.chat(session, "追尾", stream=stream)).text
    assert await version_of(house, session) == 0


@pytest.mark.parametrize("error", [StoreUnavailable("commit"), SessionBusy()])
@pytest.mark.parametrize("stream", [False, True])
async def test_done_is_never_said_when_the_commit_failed(house: House, langgraph, session, monkeypatch, error, stream):
    async def refuse(record):
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(house.store, "commit", refuse)
        response = await house.chat(session, "追尾", stream=stream)
    expected = ("500", "系统繁忙，请稍后重试") if isinstance(error, StoreUnavailable) else ("409", "会话正在处理中，请稍后重试")
    if stream:
        told = events(response.text)
        assert told[-1] == ("error", {"code": expected[0], "msg": expected[1]})
        assert "done" not in dict(told)
    else:
        assert (response.json()["code"], response.json()["msg"]) == expected
    assert await version_of(house, session) == 0
    assert await house.pool.fetchval("SELECT kind FROM app.turn_outbox WHERE session_id = $1", session) == "failed"
    assert (await house.chat(session, "追尾")).json()["stateVersion"] == 1  # the session is not locked


async def test_what_the_database_refuses_is_our_error_and_locks_nothing(house: House, langgraph, session):
    langgraph.script = lambda turn, state: good_reply(turn, state, pieces=["a\x00b"])
    assert (await house.chat(session, "追尾")).headers["x-error-type"] == "INTERNAL_ERROR"
    langgraph.script = lambda turn, state: good_reply(turn, state)
    assert (await house.chat(session, "追尾")).json()["stateVersion"] == 1


async def test_with_the_database_gone_nothing_is_promised(house: House, langgraph, session, monkeypatch):
    async def gone(*_args, **_kwargs):
        raise StoreUnavailable("gone")

    for name in ("open", "read"):
        monkeypatch.setattr(house.store, name, gone)
    for stream in (False, True):
        response = await house.chat(session, "追尾", stream=stream)
        assert response.headers["x-error-type"] == "STATE_PERSISTENCE_FAILED"
        assert response.json() == {"code": "500", "msg": "系统繁忙，请稍后重试", "sessionId": session}
    told = await house.call("/get_info", {"sessionId": session, "key": "all"})
    assert told.headers["x-error-type"] == "STATE_PERSISTENCE_FAILED"
    assert langgraph.turns == []


async def test_a_second_turn_waits_for_the_first_and_then_sees_what_it_did(house: House, langgraph, session):
    gate = asyncio.Event()
    langgraph.script = lambda turn, state: good_reply(turn, state, patch={"jdcsl": 2}, waiting=gate if turn.text == "一" else None)
    first = asyncio.create_task(house.chat(session, "一"))
    await until(lambda: len(langgraph.turns) == 1)
    second = asyncio.create_task(house.chat(session, "二"))
    await asyncio.sleep(0.1)
    assert len(langgraph.turns) == 1
    gate.set()
    assert [(await first).json()["stateVersion"], (await second).json()["stateVersion"]] == [1, 2]
    assert dict(langgraph.sessions[1].form) == {"jdcsl": 2}


async def test_a_turn_that_waited_too_long_is_told_to_try_again(house: House, langgraph, session):
    gate = asyncio.Event()
    langgraph.script = lambda turn, state: good_reply(turn, state, waiting=gate)
    house.store._wait_seconds = 0.1
    first = asyncio.create_task(house.chat(session, "一"))
    await until(lambda: len(langgraph.turns) == 1)
    for stream in (False, True):
        refused = await house.chat(session, "二", stream=stream)
        assert refused.headers["x-error-type"] == "SESSION_CONFLICT"
        assert refused.json()["code"] == "409"
    gate.set()
    assert (await first).json()["code"] == "200"


@pytest.mark.parametrize("form_last", [False, True])
async def test_a_retry_with_its_key_gets_the_same_bytes_and_runs_nothing(house: House, langgraph, session, form_last):
    langgraph.script = lambda turn, state: good_reply(turn, state, patch={"jdcsl": 2}, form_last=form_last)
    first = await house.chat(session, "两辆", stream=True, Idempotency_Key=session)
    again = await house.chat(session, "两辆", stream=True, Idempotency_Key=session)
    whole = await house.chat(session, "两辆", Idempotency_Key=session)
    assert again.text == first.text
    assert again.headers["idempotency-replayed"] == whole.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert whole.json()["outputText"] == "请问事故中有没有人员受伤？"
    assert (len(langgraph.turns), await version_of(house, session)) == (1, 1)


async def test_a_retry_while_the_first_still_runs_waits_for_its_answer(house: House, langgraph, session):
    gate = asyncio.Event()
    langgraph.script = lambda turn, state: good_reply(turn, state, waiting=gate)
    first = asyncio.create_task(house.chat(session, "一", Idempotency_Key=session))
    await until(lambda: len(langgraph.turns) == 1)
    retry = asyncio.create_task(house.chat(session, "一", Idempotency_Key=session))
    await asyncio.sleep(0.05)
    gate.set()
    assert (await first).content == (await retry).content
    assert len(langgraph.turns) == 1


async def test_a_key_used_for_something_else_is_a_conflict_and_a_wrong_key_is_refused(house: House, session):
    await house.chat(session, "一", Idempotency_Key=session)
    assert (await house.chat(session, "二", Idempotency_Key=session)).headers["x-error-type"] == "IDEMPOTENCY_CONFLICT"
    assert (await house.chat(session + "x", "一", Idempotency_Key=session)).headers["x-error-type"] == "IDEMPOTENCY_CONFLICT"
    assert (await house.chat(session, "一", Idempotency_Key="a b")).json()["msg"] == "请求参数错误：Idempotency-Key"


async def test_a_key_of_a_failed_turn_may_be_used_again(house: House, langgraph, session):
    langgraph.script = lambda turn, state: bad_reply(FailureKind.TIMEOUT)
    assert (await house.chat(session, "一", Idempotency_Key=session)).json()["code"] == "500"
    langgraph.script = lambda turn, state: good_reply(turn, state)
    assert (await house.chat(session, "一", Idempotency_Key=session)).json()["code"] == "200"


async def test_the_same_event_id_is_answered_from_the_record(house: House, langgraph, session):
    body = {"sessionId": session, "text": "【拍摄完成】", "eventId": f"E-{session}"}
    first, again = await house.call("/chat", body), await house.call("/chat", body)
    assert first.content == again.content
    assert len(langgraph.turns) == 1


async def test_two_clients_of_a_tenant_may_use_the_same_key_for_different_things(house: House, session):
    await house.add_caller("second", tenant="t1")
    await house.chat(session, "一", Idempotency_Key=session)
    body = {"sessionId": session, "key": "jdcsl", "value": "2"}
    written = await house.call("/set_info", body, caller="second", Idempotency_Key=session)
    assert "idempotency-replayed" not in written.headers
    assert json.loads((await house.call("/get_info", {"sessionId": session, "key": "jdcsl"})).json()["value"]) == 2


@pytest.mark.parametrize("change", [{"text": "【用户无回复】"}, {"sessionId": "elsewhere"}])
async def test_an_event_id_used_for_something_else_is_a_conflict_before_anything_runs(house: House, langgraph, session, change):
    body = {"sessionId": session, "text": "【拍摄完成】", "eventId": f"E-{session}"}
    await house.call("/chat", body)
    refused = await house.call("/chat", body | change)
    assert refused.headers["x-error-type"] == "IDEMPOTENCY_CONFLICT"
    assert len(langgraph.turns) == 1
    assert (await house.chat(session, "还在")).json()["stateVersion"] == 2


async def test_switching_the_shadow_off_stops_it_for_sessions_that_are_sampled_too(database, langgraph, session):
    backends = {BackendName.LANGGRAPH: langgraph, BackendName.FASTGPT: langgraph}
    for shadow_enabled, jobs in ((True, 1), (False, 1), (True, 2)):
        async with open_house(database, backends, FixedClock(NOON), shadow_enabled=shadow_enabled) as house:
            await house.chat(session, "好")
            assert await house.pool.fetchval("SELECT count(*) FROM app.turn_outbox WHERE session_id = $1", session) == jobs


async def test_a_written_field_reaches_the_next_turn(house: House, langgraph, session):
    await house.chat(session, "你好")
    await house.call("/set_info", {"sessionId": session, "key": "sgyy", "value": '"追尾"'})
    await house.chat(session, "然后呢")
    assert dict(langgraph.sessions[-1].form) == {"sgyy": "追尾"}


async def test_a_turn_remembers_how_it_was_routed_and_what_it_was(house: House, session):
    await house.chat(session, "你好")
    row = await house.pool.fetchrow("SELECT * FROM app.turns WHERE session_id = $1", session)
    assert (row["backend"], row["route_reason"], row["status"], row["version"]) == ("langgraph", "default", "committed", 1)
    assert json.loads(row["input"]) == {"text": "你好", "event": {"text": "你好"}}
    assert row["request_id"]
