"""A FastGPT that misbehaves on the wire, through the whole proxy: one clear error, nothing moved, and a retry that works."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from httpx_aiohttp import AiohttpTransport

from backends.fastgpt.backend import FastGptBackend
from backends.fastgpt.config import FastGptConfig
from domain.backend_name import BackendName
from domain.errors import StoreUnavailable
from domain.stages import StageCode
from sim.fastgpt.server import Options, app_of
from sim.model.server import Behaviour, ModelServer
from tests.fakes.house import House, open_house
from tests.fakes.scripted_backend import ScriptedBackend, good_reply
from tests.proxy.test_turn_path import events
from wiring.clock import SystemClock

pytestmark = [pytest.mark.contract, pytest.mark.integration]

KEY = "fastgpt-faults-0001"
PENDING = {
    "pending_question": "pending",
    "candidates": "candidates",
    "photo_failures": "photo_failures",
    "no_response_count": "no_reply_count",
}
TO_PHOTOS = (
    "【会话开始】", "准备好了", "没有人受伤，我自己倒车撞到柱子了，我开的车", "还在现场，十分钟前发生的", "没有电动车也没有摩托车", "好了",
)  # fmt: skip
FAULTS = ("drop_mid_stream", "garbage", "http_error_body", "node_error")


@asynccontextmanager
async def listening(app: web.Application) -> AsyncGenerator[str]:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


class Upstream:
    def __init__(self, house: House, url: str) -> None:
        self.house = house
        self._url = url

    async def plant(self, **rates: float) -> None:
        async with aiohttp.ClientSession() as http, http.post(f"{self._url}/sim/plant", json=rates) as response:
            assert response.status == 200


@pytest_asyncio.fixture
async def upstream(database) -> AsyncGenerator[Upstream]:
    async with (
        listening(ModelServer(Behaviour()).app()) as model_url,
        listening(app_of(Options(model_url=f"{model_url}/v1", keys=(KEY,)))) as url,
        AiohttpTransport() as http,
    ):
        fastgpt = FastGptBackend(
            FastGptConfig(base_url=url, api_key=KEY, chat_secret="s", app_id="a", pending_variables=PENDING), http, SystemClock()
        )
        backends = {BackendName.FASTGPT: fastgpt, BackendName.LANGGRAPH: ScriptedBackend()}
        async with open_house(database, backends, SystemClock(), default=BackendName.FASTGPT) as house:
            yield Upstream(house, url)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_misbehaving_upstream_is_one_error_and_moves_nothing(upstream: Upstream, session, fault, stream):
    house = upstream.house
    assert (await house.chat(session, "【会话开始】")).json()["nextStageCode"] == "1001"
    await upstream.plant(**{fault: 1.0})
    response = await house.chat(session, "准备好了", stream=stream)
    if stream:
        told = events(response.text)
        assert [name for name, _ in told if name in ("error", "done")] == ["error"]
        assert told[-1] == ("error", {"code": "500", "msg": "服务繁忙，请稍后重试"})
    else:
        assert response.json() == {"code": "500", "msg": "服务繁忙，请稍后重试", "sessionId": session}
    state = await house.store.read("t1", session)
    assert state is not None
    assert (state.stage, state.version) == ("1001", 1)
    await upstream.plant(**{fault: 0.0})
    again = (await house.chat(session, "准备好了", stream=False)).json()
    assert (again["code"], again["stateVersion"]) == ("200", 2)


async def test_an_upstream_that_is_down_is_one_error_too(database, session):
    async with AiohttpTransport() as http:
        fastgpt = FastGptBackend(FastGptConfig(base_url="http://127.0.0.1:9", api_key=KEY, chat_secret="s"), http, SystemClock())
        backends = {BackendName.FASTGPT: fastgpt, BackendName.LANGGRAPH: ScriptedBackend()}
        async with open_house(database, backends, SystemClock(), default=BackendName.FASTGPT) as house:
            assert (await house.chat(session, "你好")).json()["code"] == "500"
            assert await house.store.read("t1", session) is None


async def test_a_conversation_with_the_simulated_fastgpt_streams_and_stores_what_it_said(upstream: Upstream, session):
    house = upstream.house
    await house.chat(session, "【会话开始】")
    await house.chat(session, "准备好了")
    told = events((await house.chat(session, "没有人受伤，我自己倒车撞到柱子了", stream=True)).text)
    names = [name for name, _ in told]
    assert names[0] == "stage_code"
    assert names[-1] == "done"
    assert names.count("formUpdate") == 1
    stored = await house.store.read("t1", session)
    assert stored is not None
    assert dict(told)["formUpdate"] == {"formUpdate": {key: value for key, value in stored.form.items() if value is not None}}
    assert (stored.form["ywrysw"], stored.form["jdcsl"], stored.form["sgyy"]) == (False, 1, "倒车")


async def walk(house: House, session: str, *texts: str) -> str:
    """The stage a conversation has reached; every turn must succeed."""
    answer: dict[str, str] = {}
    for text in texts:
        answer = (await house.chat(session, text)).json()
        assert answer["code"] == "200", answer
    return answer["nextStageCode"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_gateway_that_gives_up_behind_a_finished_answer_costs_nothing(upstream: Upstream, session, stream):
    """FastGPT has done and stored the turn; only its way back was cut. The stored answer is read, the model is not asked again."""
    house = upstream.house
    await house.chat(session, "【会话开始】")
    await upstream.plant(html_504=1.0)
    response = await house.chat(session, "准备好了", stream=stream)
    await upstream.plant(html_504=0.0)
    told = dict(events(response.text))["done"] if stream else response.json()
    assert (told["code"], told["stateVersion"]) == ("200", 2)
    violations = await house.pool.fetchval("SELECT outcome ->> 'violations' FROM app.turns WHERE session_id = $1 AND version = 2", session)
    assert "read_back" in violations
    assert (await house.chat(session, "没有人受伤，我自己倒车撞到柱子了")).json()["stateVersion"] == 3


async def test_a_photo_is_not_skipped_when_fastgpt_moved_and_we_did_not(upstream: Upstream, session, monkeypatch):
    """FastGPT has advanced its own memory; ours stayed. The retry goes on from where *we* are, on a chat that is seeded so."""
    house = upstream.house
    assert await walk(house, session, *TO_PHOTOS, "【拍摄完成】") == "2002"

    async def fails(record):
        raise StoreUnavailable("commit")

    with monkeypatch.context() as broken:
        broken.setattr(house.store, "commit", fails)
        assert (await house.chat(session, "【拍摄完成】")).json()["code"] == "500"
    assert await walk(house, session, "【拍摄完成】") == "2003"
    assert await walk(house, session, "【拍摄完成】") == "2004"


async def test_the_kill_switch_takes_a_conversation_over_where_it_stands(upstream: Upstream, session):
    house = upstream.house
    await house.publish(default=BackendName.LANGGRAPH)
    langgraph = house.backends[BackendName.LANGGRAPH]
    langgraph.script = lambda turn, state: good_reply(turn, state, stage=StageCode.SINGLE_REAR, patch={"ywrysw": False, "jdcsl": 1})
    await house.chat(session, "好了")
    await house.publish(override=BackendName.FASTGPT)
    assert await walk(house, session, "【拍摄完成】", "【拍摄完成】") == "2004"
    await house.publish(override=None)
    await house.chat(session, "然后呢")
    assert langgraph.sessions[-1].stage is StageCode.SINGLE_PLATE


async def test_a_field_that_was_cleared_stays_cleared(upstream: Upstream, session):
    house = upstream.house
    await walk(house, session, *TO_PHOTOS[:3])
    before = await house.store.read("t1", session)
    assert before is not None
    assert before.form["sgyy"] == "倒车"
    await house.call("/set_info", {"sessionId": session, "key": "sgyy", "value": None})
    answer = (await house.chat(session, "还在现场")).json()
    assert "sgyy" not in answer["formUpdate"]
    after = await house.store.read("t1", session)
    assert after is not None
    assert after.form["sgyy"] is None


async def test_a_conversation_may_open_without_a_word(upstream: Upstream, session):
    answer = (await upstream.house.chat(session, "")).json()
    assert (answer["code"], answer["nextStageCode"]) == ("200", "1001")
