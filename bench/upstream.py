"""A canned upstream as a process: FastGPT's completions route in the bytes of 4.11.1, and two chat models beside it.

A protocol on one loop that parses no more of a request than its length and one word of its text, so that it is never what a measurement
waits for. The word decides the answer: SHORT and BURST come in one go, PACED at a model's rhythm. It keeps nothing and checks no key.
"""

import argparse
import asyncio
import json
import os
import re
import socket
import sys
from collections.abc import Mapping
from typing import cast

import orjson

from bench.sessions import QUESTION_REPLY
from cli.loop import run
from wiring.processes import end_with_stdin

SHORT = "两辆车追尾，无人受伤，还在现场"
BURST = "请一次说完全部步骤"
PACED = "请慢慢说明全部步骤"
PATCH: Mapping[str, bool | int | str] = {"ywrysw": False, "sfsgxc": True, "jdcsl": 2, "sgyy": "追尾"}  # what every answer knows
CHUNKS = 60  # text chunks of BURST and PACED
PACE_SECONDS = 0.002
SLOW, INSTANT = "model-slow", "model-instant"  # the chat models, by name
MODEL_SECONDS = 1.0  # how long the slow one thinks before it answers

_HEAD = (
    b"HTTP/1.1 200 OK\r\nX-Frame-Options: DENY\r\nX-Content-Type-Options: nosniff\r\nX-XSS-Protection: 1; mode=block\r\n"
    b"Referrer-Policy: strict-origin-when-cross-origin\r\nConnection: keep-alive\r\n"
    b"Content-Type: text/event-stream;charset=utf-8\r\nAccess-Control-Allow-Origin: *\r\nX-Accel-Buffering: no\r\n"
    b"Cache-Control: no-cache, no-transform\r\nTransfer-Encoding: chunked\r\n\r\n"
)
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_VARIABLES = {
    "ywfjdc": "", "ywmtc": "", "bjrjs": "", "sgfssj": "",
    "xm1": "", "hpzl1": "", "hphm1": "", "sfzmhm1": "", "sjhm1": "",
    "xm2": "", "hpzl2": "", "hphm2": "", "sfzmhm2": "", "sjhm2": "",
    "stage_code": "1002", "count": 0, **PATCH,
}  # fmt: skip


def _write(data: bytes) -> bytes:
    """One HTTP chunk, as one `res.write` of the server makes it."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def _event(name: str, data: bytes) -> bytes:
    """The server writes the name and the data apart."""
    return _write(b"event: %b\n" % name.encode()) + _write(b"data: %b\n\n" % data)


def _delta(text: str | None, finish: str | None = None) -> bytes:
    choice = {"delta": {"role": "assistant", "content": text}, "index": 0, "finish_reason": finish}
    return orjson.dumps({"id": "", "object": "", "created": 0, "model": "", "choices": [choice]})


def _beginning() -> bytes:
    return b"".join(
        (
            _HEAD,
            _event("flowNodeStatus", orjson.dumps({"status": "running", "name": "事故信息提取"})),
            _event("updateVariables", orjson.dumps(_VARIABLES)),
            _event("flowNodeStatus", orjson.dumps({"status": "running", "name": "AI 对话"})),
            _event("answer", _delta("<state>10")),
            _event("answer", _delta("02</state>")),
        )
    )


def _end() -> bytes:
    records = [
        {"id": "wZfYlrgBj1LJPt9C", "nodeId": "448745", "moduleName": "流程开始", "moduleType": "workflowStart", "runningTime": 0},
        {
            "id": "oVhC4gf8Kuzd2RIl", "nodeId": "kx81EXtract", "moduleName": "事故信息提取", "moduleType": "contentExtract",
            "runningTime": 0.17, "totalPoints": 0, "model": "accident-llm", "query": SHORT, "inputTokens": 412, "outputTokens": 38,
            "extractDescription": "提取事故要素", "extractResult": PATCH, "contextTotalLen": 2,
        },
        {
            "id": "vRvKoBURI4pcyIwt", "nodeId": "vu22Update", "moduleName": "变量更新", "moduleType": "variableUpdate", "runningTime": 0,
            "updateVarResult": list(PATCH.values()),
        },
        {
            "id": "cH4tN0de9aQ2LmXz", "nodeId": "ch01Chat", "moduleName": "AI 对话", "moduleType": "chatNode", "runningTime": 0.25,
            "totalPoints": 0, "model": "accident-llm", "query": SHORT, "inputTokens": 655, "outputTokens": 29, "maxToken": 2000,
            "reasoningText": "", "contextTotalLen": 2,
            "historyPreview": [{"obj": "System", "value": "你是交通事故快处助手"}, {"obj": "Human", "value": SHORT}],
        },
    ]  # fmt: skip
    return b"".join(
        (
            _event("workflowDuration", b'{"durationSeconds":0.47}'),
            _event("answer", _delta(None, finish="stop")),
            _event("answer", b"[DONE]"),
            _event("flowResponses", orjson.dumps(records)),
            b"0\r\n\r\n",
        )
    )


_TEXTS = [_event("answer", _delta(text)) for text in ("好的，", "已登记您", "的车牌。", "请问对方", "的车牌号？")]
_LONG = [_event("answer", _delta(f"第{number}步，")) for number in range(CHUNKS)]
_BEGINNING, _END = _beginning(), _end()
_SHORT_ANSWER = b"".join((_BEGINNING, *_TEXTS, _END))
_BURST_ANSWER = b"".join((_BEGINNING, *_LONG, _END))
_PACED_ANSWER = (_BEGINNING + _LONG[0], *_LONG[1:], _END)


def _model_answer(text: str) -> bytes:
    parts = (_write(b"data: %b\n\n" % _delta(part, finish)) for part, finish in ((text, None), ("", "stop")))
    return b"".join((_HEAD, *parts, _write(b"data: [DONE]\n\n"), b"0\r\n\r\n"))


_SLOW_ANSWER, _INSTANT_ANSWER = _model_answer("<state>1002</state>请问车牌号？"), _model_answer(QUESTION_REPLY)


class _Connection(asyncio.Protocol):
    """One keep-alive connection; its caller sends the next request after the answer."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._held = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by its bases

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._held += data
        head, separator, body = self._held.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if separator and len(body) >= (int(length[1]) if length else 0):
            self._held = b""
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"POST /v1/"):
            if INSTANT.encode() in body:
                self._say(_INSTANT_ANSWER)
            else:
                self._loop.call_later(MODEL_SECONDS, self._say, _SLOW_ANSWER)
        elif not head.startswith(b"POST /api/v1/chat/completions"):
            self._say(_NOT_FOUND)
        elif PACED.encode() in body:
            self._say_paced(0)
        else:
            self._say(_BURST_ANSWER if BURST.encode() in body else _SHORT_ANSWER)

    def _say_paced(self, position: int) -> None:
        self._say(_PACED_ANSWER[position])
        if position + 1 < len(_PACED_ANSWER) and self._transport is not None:
            self._loop.call_later(PACE_SECONDS, self._say_paced, position + 1)

    def _say(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Connection, "127.0.0.1", 0, family=socket.AF_INET)
    sys.stdout.write(json.dumps({"ready": True, "port": server.sockets[0].getsockname()[1], "pid": os.getpid()}) + "\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.upstream")
    parser.add_argument("--exit-with-stdin", action="store_true")
    if parser.parse_args().exit_with_stdin:
        end_with_stdin()
    run(_serve())
