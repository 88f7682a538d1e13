"""The scripted model over HTTP: the OpenAI shape, and faults on purpose."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer

from sim.model.server import Behaviour, ModelServer

pytestmark = pytest.mark.unit

PATH = "/v1/chat/completions"
MESSAGES = [
    {"role": "system", "content": "回答的开头必须原样写：<state>1002</state>\n本轮要对用户说的内容：一共几辆机动车？"},
    {"role": "user", "content": "好"},
]
TEXT = "<state>1002</state>一共几辆机动车？"

Client = TestClient[Any, Any]
Begin = Callable[[Behaviour], Awaitable[Client]]


@pytest.fixture
async def begin() -> AsyncIterator[Begin]:
    clients: list[Client] = []

    async def start(behaviour: Behaviour) -> Client:
        client = TestClient(TestServer(ModelServer(behaviour).app()))
        await client.start_server()
        clients.append(client)
        return client

    yield start
    for client in clients:
        await client.close()


async def test_a_whole_answer_has_the_openai_shape(begin: Begin):
    client = await begin(Behaviour())
    body = await (await client.post(PATH, json={"model": "m", "messages": MESSAGES})).json()
    assert body["object"] == "chat.completion"
    assert body["choices"][0] == {"index": 0, "message": {"role": "assistant", "content": TEXT}, "logprobs": None, "finish_reason": "stop"}
    assert body["usage"]["total_tokens"] == body["usage"]["prompt_tokens"] + body["usage"]["completion_tokens"]


async def test_streamed_pieces_add_up_to_the_whole_answer(begin: Begin):
    client = await begin(Behaviour(chunk_chars=3))
    options = {"include_usage": True}
    response = await client.post(PATH, json={"messages": MESSAGES, "stream": True, "stream_options": options})
    blocks = (await response.text()).split("\n\n")
    assert blocks[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(block.removeprefix("data: ")) for block in blocks[:-2]]
    assert "".join(choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"]) == TEXT
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] > 0


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"messages":[]}', b'{"messages":"x"}'])
async def test_a_broken_request_gets_an_error_body(begin: Begin, body: bytes):
    client = await begin(Behaviour())
    response = await client.post(PATH, data=body)
    assert response.status == 400
    assert (await response.json())["error"]["type"] == "invalid_request_error"


async def test_calls_are_counted(begin: Begin):
    client = await begin(Behaviour())
    await client.post(PATH, json={"messages": MESSAGES})
    assert await (await client.get("/sim/stats")).json() == {"calls": 1, "ChatPrompt": 1}


async def test_a_fault_with_rate_one_hits_every_call(begin: Begin):
    client = await begin(Behaviour(faults={"http500": 1.0}))
    assert {(await client.post(PATH, json={"messages": MESSAGES})).status for _ in range(3)} == {500}


@pytest.mark.parametrize(("fault", "start"), [("garbage", "作为"), ("illegal", "<state>9998</state>"), ("empty", "")])
async def test_a_wrong_answer_can_be_ordered(begin: Begin, fault: str, start: str):
    client = await begin(Behaviour(faults={fault: 1.0}))
    body = await (await client.post(PATH, json={"messages": MESSAGES})).json()
    text = body["choices"][0]["message"]["content"]
    assert text.startswith(start)
    assert text != TEXT


async def test_a_cut_drops_the_socket_in_mid_stream(begin: Begin):
    client = await begin(Behaviour(faults={"cut": 1.0}))
    response = await client.post(PATH, json={"messages": MESSAGES, "stream": True})
    with pytest.raises(aiohttp.ClientPayloadError):
        await response.text()
