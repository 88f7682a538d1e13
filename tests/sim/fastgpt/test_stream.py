"""The stream while it runs: heartbeats, a client that leaves, two calls at once, other eras' tails."""

import asyncio
import json
from typing import Any

import pytest

from sim.fastgpt.server import DEFAULT_KEY

pytestmark = pytest.mark.contract

HEADERS = {"Authorization": f"Bearer {DEFAULT_KEY}"}


def asked(text: str, **body: Any) -> dict[str, Any]:
    return {"chatId": "c-1", "stream": True, "detail": True, "messages": [{"role": "user", "content": text}]} | body


async def events(client: Any, send: Any, path: str = "/api/v1/chat/completions", **body: Any) -> list[tuple[str, str]]:
    """Name and payload of each event; an unnamed one has an empty name."""
    got = await send(client.base, "POST", path, HEADERS, asked("准备好了", **body))
    found, name = list[tuple[str, str]](), ""
    for chunk in got.chunks:
        text = chunk.decode()
        assert text.endswith("\n\n") == text.startswith("data: ")
        if text.startswith("event: "):
            name = text.removeprefix("event: ").rstrip("\n")
        else:
            found.append((name, text.removeprefix("data: ").rstrip("\n")))
            name = ""
    return found


async def test_an_event_is_two_writes_and_the_tail_is_in_order(start: Any, send: Any):
    names = [name for name, _ in await events(await start(), send)]
    assert names[-4:] == ["workflowDuration", "answer", "answer", "flowResponses"]
    assert names.index("updateVariables") < names.index("answer")


async def test_without_detail_only_bare_text_passes(start: Any, send: Any):
    found = await events(await start(), send, detail=False)
    assert {name for name, _ in found} == {""}
    assert found[-1][1] == "[DONE]"


async def test_the_second_api_tells_each_nodes_record_at_once(start: Any, send: Any):
    names = [name for name, _ in await events(await start(), send, "/api/v2/chat/completions")]
    assert "flowResponses" not in names
    assert names.count("flowNodeResponse") == 10
    assert names[-1] == "answer"


@pytest.mark.parametrize(
    ("era", "tail"),
    [
        ("4.9.0", ["answer", "answer", "flowResponses"]),
        ("4.11.1", ["answer", "answer", "flowResponses"]),
        ("4.16.0", ["answer", "flowResponses", "answer"]),
    ],
)
async def test_eras_differ_in_their_tail(start: Any, send: Any, era: str, tail: list[str]):
    names = [name for name, _ in await events(await start(era=era), send)]
    assert names[-3:] == tail
    assert ("workflowDuration" in names) == (era != "4.9.0")


async def test_a_waiting_client_gets_heartbeats_with_empty_text(start: Any, send: Any):
    client = await start(heartbeat_s=0.02, delay_ms=100)
    texts = [
        json.loads(data)["choices"][0]["delta"]["content"]
        for name, data in await events(client, send)
        if name == "answer" and data != "[DONE]"
    ]
    assert texts.count("") >= 2
    assert "".join(text for text in texts if text) == "<state>1002</state>现场有人受伤吗？"


async def test_a_client_that_leaves_cuts_the_saved_text(start: Any):
    client = await start(delay_ms=150)
    response = await client.raw("准备好了", chat_id="gone", stream=True)
    async for piece in response.content.iter_any():
        if b"<state>" in piece:
            break
    response.close()
    listed: dict[str, Any] = {}
    for _ in range(100):
        body = {"chatId": "gone", "offset": 0, "pageSize": 10}
        listed = await (await client.http.post(f"{client.base}/api/core/chat/getPaginationRecords", json=body, headers=HEADERS)).json()
        if listed["data"]["total"]:
            break
        await asyncio.sleep(0.02)
    saved = listed["data"]["list"][1]["value"][0]["text"]["content"]
    assert saved.startswith("<state>")
    assert len(saved) < len("<state>1002</state>现场有人受伤吗？")


async def test_a_client_that_left_before_the_chat_keeps_later_nodes_from_starting(start: Any):
    client = await start(delay_ms=150)
    response = await client.raw("准备好了", chat_id="gone", stream=True)
    response.close()
    for _ in range(100):
        stats = await (await client.http.get(f"{client.base}/sim/stats")).json()
        if stats["chats"]:
            break
        await asyncio.sleep(0.02)
    header = await (await client.http.get(f"{client.base}/api/core/chat/init?chatId=gone", headers=HEADERS)).json()
    assert header["data"]["variables"]["stage_code"] == "1001"


async def test_two_calls_at_once_read_the_same_past_and_the_last_one_wins(start: Any):
    client = await start(delay_ms=20)
    await asyncio.gather(client.say("准备好了"), client.say("好了，刚刚追尾了"))
    header = await (await client.http.get(f"{client.base}/api/core/chat/init?chatId=c-1", headers=HEADERS)).json()
    variables = header["data"]["variables"]
    assert variables["stage_code"] == "1002"
    assert len({variables["sgyy"]}) == 1


async def test_a_matching_etag_gives_an_empty_answer(start: Any, send: Any):
    client = await start()
    body = asked("【会话开始】", stream=False, detail=False)
    first = await send(client.base, "POST", "/api/v1/chat/completions", HEADERS, body)
    again = await client.http.post(
        f"{client.base}/api/v1/chat/completions", json=body, headers=HEADERS | {"If-None-Match": first.header("ETag")}
    )
    assert again.status == 304
    assert await again.read() == b""


@pytest.mark.parametrize(
    ("fault", "said"),
    [("http500", "500 The server had an error."), ("cut", "Connection error."), ("empty", "chat:LLM_model_response_empty")],
)
async def test_a_failing_model_ends_the_flow_in_silence(start: Any, fault: str, said: str):
    client = await start(faults={fault: 1.0})
    answer = await client.say("准备好了")
    assert answer["responseData"][-1]["errorText"] == said
    assert "error" not in answer


async def test_the_magic_chat_id_is_not_kept(start: Any):
    client = await start()
    await client.say("准备好了", chat_id="NO_RECORD_HISTORIES")
    assert (await (await client.http.get(f"{client.base}/sim/stats")).json())["chats"] == 0
