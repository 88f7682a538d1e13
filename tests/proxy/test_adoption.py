"""Crossfade is put in front of conversations in the middle of their life on FastGPT, and nobody can tell: not the partner by a single
byte, not FastGPT by its calls. Each conversation is compared with its twin, which Crossfade served from its first turn."""

import json
import re
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio

from domain.backend_name import BackendName
from sim.traffic.scenario import Say, SetInfo, Step, load_scenarios
from tests.fakes.both_sides import KEY, Upstreams, both_backends, fastgpt_config, said_in, upstreams
from tests.fakes.house import House, open_house
from wiring.clock import SystemClock
from wiring.database import Database

pytestmark = [pytest.mark.contract, pytest.mark.integration]

F, L = BackendName.FASTGPT, BackendName.LANGGRAPH
ADOPT = {"t1": "legacy-{session}"}


@dataclass(slots=True)
class World:
    house: House
    up: Upstreams
    legacy: httpx.AsyncClient

    async def before_our_time(self, session: str, said: list[str]) -> None:
        """What the old service did: it called FastGPT itself, in a chat it named after the session, with no form of its own."""
        for text in said:
            body = {
                "chatId": f"legacy-{session}", "stream": True, "detail": True,
                "variables": {}, "messages": [{"role": "user", "content": text}],
            }  # fmt: skip
            response = await self.legacy.post("/api/v1/chat/completions", json=body)
            assert response.status_code == 200

    async def turn(self, session: str, text: str, number: int) -> tuple[bytes, bytes]:
        """One message, told in turn as JSON, as a stream, and as a stream of whole lines; and what is read of the form behind it."""
        stream, chunks = number % 3 > 0, number % 3 == 2
        response = await self.house.call(
            "/chat?stream=true" if stream else "/chat",
            {"sessionId": session, "text": text, "needFormUpdate": True, "useTextChunk": chunks},
            Idempotency_Key=uuid.uuid4().hex,
        )
        assert response.status_code == 200
        key = ("sgyy", "jdcsl", "hphm1", "ywrysw")[number % 4]
        told = await self.house.call("/get_info", {"sessionId": session, "key": key})
        return response.content.replace(session.encode(), b"SESSION"), told.content

    async def write(self, session: str, step: SetInfo) -> bytes:
        return (await self.house.call("/set_info", {"sessionId": session, "key": step.key, "value": step.value})).content


@asynccontextmanager
async def world_of(database: Database, **config: Any) -> AsyncGenerator[World]:
    async with (
        upstreams() as up,
        both_backends(database, up, **({"adopt": ADOPT} | config)) as backends,
        open_house(database, backends, SystemClock(), default=F) as house,
        httpx.AsyncClient(base_url=up.fastgpt_url, headers={"authorization": f"Bearer {KEY}"}) as legacy,
    ):
        yield World(house, up, legacy)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(database: Database) -> AsyncGenerator[World]:
    async with world_of(database) as opened:
        yield opened


def _cases() -> list[tuple[str, tuple[Step, ...], int]]:
    """Fifty: every scenario, taken over after as many of its first messages as it says before anything else happens."""
    cases: list[tuple[str, tuple[Step, ...], int]] = []
    for scenario in load_scenarios():
        first_write = next((at for at, step in enumerate(scenario.steps) if isinstance(step, SetInfo)), len(scenario.steps))
        cases += [(scenario.name, scenario.steps, cut) for cut in range(1, min(first_write, len(scenario.steps) - 1) + 1)]
    return cases


CASES = _cases()
_TIME = re.compile(rb'"sgfssj":"[^"]*"')


def test_fifty_conversations_are_taken_over():
    assert len(CASES) >= 50


def _calls(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ids and times apart."""
    kept: list[dict[str, Any]] = []
    for call in calls:
        variables = {name: value for name, value in call.get("variables", {}).items() if name != "sgfssj"}
        messages = [{"role": one["role"], "content": one["content"]} for one in call["messages"]]
        rest = {name: value for name, value in call.items() if name not in ("chatId", "responseChatItemId", "variables", "messages")}
        kept.append({**rest, "variables": variables, "messages": messages})
    return kept


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name, steps, cut", CASES, ids=[f"{name}-{cut}" for name, _, cut in CASES])
async def test_what_follows_is_byte_for_byte_what_the_twin_gets(world: World, name, steps, cut):
    twin, adopted = f"twin-{name}-{cut}", f"adopted-{name}-{cut}"
    told: dict[str, list[bytes]] = {twin: [], adopted: []}
    sent: dict[str, list[dict[str, Any]]] = {}
    before = [step.text for step in steps[:cut] if isinstance(step, Say)]
    await world.before_our_time(adopted, before)
    for number, text in enumerate(before):
        await world.turn(twin, text, number)
    for session in (twin, adopted):
        begun = len(world.up.calls)
        for number, step in enumerate(steps[cut:], cut):
            if isinstance(step, SetInfo):
                told[session].append(await world.write(session, step))
            else:
                told[session] += await world.turn(session, step.text, number)
        sent[session] = world.up.calls[begun:]
    assert [_TIME.sub(b"", one) for one in told[adopted]] == [_TIME.sub(b"", one) for one in told[twin]]
    assert _calls(sent[adopted]) == _calls(sent[twin])
    assert {call["chatId"] for call in sent[adopted]} == {f"legacy-{adopted}"}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("first", ["get_info", "set_info"])
async def test_the_first_contact_may_be_any_of_the_three_calls(world: World, first):
    session = f"first-{first}"
    await world.before_our_time(session, said_in("single_normal")[:4])
    if first == "get_info":
        told = await world.house.call("/get_info", {"sessionId": session, "key": "jdcsl"})
        assert json.loads(told.json()["value"]) == 1
    else:
        assert (await world.write(session, SetInfo("sjhm1", '"13800138000"'))) == b'{"code":"200","msg":"success"}'
    state = await world.house.store.read("t1", session)
    assert state is not None
    assert (state.stage, state.form["sgyy"]) == ("1002", "倒车")
    begun = len(world.up.calls)
    answer = json.loads((await world.turn(session, said_in("single_normal")[4], 0))[0])
    assert (answer["code"], answer["stateVersion"]) == ("200", 6 if first == "set_info" else 5)
    assert world.up.calls[begun]["chatId"] == f"legacy-{session}"
    if first == "set_info":
        assert world.up.calls[begun]["variables"]["sjhm1"] == "13800138000"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_session_is_looked_for_once_and_another_tenant_s_never(world: World):
    reads = len(world.up.reads)
    await world.turn("new-here", "【会话开始】", 0)
    assert len(world.up.reads) == reads + 1  # the chat's header: there is none
    await world.turn("new-here", "准备好了", 0)
    assert len(world.up.reads) == reads + 1
    await world.before_our_time("of-t1", ["【会话开始】"])
    answer = await world.house.call("/get_info", {"sessionId": "of-t1", "key": "jdcsl"}, caller="rival")
    assert answer.json()["code"] == "404"
    assert len(world.up.reads) == reads + 1


@pytest.mark.asyncio(loop_scope="module")
async def test_nobody_adopts_for_a_session_nobody_knows_anywhere(world: World):
    answer = await world.house.call("/get_info", {"sessionId": "nowhere", "key": "jdcsl"})
    assert answer.json()["code"] == "404"
    assert await world.house.pool.fetchval("SELECT count(*) FROM app.session_leases WHERE session_id = 'nowhere'") == 0


@pytest.mark.asyncio(loop_scope="module")
async def test_an_adopted_session_stays_on_fastgpt_whatever_the_share_says_and_can_be_handed_over(world: World):
    session, said = "adopted-then-moved", said_in("single_normal")
    await world.before_our_time(session, said[:6])
    await world.house.publish(traffic={"langgraph_ppm": 1_000_000})
    await world.turn(session, said[6], 0)
    await world.house.publish(override=L)
    await world.turn(session, said[7], 0)
    await world.house.publish(override=None, traffic={"langgraph_ppm": 0})
    rows = await world.house.pool.fetch(
        "SELECT version, backend, route_reason FROM app.turns WHERE session_id = $1 AND version > 6 ORDER BY version", session
    )
    assert [(row["backend"], row["route_reason"]) for row in rows] == [(F, "pin"), (L, "override")]
    state = await world.house.store.read("t1", session)
    assert state is not None
    assert state.stage == "2003"


@pytest.mark.asyncio(loop_scope="module")
async def test_with_fastgpt_away_a_session_that_may_live_there_is_not_begun_anew(database: Database):
    up = Upstreams(fastgpt_url="http://127.0.0.1:9", model_url="http://127.0.0.1:9")
    async with (
        both_backends(database, up, adopt=ADOPT) as backends,
        open_house(database, backends, SystemClock(), default=F) as house,
    ):
        assert (await house.chat("may-live", "你好")).json()["code"] == "500"
        assert (await house.call("/get_info", {"sessionId": "may-live", "key": "jdcsl"})).json()["code"] == "500"
        assert await house.pool.fetchval("SELECT count(*) FROM app.session_leases WHERE session_id = 'may-live'") == 0
        await house.publish(override=L)  # the operator's word that it shall go on without FastGPT
        assert await house.store.read("t1", "may-live") is None
        answer = (await house.chat("may-live", "【会话开始】")).json()
        assert (answer["code"], answer["nextStageCode"]) == ("200", "1001")
        await house.publish(override=None)


@pytest.mark.parametrize("template", ["{digest}", "{tenant}-{session}", "fixed", "{session", "{}"])
def test_a_template_that_could_not_name_one_chat_a_session_is_refused(template):
    up = Upstreams(fastgpt_url="http://x", model_url="http://x")
    with pytest.raises(ValueError, match=r"adopt\.t1"):
        fastgpt_config(up, adopt={"t1": template})
