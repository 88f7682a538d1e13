"""The old service's way to write a field on FastGPT, as a compatibility setting: a call of its own in the session's chat, whose two records
are deleted. What a partner sees is the same with and without it."""

import uuid

import httpx
import pytest

from domain.backend_name import BackendName
from tests.fakes.both_sides import KEY, both_backends, said_in, upstreams
from tests.fakes.house import open_house
from wiring.clock import SystemClock

pytestmark = [pytest.mark.contract, pytest.mark.integration]

SAID = said_in("single_normal")
WRITTEN = b'{"code":"200","msg":"success"}'


@pytest.mark.parametrize("words", [None, "【写入变量】"])
async def test_the_field_is_in_the_chat_at_once_and_no_record_shows_how_it_came_there(database, words):
    session = f"write-{uuid.uuid4().hex[:6]}"
    async with (
        upstreams() as up,
        both_backends(database, up, write_chat=words) as backends,
        open_house(database, backends, SystemClock(), default=BackendName.FASTGPT) as house,
        httpx.AsyncClient(base_url=up.fastgpt_url, headers={"authorization": f"Bearer {KEY}"}) as upstream,
    ):
        for text in SAID[:2]:
            await house.chat(session, text)
        chat_id = up.calls[-1]["chatId"]
        answer = await house.call("/set_info", {"sessionId": session, "key": "sjhm1", "value": "13800138000"})
        assert answer.content == WRITTEN
        header = (await upstream.get("/api/core/chat/init", params={"appId": "a", "chatId": chat_id})).json()["data"]
        assert header["variables"].get("sjhm1") == ("13800138000" if words else None)
        body = {"appId": "a", "chatId": chat_id, "offset": 0, "pageSize": 20}
        records = (await upstream.post("/api/core/chat/getPaginationRecords", json=body)).json()["data"]["list"]
        assert [one["obj"] for one in records] == ["Human", "AI"] * 2
        assert len(up.calls) == (3 if words else 2)
        assert (await house.chat(session, SAID[2])).json()["stateVersion"] == 4
        assert up.calls[-1]["variables"]["sjhm1"] == "13800138000"  # it rides with the next call either way


async def test_a_fastgpt_that_is_out_of_order_does_not_cost_the_write(database):
    async with (
        upstreams() as up,
        both_backends(database, up, write_chat="【写入变量】") as backends,
        open_house(database, backends, SystemClock(), default=BackendName.FASTGPT) as house,
    ):
        await house.chat("out-of-order", SAID[0])
        up_url = backends[BackendName.FASTGPT]._client._completions_url
        backends[BackendName.FASTGPT]._client._completions_url = httpx.URL("http://127.0.0.1:9/api/v1/chat/completions")
        answer = await house.call("/set_info", {"sessionId": "out-of-order", "key": "sjhm1", "value": "13800138000"})
        backends[BackendName.FASTGPT]._client._completions_url = up_url
        assert answer.content == WRITTEN
        told = await house.pool.fetchval("SELECT outcome ->> 'violations' FROM app.turns WHERE session_id = 'out-of-order' AND version = 2")
        assert "write_chat_failed" in told
