"""The routes that read and delete what is stored: chat header with variables, records, node details, deletions."""

import json
from datetime import UTC, datetime
from typing import Any, cast

from aiohttp import web

from sim.fastgpt import wire
from sim.fastgpt.auth import refusal_of
from sim.fastgpt.completions import Server
from sim.fastgpt.memory import Chat, Record
from sim.fastgpt.responses import json_response, refusal_response
from sim.fastgpt.workflow import Workflow

DEFAULT_PAGE = 10
_MODEL_NODES = ("contentExtract", "chatNode")


class ChatsApi:
    def __init__(self, server: Server) -> None:
        self._server = server

    async def init(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        chat_id = request.query.get("chatId", "")
        chat = self._server.chats.find(chat_id)
        app_id = request.query.get("appId", "")
        return json_response(wire.envelope(chat_header(self._server.workflow, chat, chat_id=chat_id, app_id=app_id)))

    async def records(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        body = await _body(request)
        chat = self._server.chats.find(str(body.get("chatId") or ""))
        found = chat.records if chat else []
        offset, size = int(body.get("offset") or 0), int(body.get("pageSize") or DEFAULT_PAGE)
        # Pages count from the newest record, but a page itself reads oldest first.
        end = max(0, len(found) - offset)
        page = found[max(0, end - size) : end]
        return json_response(wire.envelope({"list": [record_body(record) for record in page], "total": len(found)}))

    async def node_details(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        chat = self._server.chats.find(request.query.get("chatId", ""))
        wanted = request.query.get("dataId", "")
        records = chat.records if chat else []
        found = next((record.node_records for record in records if record.data_id == wanted and record.side == "AI"), [])
        return json_response(wire.envelope(found))

    async def histories(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        body = await _body(request)
        chats = self._server.chats.newest_first()
        offset, size = int(body.get("offset") or 0), int(body.get("pageSize") or DEFAULT_PAGE)
        listed = [_listed(chat, str(body.get("appId") or "")) for chat in chats[offset : offset + size]]
        return json_response(wire.envelope({"list": listed, "total": len(chats)}))

    async def delete_chat(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        self._server.chats.delete_chat(request.query.get("chatId", ""))
        return json_response(wire.envelope(None))

    async def delete_record(self, request: web.Request) -> web.Response:
        if (refused := self._refused(request)) is not None:
            return refused
        chat_id, data_id = request.query.get("chatId", ""), request.query.get("contentId", "")
        if not chat_id or not data_id:
            return json_response(wire.error_envelope("contentId or chatId is empty"), status=500)
        self._server.chats.delete_record(chat_id, data_id)
        return json_response(wire.envelope(None))

    def _refused(self, request: web.Request) -> web.Response | None:
        refusal = refusal_of(request.headers.get("Authorization"), self._server.keys)
        return None if refusal is None else refusal_response(refusal)


def chat_header(workflow: Workflow, chat: Chat | None, *, chat_id: str, app_id: str) -> dict[str, Any]:
    """`variables` is the stored set; a chat that is not known has none and no title."""
    title = {} if chat is None else {"title": chat.title}
    off = {"open": False}
    config = {
        "questionGuide": off | {"model": "gpt-4o-mini", "customPrompt": ""},
        "ttsConfig": {"type": "web"},
        "whisperConfig": off | {"autoSend": False, "autoTTSResponse": False},
        "chatInputGuide": off | {"textList": [], "customUrl": ""},
        "instruction": "",
        "autoExecute": off | {"defaultPrompt": ""},
        "variables": [_declared_body(item.key, item.label, item.type, item.default) for item in workflow.variables],
        "welcomeText": "",
    }
    app = {
        "chatConfig": config,
        "chatModels": [workflow.model],
        "name": workflow.name,
        "avatar": "/icon/logo.svg",
        "intro": "",
        "type": "advanced",
        "pluginInputs": [],
    }
    return {"chatId": chat_id, "appId": app_id} | title | {"variables": chat.variables if chat else {}, "app": app}


def record_body(record: Record) -> dict[str, Any]:
    duration = {} if record.duration_s is None else {"durationSeconds": record.duration_s}
    body: dict[str, Any] = {"dataId": record.data_id} | duration
    body |= {
        "hideInUI": False,
        "obj": record.side,
        "time": _stamp(record.at),
        "value": wire.text_value(record.text),
        "_id": record.object_id,
    }
    if record.side == "Human":
        return body
    used = [item for item in record.node_records if item["moduleType"] in _MODEL_NODES]
    chats = [item["historyPreview"] for item in used if "historyPreview" in item]
    length = {"historyPreviewLength": len(chats[-1])} if chats else {}
    accounted = sum(1 for item in record.node_records if item["moduleType"] == "chatNode")
    return body | {"llmModuleAccount": accounted, "totalQuoteList": []} | length


def _declared_body(key: str, label: str, kind: str, default: str | None) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": key,
        "key": key,
        "label": label,
        "type": "custom",
        "required": False,
        "description": "",
        "valueType": kind,
    }
    return body if default is None else body | {"defaultValue": default}


def _listed(chat: Chat, app_id: str) -> dict[str, Any]:
    return {
        "chatId": chat.chat_id,
        "updateTime": _stamp(chat.updated_at),
        "appId": app_id,
        "customTitle": "",
        "title": chat.title,
        "top": False,
    }


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


async def _body(request: web.Request) -> dict[str, Any]:
    try:
        parsed = cast("object", json.loads(await request.read() or b"{}"))
    except ValueError:
        return {}
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
