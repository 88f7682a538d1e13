"""The emulator against recordings of the real server: same status line, same headers in the same order, same chunks with the same bytes.

The recorded workflows A, B and K are rebuilt here with a model that says what the recorded stand-in said. Random ids and times are masked.
"""

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from sim.fastgpt.server import DEFAULT_KEY, Options, app_of
from sim.fastgpt.wire import etag_of

pytestmark = pytest.mark.contract

GOLDEN = Path(__file__).parents[2] / "golden" / "fastgpt" / "4.11.1"
PIECES = ["<st", "ate>10", "02</sta", "te>好的，", "已登记您", "的车牌。", "请问对方车", "辆的车牌号是多少？"]
EXTRACTIONS = {
    "对方车牌": {"plateNo": "京B67890"},
    "好的，请继续": {},
    "提取乱码": None,
    "我在朝阳路": {"plateNo": "京A12345", "place": "朝阳路", "accidentType": "追尾", "injured": "无"},
}
VARIABLES = """
variables:
  - {key: caseNo, label: caseNo, type: string}
  - {key: plateNo, label: 车牌号, type: string}
  - {key: place, label: place, type: string}
  - {key: injured, label: injured, type: string}
  - {key: state, label: state, type: string, default: "1001"}
  - {key: form, label: form, type: object}
  - {key: count, label: count, type: number, default: "0"}
  - {key: agree, label: agree, type: boolean}
"""
WORKFLOWS = {
    "A": """
name: 事故-提取更新对话
entry: "448745"
model: accident-llm
history: 6
nodes:
  - {id: "448745", name: 流程开始, type: workflowStart, next: {right: kx81EXtract}}
  - id: kx81EXtract
    name: 事故信息提取
    type: contentExtract
    shows_status: true
    inputs:
      description: 提取事故要素
      content: ["448745", userChatInput]
      prompt: extract
      keys: {plateNo: 车牌号, place: 地点, accidentType: 事故形态, injured: 有无人伤}
      defaults: {injured: 未知}
    next: {right: vu22Update}
  - id: vu22Update
    name: 变量更新
    type: variableUpdate
    inputs:
      updates:
        plateNo: [kx81EXtract, plateNo]
        place: [kx81EXtract, place]
        injured: [kx81EXtract, injured]
        state: ["", "1002"]
        notDeclared: ["", v]
    next: {right: ai33Chat}
  - id: ai33Chat
    name: AI 对话
    type: chatNode
    shows_status: true
    inputs: {content: ["448745", userChatInput], max_tokens: 2000, prompt: 你是交通事故快处助手}
"""
    + VARIABLES,
    "B": """
name: 事故-指定回复
entry: "448745"
model: accident-llm
history: 6
nodes:
  - {id: "448745", name: 流程开始, type: workflowStart, next: {right: an44Reply}}
  - {id: an44Reply, name: 指定回复, type: answerNode, inputs: {text: <state>1003</state>请上传现场照片。}}
"""
    + VARIABLES,
    "K": """
name: 事故-只更新
entry: "448745"
model: accident-llm
history: 6
nodes:
  - {id: "448745", name: 流程开始, type: workflowStart, next: {right: vu24Update}}
  - {id: vu24Update, name: 变量更新, type: variableUpdate, inputs: {updates: {state: ["", "1009"]}}}
"""
    + VARIABLES,
}
# Files of one list were recorded one after the other on the same chats.
CONVERSATIONS = {
    "A-whole": ["01", "02"],
    "A-plain-stream": ["03"],
    "A-three-turns": ["04", "05", "06", "07", "08", "09"],
    "A-refused": ["40", "41", "42", "43", "44", "45"],
    "A-bad-body": ["50", "51", "52", "53", "54", "55"],
    "A-model-refuses": ["60", "61", "62", "63"],
    "A-model-cut": ["66", "67"],
    "A-model-empty": ["68", "69"],
    "A-extraction-garbage": ["72"],
    "A-v2": ["140", "141", "142", "143"],
    "B-fixed-reply": ["10", "11", "12", "13"],
    "B-no-chat-id": ["110", "111"],
    "B-deletions": ["117", "118"],
    "K-empty-string": ["91", "92", "93"],
    "K-bad-types": ["94"],
}
RANDOM = {
    r'"id":"[A-Za-z0-9]{16}"': '"id":"NODE"',
    r'"id":"[A-Za-z0-9]{24}"': '"id":"CHAT"',
    r'"(runningTime|durationSeconds)":[0-9.]+': r'"\1":T',
    r'"dataId":"[A-Za-z0-9]{22}"': '"dataId":"RECORD"',
    r'"time":"[0-9TZ:.\-]+"': '"time":"AT"',
    r'"_id":"[0-9a-f]{24}"': '"_id":"OBJECT"',
    r'"inputTokens":\d+,"outputTokens":\d+': '"tokens":N',
}


def recording(number: str) -> dict[str, Any]:
    [path] = GOLDEN.glob(f"{number}-*.json")
    return json.loads(path.read_text("utf-8"))


def masked(text: str) -> str:
    for pattern, replacement in RANDOM.items():
        text = re.sub(pattern, replacement, text)
    return text


async def model_answers(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    question = body["messages"][-1]["content"]
    if not body["stream"]:
        found = next(value for start, value in EXTRACTIONS.items() if start in question)
        text = "没有可以提取的" if found is None else json.dumps(found, ensure_ascii=False)
        return web.json_response({"choices": [{"message": {"content": text}}], "usage": {"prompt_tokens": 412, "completion_tokens": 38}})
    if "模型401" in question:
        return web.json_response({"error": {"message": "Incorrect API key provided: sk-***"}}, status=401)
    pieces = [] if "空回答" in question else PIECES[:3] if "中途断开" in question else PIECES
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for piece in pieces:
        await response.write(f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]})}\n\n".encode())
    if "中途断开" in question:
        await asyncio.sleep(0.05)
        assert request.transport is not None
        request.transport.abort()
        return response
    await response.write(b'data: {"choices":[],"usage":{"prompt_tokens":655,"completion_tokens":29}}\n\ndata: [DONE]\n\n')
    return response


@pytest.fixture
async def model_url() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", model_answers)
    server = TestServer(app)
    await server.start_server()
    yield str(server.make_url("/v1"))
    await server.close()


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_the_emulator_sends_what_the_real_server_sent(name: str, model_url: str, send: Any):
    server = TestServer(app_of(Options(model_url=model_url, workflow=WORKFLOWS[name[0]])))
    await server.start_server()
    try:
        for number in CONVERSATIONS[name]:
            await assert_equal_to_recording(recording(number), str(server.make_url("")), send)
    finally:
        await server.close()


async def assert_equal_to_recording(recorded: dict[str, Any], base: str, send: Any) -> None:
    request = recorded["request"]
    headers = {name: re.sub("<APP-KEY-.>", DEFAULT_KEY, value) for name, value in request["headers"].items()}
    body = request["body"]
    if body is not None and "raw" in body:
        body = body["raw"].encode()
    got = await send(base, request["method"], request["path"].replace("<", "%3C").replace(">", "%3E"), headers, body)
    assert got.status_line == recorded["status_line"]
    assert comparable_headers(got.headers) == comparable_headers([(name, value) for name, value in recorded["headers"]])
    sent = [base64.b64decode(chunk["b64"]).decode() for chunk in recorded["chunks"]]
    assert [masked(chunk.decode()) for chunk in got.chunks] == [masked(chunk) for chunk in sent]


def comparable_headers(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names in order with their values, without the values that depend on random ids and on the clock."""
    return [(name, "" if name in ("ETag", "Content-Length", "Date") else value) for name, value in headers]


@pytest.mark.parametrize("number", ["01", "02", "10", "40", "50", "52", "62", "93", "118"])
def test_an_etag_is_the_real_servers_hash_of_the_body(number: str):
    recorded = recording(number)
    etag = next(value for name, value in recorded["headers"] if name == "ETag")
    assert etag_of(base64.b64decode(recorded["chunks"][0]["b64"]).decode()) == etag
