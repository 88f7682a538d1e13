"""The model is away: what partners get, what stays as it was, what goes on without it, and what is kept of a turn that asked one."""

import json
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from backends.langgraph.backend import LangGraphBackend
from backends.langgraph.model.openai_model import OpenAiModel
from domain.backend_name import BackendName
from domain.published import tables_digest
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.house import House, open_house
from tests.fakes.model_server import ModelServer, model_server
from tests.fakes.scripted_backend import ScriptedBackend
from tests.fakes.values import NOON
from wiring.database import Database

pytestmark = [pytest.mark.integration, pytest.mark.graph]

COLLECTING = "<state>1002</state>好的，请问有没有人受伤？"


@pytest_asyncio.fixture
async def served(database: Database) -> AsyncGenerator[tuple[House, ModelServer]]:
    async with model_server() as server:
        model = OpenAiModel(base_url=server.url, api_key="key-of-tests", model="scripted")
        backends = {
            BackendName.LANGGRAPH: LangGraphBackend(model, None, FixedClock(NOON)),
            BackendName.FASTGPT: ScriptedBackend(name=BackendName.FASTGPT),
        }
        async with open_house(database, backends, FixedClock(NOON), shadow_enabled=False) as house:
            yield house, server
        await model.aclose()


async def stored(house: House, session: str) -> tuple[object, ...]:
    row = await house.pool.fetchrow("SELECT * FROM app.accident_sessions WHERE session_id = $1", session)
    return tuple(row) if row else ()


async def test_a_turn_without_its_model_changes_nothing_and_succeeds_when_it_is_back(served: tuple[House, ModelServer]):
    house, server = served
    await house.chat("S-down", "【会话开始】")
    before = await stored(house, "S-down")
    refused = await house.chat("S-down", "我在高速上追尾了", X_Request_ID="r-1")  # nothing scripted: the server answers 500
    assert refused.json()["code"] == "500"
    assert "追尾" not in refused.text
    assert "key-of-tests" not in refused.text
    assert await stored(house, "S-down") == before
    server.then("r-2", COLLECTING)
    answered = await house.chat("S-down", "准备好了", X_Request_ID="r-2")
    assert (answered.json()["code"], answered.json()["nextStageCode"]) == ("200", "1002")


async def test_what_needs_no_model_goes_on_without_one(served: tuple[House, ModelServer]):
    house, server = served
    session = "S-events"
    assert (await house.chat(session, "【会话开始】")).json()["nextStageCode"] == "1001"
    assert (await house.chat(session, "【用户无回复】")).json()["code"] == "200"
    assert (await house.call("/set_info", {"sessionId": session, "key": "jdcsl", "value": "2"})).json()["code"] == "200"
    assert (await house.call("/get_info", {"sessionId": session, "key": "jdcsl"})).json()["value"] == "2"
    assert (await house.chat(session, "对方受伤流血了")).json()["nextStageCode"] == "0003"
    assert (await house.chat(session, "喂")).json()["nextStageCode"] == "0003"
    assert server.asked == []


async def test_a_turn_keeps_which_model_wording_and_rules_served_it(served: tuple[House, ModelServer]):
    house, server = served
    server.then("r-kept", COLLECTING)
    await house.chat("S-kept", "准备好了", X_Request_ID="r-kept")
    row = await house.pool.fetchrow("SELECT request_id, outcome FROM app.turns WHERE session_id = 'S-kept'")
    assert row["request_id"] == "r-kept"
    assert [asked.request_id for asked in server.asked] == ["r-kept"]
    outcome = json.loads(row["outcome"])
    assert outcome["model"] == {"name": "scripted", "prompt_tokens": 31, "completion_tokens": 7}
    assert f"tables-{tables_digest()}" in outcome["receipt"]["build"]
    assert "prompts-" in outcome["receipt"]["build"]


async def test_tokens_that_nobody_counted_are_not_made_up(served: tuple[House, ModelServer]):
    house, server = served
    server.counts_tokens = False
    server.then("r-blind", COLLECTING)
    await house.chat("S-blind", "准备好了", X_Request_ID="r-blind")
    outcome = json.loads(await house.pool.fetchval("SELECT outcome FROM app.turns WHERE session_id = 'S-blind'"))
    assert outcome["model"] == {"name": "scripted", "prompt_tokens": None, "completion_tokens": None}
