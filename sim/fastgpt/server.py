"""Puts the emulator together: routes, the model's client, and the two routes of its own under /sim."""

import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import aiohttp
from aiohttp import web

from sim.fastgpt.chats_api import ChatsApi
from sim.fastgpt.completions import Completions, Server
from sim.fastgpt.eras import ERAS
from sim.fastgpt.limits import Limits
from sim.fastgpt.memory import Chats
from sim.fastgpt.model_client import ModelClient
from sim.fastgpt.plants import Planting
from sim.fastgpt.responses import order_headers
from sim.fastgpt.script import Script, script_from
from sim.fastgpt.workflow import load_workflow

DEFAULT_KEY = "fastgpt-demo-key-0001"
HEARTBEAT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`noise` is the share of model answers in another wording, `plants` the share of sessions with each planted difference.

    `workflow` is YAML text; None takes the accident workflow.
    """

    model_url: str
    era: str = "4.11.1"
    keys: tuple[str, ...] = (DEFAULT_KEY,)
    noise: float = 0.0
    plants: Mapping[str, float] = field(default_factory=dict[str, float])
    seed: int = 0
    delay_ms: float = 0.0
    heartbeat_s: float = HEARTBEAT_S
    workflow: str | None = None
    script: str | None = None  # YAML text: which call of which chat goes wrong (sim/fastgpt/script.py)
    calls_per_minute: int | None = None  # the newest release limits a team's calls


def app_of(options: Options) -> web.Application:
    server = Server(
        era=ERAS[options.era],
        keys=frozenset(options.keys),
        workflow=load_workflow(options.workflow),
        chats=Chats(),
        planting=Planting(options.plants, options.seed),
        noise=options.noise,
        noise_chance=random.Random(options.seed),
        delay_s=options.delay_ms / 1000,
        heartbeat_s=options.heartbeat_s,
        stats=Counter(),
        script=script_from(options.script) if options.script else Script(),
        limits=Limits(locks_chats=ERAS[options.era].locks_chats, per_minute=options.calls_per_minute, now=time.monotonic),
    )
    app = web.Application(client_max_size=16 * 1024 * 1024)

    async def with_routes(app: web.Application) -> AsyncIterator[None]:
        # No limit on connections: a slow model must not queue the calls of other chats.
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            holder["completions"] = Completions(server, ModelClient(http, options.model_url))
            yield

    holder: dict[str, Completions] = {}
    app.cleanup_ctx.append(with_routes)

    async def v1(request: web.Request) -> web.StreamResponse:
        return await holder["completions"].v1(request)

    async def v2(request: web.Request) -> web.StreamResponse:
        return await holder["completions"].v2(request)

    async def dress(request: web.Request, response: web.StreamResponse) -> None:
        order_headers(response, server.era)

    app.on_response_prepare.append(dress)
    app.router.add_route("*", "/api/v1/chat/completions", v1)
    if server.era.has_v2:
        app.router.add_route("*", "/api/v2/chat/completions", v2)
    _add_chat_routes(app, ChatsApi(server))
    _add_own_routes(app, server)
    return app


def _add_chat_routes(app: web.Application, api: ChatsApi) -> None:
    app.router.add_get("/api/core/chat/init", api.init)
    app.router.add_post("/api/core/chat/getPaginationRecords", api.records)
    app.router.add_get("/api/core/chat/getResData", api.node_details)
    app.router.add_post("/api/core/chat/getHistories", api.histories)
    app.router.add_delete("/api/core/chat/delHistory", api.delete_chat)
    app.router.add_delete("/api/core/chat/item/delete", api.delete_record)


def _add_own_routes(app: web.Application, server: Server) -> None:
    async def stats(request: web.Request) -> web.Response:
        return web.json_response({"calls": 0} | dict(server.stats) | {"chats": len(server.chats), "plants": server.planting.rates()})

    async def plant(request: web.Request) -> web.Response:
        try:
            rates = cast("dict[str, Any]", await request.json())
            changed = server.planting.change({name: float(rate) for name, rate in rates.items()})
        except (ValueError, TypeError, AttributeError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"plants": changed})

    app.router.add_get("/sim/stats", stats)
    app.router.add_post("/sim/plant", plant)
