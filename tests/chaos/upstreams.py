"""The simulators in one process, with a journal: who asked the model, who asked FastGPT and in which chat, and what those chats hold.

`python -m tests.chaos.upstreams` prints one line with the ports. The journal is read at /journal?prefix=…, by X-Request-ID.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

import sim.fastgpt.server
from sim.fastgpt.memory import Chats
from sim.fastgpt.server import Options, app_of
from sim.model.server import Behaviour, ModelServer
from sim.process import HOST

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
FASTGPT_KEY = "fastgpt-chaos-key-0001"


class Journal:
    """Append-only; rows are told by the beginning of their request id."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.chats: list[Chats] = []

    def keeping_chats(self) -> type[Chats]:
        journal = self

        class KeptChats(Chats):
            def __init__(self) -> None:
                super().__init__()
                journal.chats.append(self)

        return KeptChats

    @web.middleware
    async def watch_model(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.endswith("/chat/completions") and (request_id := request.headers.get("X-Request-ID")):
            self.rows.append({"asked": "model", "request_id": request_id})
        return await handler(request)

    @web.middleware
    async def watch_fastgpt(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.endswith("/chat/completions"):
            body = json.loads(await request.read())
            row = {
                "asked": "fastgpt",
                "request_id": request.headers.get("X-Request-ID", ""),
                "chat_id": body.get("chatId", ""),
                "answer_id": body.get("responseChatItemId", ""),
            }
            self.rows.append(row)
        return await handler(request)

    async def tell(self, request: web.Request) -> web.Response:
        prefix = request.query["prefix"]
        asked = [row for row in self.rows if row["request_id"].startswith(prefix)]
        return web.json_response({"asked": asked, "chats": self._held({row["chat_id"] for row in asked if "chat_id" in row})})

    def _held(self, chat_ids: set[str]) -> dict[str, list[dict[str, str]]]:
        found = {chat_id: chat for chats in self.chats for chat_id in chat_ids if (chat := chats.find(chat_id))}
        return {
            chat_id: [{"side": record.side, "text": record.text, "id": record.data_id} for record in chat.records]
            for chat_id, chat in found.items()
        }


async def _serve() -> None:
    journal = Journal()
    sim.fastgpt.server.Chats = journal.keeping_chats()
    ports: dict[str, int] = {}

    async def open_(name: str, app: web.Application) -> None:
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, HOST, 0).start()
        ports[name] = runner.addresses[0][1]

    model = ModelServer(Behaviour()).app()
    model.middlewares.append(journal.watch_model)
    await open_("model", model)
    fastgpt = app_of(Options(model_url=f"http://{HOST}:{ports['model']}/v1", keys=(FASTGPT_KEY,)))
    fastgpt.middlewares.append(journal.watch_fastgpt)
    await open_("fastgpt", fastgpt)
    own = web.Application()
    own.router.add_get("/journal", journal.tell)
    await open_("journal", own)
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.buffer.read)  # until whoever started us is gone


if __name__ == "__main__":
    asyncio.run(_serve())
