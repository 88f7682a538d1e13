"""The simulators in one process, with a journal: who asked the model, who asked FastGPT and in which chat, and what those chats hold.
The shadow has simulators of its own.

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
PIECE_SIZES = (4, 1, 2, 6, 3, 5)
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

    def watching(self, asked: str) -> Any:
        """Notes every call for an answer that names the turn it is for. FastGPT's own calls of the model name none."""

        @web.middleware
        async def watch(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.path.endswith("/chat/completions") and (request_id := request.headers.get("X-Request-ID")):
                body = json.loads(await request.read())
                row = {"asked": asked, "request_id": request_id}
                self.rows.append(row | ({"chat_id": body["chatId"]} if "chatId" in body else {}))
            return await handler(request)

        return watch

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


def _model() -> web.Application:
    """The seed of the case (`<case>-<seed>.t…` is the request's id) decides how many characters a piece of the model's text has."""
    servers = [ModelServer(Behaviour(chunk_chars=size)) for size in PIECE_SIZES]

    async def complete(request: web.Request) -> web.StreamResponse:
        seed = request.headers.get("X-Request-ID", "").partition(".")[0].rpartition("-")[2]
        return await servers[int(seed) % len(servers) if seed.isdigit() else 0].complete(request)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_get("/v1/models", servers[0].models)
    return app


async def _serve() -> None:
    journal = Journal()
    sim.fastgpt.server.Chats = journal.keeping_chats()
    ports: dict[str, int] = {}

    async def open_(name: str, app: web.Application) -> None:
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, HOST, 0).start()
        ports[name] = runner.addresses[0][1]

    for prefix in ("", "shadow_"):
        model = _model()
        model.middlewares.append(journal.watching(f"{prefix}model"))
        await open_(f"{prefix}model", model)
        fastgpt = app_of(Options(model_url=f"http://{HOST}:{ports[f'{prefix}model']}/v1", keys=(FASTGPT_KEY,)))
        fastgpt.middlewares.append(journal.watching(f"{prefix}fastgpt"))
        await open_(f"{prefix}fastgpt", fastgpt)
    own = web.Application()
    own.router.add_get("/journal", journal.tell)
    await open_("journal", own)
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.buffer.read)  # until whoever started us is gone


if __name__ == "__main__":
    asyncio.run(_serve())
