"""Both real backends with their simulated upstreams, in this process and over real sockets: FastGPT's emulator and a scripted model."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from httpx_aiohttp import AiohttpTransport

from backends.fastgpt.backend import FastGptBackend
from backends.fastgpt.config import FastGptConfig
from backends.langgraph.backend import LangGraphBackend
from backends.langgraph.checkpoints import open_saver
from backends.langgraph.model.openai_model import OpenAiModel
from contract.ports import Backend, Clock
from domain.backend_name import BackendName
from sim.fastgpt.server import Options, app_of
from sim.model.server import Behaviour, ModelServer
from sim.traffic.scenario import Say, Step, load_scenarios
from storage.tables import LANGGRAPH
from wiring.clock import SystemClock
from wiring.database import Database

KEY = "fastgpt-both-sides-0001"
PENDING = {
    "pending_question": "pending",
    "candidates": "candidates",
    "photo_failures": "photo_failures",
    "no_response_count": "no_reply_count",
    "partials": "partials",
    "clarification_counts": "clarification_counts",
    "alarms": "alarms",
}


@asynccontextmanager
async def listening(app: web.Application) -> AsyncGenerator[str]:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@dataclass(slots=True, kw_only=True)
class Upstreams:
    """`calls` are the completion bodies FastGPT was sent, oldest first; `reads` the other calls as (method, path)."""

    fastgpt_url: str
    model_url: str
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    reads: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def plant(self, **rates: float) -> None:
        async with aiohttp.ClientSession() as http, http.post(f"{self.fastgpt_url}/sim/plant", json=rates) as response:
            assert response.status == 200


@asynccontextmanager
async def upstreams() -> AsyncGenerator[Upstreams]:
    async with listening(ModelServer(Behaviour()).app()) as model_url:
        app, known = app_of(Options(model_url=f"{model_url}/v1", keys=(KEY,))), []

        @web.middleware
        async def noting(request: web.Request, handler: Callable[..., Any]) -> web.StreamResponse:
            if request.path.endswith("/chat/completions"):
                known[0].calls.append(await request.json())
            elif not request.path.startswith("/sim"):
                known[0].reads.append((request.method, request.path))
            return await handler(request)

        app.middlewares.append(noting)
        async with listening(app) as url:
            known.append(Upstreams(fastgpt_url=url, model_url=f"{model_url}/v1"))
            yield known[0]


def fastgpt_config(up: Upstreams, **changes: Any) -> FastGptConfig:
    given: dict[str, Any] = {
        "base_url": up.fastgpt_url, "api_key": KEY, "chat_secret": "s", "app_id": "a", "pending_variables": PENDING, **changes,
    }  # fmt: skip
    return FastGptConfig(**given)


@asynccontextmanager
async def both_backends(
    database: Database, up: Upstreams, clock: Clock | None = None, **config: Any
) -> AsyncGenerator[dict[BackendName, Backend]]:
    clock = clock or SystemClock()
    async with AiohttpTransport() as http, open_saver(database.app_dsn, LANGGRAPH) as saver:
        model = OpenAiModel(base_url=up.model_url, api_key="k", model="sim")
        made = {
            BackendName.FASTGPT: FastGptBackend(fastgpt_config(up, **config), http, clock),
            BackendName.LANGGRAPH: LangGraphBackend(model, saver, clock),
        }
        yield made
        for backend in made.values():
            await backend.aclose()


def steps_of(scenario: str) -> tuple[Step, ...]:
    return next(item.steps for item in load_scenarios() if item.name == scenario)


def said_in(scenario: str) -> list[str]:
    return [step.text for step in steps_of(scenario) if isinstance(step, Say)]
