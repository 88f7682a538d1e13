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
from sim.fastgpt.server import Options, app_of
from sim.model.server import Behaviour, ModelServer
from tests.fakes.house import House, open_house
from tests.fakes.scripted_backend import ScriptedBackend
from tests.proxy.test_turn_path import events
from wiring.clock import SystemClock

pytestmark = [pytest.mark.contract, pytest.mark.integration]

KEY = "fastgpt-faults-0001"
FAULTS = ("drop_mid_stream", "garbage", "http_error_body", "html_504", "node_error")


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
        fastgpt = FastGptBackend(FastGptConfig(base_url=url, api_key=KEY, chat_secret="s", app_id="a"), http, SystemClock())
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
