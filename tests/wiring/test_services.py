"""The process as it is really put together: ready when it can serve, alive and honest when it cannot."""

import asyncio

import httpx
import pytest

from wiring.database import Database
from wiring.services import open_proxy, open_shadow_worker
from wiring.settings import FastGptSettings, LlmSettings, Settings

pytestmark = pytest.mark.integration

NOWHERE = "postgresql://nobody@127.0.0.1:1/none"


@pytest.fixture
def settings(tmp_path) -> Settings:
    return Settings(
        state_dir=tmp_path,
        fastgpt=FastGptSettings(base_url="http://127.0.0.1:9", api_key="k", app_id="a"),
        llm=LlmSettings(base_url="http://127.0.0.1:9/v1", api_key="k", model="m"),
    )


def client(app) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://p")


async def test_a_whole_process_is_ready_without_asking_any_upstream(settings, database):
    async with open_proxy(settings, database) as proxy, client(proxy.app) as http:
        response = await http.get("/health/ready")
        assert response.json() == {
            "status": "ready",
            "checks": dict.fromkeys(("configuration", "postgresql", "rollout_plan", "backend_fastgpt", "backend_langgraph"), "ok"),
        }
        assert response.status_code == 200


async def test_without_its_database_a_process_lives_says_not_ready_and_promises_nothing(settings):
    away = Database(app_dsn=NOWHERE, migrator_dsn=NOWHERE, shadow_dsn=NOWHERE, reader_dsn=NOWHERE, admin_dsn=NOWHERE)
    async with open_proxy(settings, away) as proxy, client(proxy.app) as http:
        assert (await http.get("/health/live")).json() == {"status": "live"}
        ready = await http.get("/health/ready")
        assert ready.status_code == 503
        assert ready.json()["checks"]["postgresql"] == "unreachable"
        assert ready.json()["checks"]["rollout_plan"] == "never read"
        assert "127.0.0.1" not in ready.text
        told = await http.post("/chat", json={"sessionId": "S", "text": "x"}, headers={"X-API-Key": "cfk_000000000000_" + "a" * 43})
        assert (told.headers["x-error-type"], told.json()["msg"]) == ("STATE_PERSISTENCE_FAILED", "系统繁忙，请稍后重试")


async def test_a_worker_without_its_database_keeps_trying(settings):
    away = Database(app_dsn=NOWHERE, migrator_dsn=NOWHERE, shadow_dsn=NOWHERE, reader_dsn=NOWHERE, admin_dsn=NOWHERE)
    async with open_shadow_worker(settings, away, worker="w") as worker:
        running = asyncio.create_task(worker.run(lanes=2))
        await asyncio.sleep(0.2)
        assert not running.done()
        running.cancel()
        await asyncio.wait({running})
