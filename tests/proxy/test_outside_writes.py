"""/set_info and /get_info beside a conversation with the real agent: what each field takes and tells, what a fact does to the stage, what
nobody may write, and what no call of these two ever does: ask the model."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

import httpx
import pytest
import pytest_asyncio
from stdnum.cn import ric

from backends.langgraph.backend import LangGraphBackend
from domain.backend_name import BackendName
from domain.fields import FIELDS, GROUPS, INTERNAL_KEYS
from domain.handoff_reason import HandoffReason
from domain.session import Dialogue, SessionState
from domain.transitions import NON_TERMINAL
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.house import House, open_house
from tests.fakes.scripted_backend import ScriptedBackend
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.values import NOON
from tests.golden.scenarios import plays
from wiring.database import Database

pytestmark = [pytest.mark.contract, pytest.mark.integration]

WRITTEN = b'{"code":"200","msg":"success"}'
CHILD = "11010520100101001" + ric.calc_check_digit("110105201001010010")
PLAYS = {play.name: play for play in plays()}
WAYS = ("G01_single_normal", "G02_double_normal")  # between them they come by every stage


@dataclass(slots=True)
class Desk:
    """A house, its one model and one session."""

    house: House
    model: ScriptedModel
    clock: FixedClock
    session: str

    async def walk(self, stage: str) -> None:
        """Talk, as written, until the session stands at `stage`."""
        play = next(PLAYS[name] for name in WAYS if stage in [step.stage for step in PLAYS[name].steps])
        for step in play.steps:
            assert (await self.say(step.said, *step.replies))["nextStageCode"] == step.stage
            if step.stage == stage:
                return

    async def say(self, text: str, *replies: str, **headers: str) -> dict[str, Any]:
        self.model.then(*replies)
        calls = len(self.model.sent)
        answer = (await self.house.chat(self.session, text, **headers)).json()
        assert len(self.model.sent) - calls == len(replies), text
        self.clock.advance(timedelta(seconds=2))
        return answer

    async def write(self, key: str, value: object, **headers: str) -> httpx.Response:
        calls = len(self.model.sent)
        response = await self.house.call("/set_info", {"sessionId": self.session, "key": key, "value": value}, **headers)
        assert len(self.model.sent) == calls
        return response

    async def told(self, key: str) -> str:
        """The JSON text that travels as `value`."""
        row = (await self.house.call("/get_info", {"sessionId": self.session, "key": key})).json()
        assert (row["code"], row["msg"], list(row)) == ("200", "success", ["code", "msg", "value"])
        return row["value"]

    async def state(self) -> SessionState:
        state = await self.house.store.read("t1", self.session)
        assert state is not None
        return state


@pytest_asyncio.fixture
async def desk(database: Database, session: str) -> AsyncGenerator[Desk]:
    model, clock = ScriptedModel(), FixedClock(NOON)
    backends = {
        BackendName.LANGGRAPH: LangGraphBackend(model, None, clock),
        BackendName.FASTGPT: ScriptedBackend(name=BackendName.FASTGPT),
    }
    async with open_house(database, backends, clock, shadow_enabled=False) as house:
        yield Desk(house, model, clock, session)


# --- every field, every form of its value ---------------------------------------------------------------------------------------------

TAKEN: list[tuple[str, object, str]] = [
    ("ywrysw", "false", "false"),
    ("ywrysw", False, "false"),
    ("ywrysw", '"无"', "false"),
    ("ywfjdc", "false", "false"),
    ("ywmtc", '"没有"', "false"),
    ("bjrjs", '"当事人"', '"当事人"'),
    ("sgfssj", '"2026-07-27 15:10:00"', '"2026-07-27 15:10:00"'),
    ("sgfssj", "十分钟前", '"2026-07-27 15:10:00"'),
    ("sfsgxc", "true", "true"),
    ("jdcsl", "2", "2"),
    ("jdcsl", 1, "1"),
    ("jdcsl", '"两辆"', "2"),
    ("sgyy", '"追尾"', '"追尾"'),
    *(
        row
        for n in "12"
        for row in (
            (f"xm{n}", '"张三"', '"张三"'),
            (f"xm{n}", "欧阳娜娜", '"欧阳娜娜"'),
            (f"hpzl{n}", '"02"', '"02"'),
            (f"hpzl{n}", "蓝牌", '"02"'),
            (f"hphm{n}", '"粤b·d12345"', '"粤BD12345"'),
            (f"hphm{n}", "京A12345", '"京A12345"'),
            (f"sfzmhm{n}", '"11010519491231002x"', '"11010519491231002X"'),
            (f"sjhm{n}", 13800138000, '"13800138000"'),
            (f"sjhm{n}", "138 0013 8000", '"13800138000"'),
        )
    ),
]


def test_the_table_knows_every_field():
    assert {key for key, _, _ in TAKEN} == set(FIELDS)


async def test_a_field_is_told_as_json_text_alone_in_its_group_and_among_all(desk: Desk):
    await desk.say("【会话开始】")
    for key, value, told in TAKEN:
        assert (await desk.write(key, value)).content == WRITTEN, (key, value)
        group = FIELDS[key].group
        whole = f'"{key}":{told}'
        assert await desk.told(key) == told
        assert whole in await desk.told(group)
        assert whole in await desk.told("all")
        for cleared in ("null", None):
            assert (await desk.write(key, cleared)).content == WRITTEN, key
        if key.startswith("hphm"):
            assert (await desk.write(f"hpzl{key[-1]}", None)).content == WRITTEN
        assert await desk.told(key) == "null"
    assert (await desk.state()).stage == "1001"


async def test_groups_hold_their_fields_in_order_and_nothing_else(desk: Desk):
    await desk.walk("3002")
    everything = json.loads(await desk.told("all"))
    assert {group: list(rows) for group, rows in everything.items()} == {group: list(keys) for group, keys in GROUPS.items()}
    for group, rows in everything.items():
        assert await desk.told(group) == json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
        for key, value in rows.items():
            assert await desk.told(key) == json.dumps(value, ensure_ascii=False)
    assert everything["acdhuman1"] == {
        "xm1": "张三", "hpzl1": "02", "hphm1": "京A12345", "sfzmhm1": "11010519491231002X", "sjhm1": "13800138000",
    }  # fmt: skip


REFUSED: list[tuple[str, object, str]] = [
    ("ywrysw", '"也许"', "INVALID_FIELD_VALUE"),
    ("ywrysw", 2, "INVALID_FIELD_VALUE"),
    ("jdcsl", "true", "INVALID_FIELD_VALUE"),
    ("jdcsl", -1, "INVALID_FIELD_VALUE"),
    ("jdcsl", "100", "INVALID_FIELD_VALUE"),
    ("sgfssj", '"2026-07-28 15:00:00"', "INVALID_FIELD_VALUE"),
    ("sgfssj", True, "INVALID_FIELD_VALUE"),
    ("bjrjs", '"路人甲乙"', "INVALID_FIELD_VALUE"),
    ("xm1", "true", "INVALID_FIELD_VALUE"),
    ("xm1", '"\\"张三\\""', "INVALID_FIELD_VALUE"),
    ("xm1", {"a": 1}, "INVALID_FIELD_VALUE"),
    ("xm1", "[]", "INVALID_FIELD_VALUE"),
    ("hpzl1", '"98"', "INVALID_FIELD_VALUE"),
    ("hphm1", '"京I12345"', "INVALID_FIELD_VALUE"),
    ("sfzmhm1", '"110105194912310021"', "INVALID_FIELD_VALUE"),
    ("sjhm1", '"12800138000"', "INVALID_FIELD_VALUE"),
    ("sjhm1", "010-62345678", "INVALID_FIELD_VALUE"),
    *((group, "{}", "INVALID_FIELD") for group in ("all", *GROUPS)),
    *((key, '"0000"', "INVALID_FIELD") for key in sorted(INTERNAL_KEYS)),
    *((one.name, '"x"', "INVALID_FIELD") for kind in (Dialogue, SessionState) for one in fields(kind) if one.name not in INTERNAL_KEYS),
    *((key, '"x"', "INVALID_FIELD") for key in ("sessionId", "tenant_id", "backend", "XM1", "xm", "xm3", "xm1 ", "form.xm1", "__class__")),
]


async def test_what_may_not_be_written_is_refused_and_leaves_everything_as_it_was(desk: Desk):
    await desk.walk("1002")
    before, form = await desk.state(), await desk.told("all")
    for key, value, error_type in REFUSED:
        response = await desk.write(key, value)
        told = (response.status_code, response.headers.get("x-error-type"), response.json()["code"])
        assert told == (200, error_type, "400"), (key, value)
        if key in INTERNAL_KEYS:
            assert response.json()["msg"] == f"字段不允许修改：{key}"
    assert (await desk.state(), await desk.told("all")) == (before, form)


@pytest.mark.parametrize("key", [*sorted(INTERNAL_KEYS), "transcript", "memory", "form", "dialogue", "ALL", "acdhuman3", "xm"])
async def test_nothing_internal_can_be_read(desk: Desk, key: str):
    response = await desk.house.call("/get_info", {"sessionId": desk.session, "key": key})
    assert (response.json()["code"], response.headers["x-error-type"]) == ("400", "INVALID_FIELD")


# --- what a fact does to the conversation ---------------------------------------------------------------------------------------------

FACTS: list[tuple[str, object, HandoffReason]] = [
    ("ywrysw", "true", HandoffReason.INJURY),
    ("ywfjdc", "true", HandoffReason.NON_MOTOR),
    ("ywmtc", True, HandoffReason.MOTORCYCLE),
    ("jdcsl", "3", HandoffReason.MULTI_VEHICLE),
    ("jdcsl", "0", HandoffReason.ZERO_VEHICLE),
    ("sfsgxc", "false", HandoffReason.NOT_AT_SCENE),
    ("sgfssj", '"2026-07-24 15:20:00"', HandoffReason.STALE_ACCIDENT),
    ("hphm2", '"京A1234警"', HandoffReason.SPECIAL_VEHICLE),
    ("hpzl1", '"07"', HandoffReason.MOTORCYCLE),
    ("sfzmhm1", f'"{CHILD}"', HandoffReason.MINOR_DRIVER),
]


@pytest.mark.parametrize(("key", "value", "reason"), FACTS, ids=[f"{key}={value}" for key, value, _ in FACTS])
async def test_a_fact_that_rules_the_case_out_hands_it_over_and_the_next_message_hears_so(
    desk: Desk, key: str, value: object, reason: HandoffReason
):
    await desk.walk("1002")
    assert (await desk.write(key, value)).content == WRITTEN
    state = await desk.state()
    assert (state.stage, state.dialogue.handoff_reason, state.dialogue.pending_question, state.version) == ("0003", reason, None, 3)
    answer = await desk.say("好了")
    assert (answer["nextStageCode"], answer["formUpdate"]) == ("0003", {})
    assert "转人工" in answer["outputText"]


@pytest.mark.parametrize("stage", [stage for stage in NON_TERMINAL if stage is not None])
async def test_somebody_hurt_ends_any_stage_and_a_harmless_fact_none(desk: Desk, stage: str):
    await desk.walk(stage)
    assert (await desk.write("sgyy", '"变道"')).content == WRITTEN
    assert (await desk.state()).stage == stage
    assert (await desk.write("ywrysw", "true")).content == WRITTEN
    state = await desk.state()
    assert (state.stage, state.dialogue.handoff_reason) == ("0003", HandoffReason.INJURY)


@pytest.mark.parametrize("ending", ["0000", "0003"])
async def test_a_finished_session_takes_the_value_and_stays_where_it_is(desk: Desk, ending: str):
    await desk.walk("0000" if ending == "0000" else "1002")
    if ending == "0003":
        await desk.write("jdcsl", "3")
    before = await desk.state()
    assert (await desk.write("ywrysw", "true")).content == WRITTEN
    after = await desk.state()
    assert (after.stage, after.version, after.form["ywrysw"]) == (ending, before.version + 1, True)
    assert after.dialogue.handoff_reason == before.dialogue.handoff_reason
    assert (await desk.say("谢谢"))["nextStageCode"] == ending


async def test_a_plate_read_off_a_photo_moves_nothing_and_is_read_back_in_its_turn(desk: Desk):
    await desk.walk("2013")
    assert (await desk.write("hphm1", '"京A12346"')).content == WRITTEN
    assert (await desk.state()).stage == "2013"
    for stage in ("2014", "2015", "2016", "3001"):
        assert (await desk.say("【拍摄完成】"))["nextStageCode"] == stage
    await desk.say("张三", '<state>3001</state><form>{"fields":{"xm1":"张三"}}</form>好的')
    assert (await desk.state()).dialogue.pending_question == "CONFIRM_HPHM_1"


@pytest.mark.parametrize(
    ("stage", "said", "pending"),
    [("1002", "？？", "CONFIRM_INJURY"), ("1002", "👍", "CONFIRM_INJURY"), ("3001", "。。。", "XM_1")],
)
async def test_a_sign_alone_clears_nobody_and_answers_no_open_question(desk: Desk, stage: str, said: str, pending: str):
    await desk.walk(stage)
    replies = [] if pending == "CONFIRM_INJURY" else [f"<state>{stage}</state>" + '<form>{"answer":"unclear"}</form>请再说一遍']
    answer = await desk.say(said, *replies)
    state = await desk.state()
    assert (answer["nextStageCode"], answer["formUpdate"], state.dialogue.pending_question) == (stage, {}, pending)
    assert dict(state.dialogue.clarification_counts) == ({} if pending == "CONFIRM_INJURY" else {pending: 1})


async def test_a_thumb_is_a_yes_where_a_yes_is_asked_for(desk: Desk):
    await desk.walk("2016")
    await desk.write("hphm1", '"京A12346"')
    await desk.say("【拍摄完成】")
    await desk.say("张三", '<state>3001</state><form>{"fields":{"xm1":"张三"}}</form>好的')
    await desk.say("👍", "<state>3001</state>好的")
    assert (await desk.state()).dialogue.pending_question == "SFZMHM_1"


# --- side by side, and again ----------------------------------------------------------------------------------------------------------


async def test_writes_of_one_moment_are_all_kept(desk: Desk):
    await desk.walk("1002")
    writes = {"sfsgxc": "true", "jdcsl": "2", "ywfjdc": "false", "sgyy": '"追尾"', "hphm1": '"京A12345"', "xm2": '"李四"'}
    answers = await asyncio.gather(*(desk.write(key, value) for key, value in writes.items()))
    assert {answer.content for answer in answers} == {WRITTEN}
    for key, value in writes.items():
        assert await desk.told(key) == value
    assert (await desk.state()).version == 2 + len(writes)


async def test_a_write_during_a_turn_waits_and_neither_is_lost(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    await desk.walk("1002")
    asked, go_on, stream = asyncio.Event(), asyncio.Event(), desk.model.stream

    async def slow_stream(messages: Any, *, request_id: str) -> AsyncGenerator[Any]:
        asked.set()
        await go_on.wait()
        async for piece in stream(messages, request_id=request_id):
            yield piece

    monkeypatch.setattr(desk.model, "stream", slow_stream)
    desk.model.then('<state>1002</state><form>{"safety":"none"}</form>好的')
    turn = asyncio.create_task(desk.house.chat(desk.session, "没有人受伤"))
    await asked.wait()
    body = {"sessionId": desk.session, "key": "jdcsl", "value": "2"}
    write = asyncio.create_task(desk.house.call("/set_info", body))
    assert await desk.told("jdcsl") == "null"  # reading waits for nobody
    go_on.set()
    assert ((await turn).json()["stateVersion"], (await write).content) == (3, WRITTEN)
    assert (await desk.told("ywrysw"), await desk.told("jdcsl"), (await desk.state()).version) == ("false", "2", 4)


async def rows(desk: Desk) -> tuple[int, int]:
    query = (
        "SELECT (SELECT count(*) FROM app.accident_events WHERE session_id = $1), (SELECT count(*) FROM app.turns WHERE session_id = $1)"
    )
    return tuple(await desk.house.pool.fetchrow(query, desk.session))


@pytest.mark.parametrize("again", ["2", 2, '"两"'])
async def test_an_equal_value_however_it_is_written_is_no_change(desk: Desk, again: object):
    await desk.walk("1002")
    await desk.write("jdcsl", "2")
    before, count = await desk.state(), await rows(desk)
    assert (await desk.write("jdcsl", again)).content == WRITTEN
    assert (await desk.state(), await rows(desk)) == (before, count)
    assert (await desk.write("sgyy", "null")).content == WRITTEN  # nothing to clear
    assert (await desk.state(), await rows(desk)) == (before, count)


async def test_an_equal_value_with_a_key_is_answered_once_too(desk: Desk):
    """A retry that comes late must not put an old value over a newer one, though its first run changed nothing."""
    await desk.walk("1002")
    await desk.write("jdcsl", "2")
    before, count = await desk.state(), await rows(desk)
    key = {"Idempotency_Key": desk.session}
    first = await desk.write("jdcsl", "2", **key)
    assert (first.content, "idempotency-replayed" in first.headers) == (WRITTEN, False)
    assert (await desk.state(), await rows(desk)) == (before, count)
    await desk.write("jdcsl", "1")
    again = await desk.write("jdcsl", "2", **key)
    assert (again.content, again.headers["idempotency-replayed"]) == (WRITTEN, "true")
    assert await desk.told("jdcsl") == "1"
    other = await desk.write("jdcsl", "1", **key)
    assert other.headers["x-error-type"] == "IDEMPOTENCY_CONFLICT"
    assert (await desk.say("还在", "<state>1002</state>好的"))["code"] == "200"  # nothing is held


async def test_a_change_with_a_key_is_made_once(desk: Desk):
    await desk.walk("1002")
    key = {"Idempotency_Key": desk.session}
    assert (await desk.write("jdcsl", "2", **key)).content == WRITTEN
    await desk.write("jdcsl", "1")
    assert (await desk.write("jdcsl", "2", **key)).headers["idempotency-replayed"] == "true"
    assert (await desk.told("jdcsl"), (await desk.state()).version) == ("1", 4)
