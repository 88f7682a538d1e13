"""The scripted model and the emulated server in this process, on free ports, for tests that talk to them over real HTTP."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from sim.fastgpt.server import DEFAULT_KEY, Options, app_of
from sim.model.server import Behaviour, ModelServer

CLOCK = "2026-07-27 15:20:00"


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A client of the emulated server that plays one chat, whole answers with detail."""

    http: aiohttp.ClientSession
    base: str

    async def raw(self, text: str, *, chat_id: str, **body: Any) -> aiohttp.ClientResponse:
        payload = {"chatId": chat_id, "stream": False, "detail": True, "messages": [{"role": "user", "content": text}]} | body
        payload["variables"] = {"now": CLOCK} | dict(body.get("variables") or {})
        return await self.http.post(
            f"{self.base}/api/v1/chat/completions", json=payload, headers={"Authorization": f"Bearer {DEFAULT_KEY}"}
        )

    async def say(self, text: str, *, chat_id: str = "c-1", variables: dict[str, Any] | None = None) -> dict[str, Any]:
        response = await self.raw(text, chat_id=chat_id, variables=variables)
        assert response.status == 200
        return await response.json()


Starter = Callable[..., Awaitable[Dialogue]]


@pytest.fixture
async def start() -> AsyncIterator[Starter]:
    """Starts a model and a server with the given options and gives a client; all are closed at the end."""
    runners: list[web.AppRunner] = []

    async def listening(app: web.Application) -> str:
        # The runner of the real process, not aiohttp's test server: that one cancels a handler whose client left.
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        runners.append(runner)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}"

    async with aiohttp.ClientSession() as http:

        async def begin(*, faults: dict[str, float] | None = None, delay_ms: float = 0.0, **options: Any) -> Dialogue:
            model = await listening(ModelServer(Behaviour(faults=faults or {}, delay_ms=delay_ms)).app())
            return Dialogue(http, await listening(app_of(Options(model_url=f"{model}/v1", **options))))

        yield begin
        for runner in reversed(runners):
            await runner.cleanup()
