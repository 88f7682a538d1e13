"""SIGTERM: the proxy takes no more, lets what is under way come to its end, and goes with exit code 0."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from proxy.auth.api_key import new_key
from storage.clients import add_client
from storage.engine import open_pool
from storage.turns import TurnRows
from wiring.database import Database

pytestmark = [pytest.mark.e2e, pytest.mark.integration]

ROOT = Path(__file__).parents[2]


def answer(text: str | None, finish: str | None = None) -> bytes:
    delta = {"role": "assistant", "content": text}
    return b"event: answer\ndata: " + json.dumps({"choices": [{"delta": delta, "index": 0, "finish_reason": finish}]}).encode() + b"\n\n"


class SlowUpstream:
    """Speaks the first words of a FastGPT answer, and the rest when it is let go."""

    def __init__(self) -> None:
        self.has_begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.url = ""

    async def complete(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream;charset=utf-8"})
        await response.prepare(request)
        await response.write(answer("<state>1002</state>请问"))
        self.has_begun.set()
        await self.go_on.wait()
        for piece in (
            answer("有人受伤吗？"),
            answer(None, "stop"),
            b"event: answer\ndata: [DONE]\n\n",
            b"event: flowResponses\ndata: []\n\n",
        ):
            await response.write(piece)
        return response


@pytest_asyncio.fixture
async def upstream() -> AsyncGenerator[SlowUpstream]:
    slow = SlowUpstream()
    app = web.Application()
    app.router.add_post("/api/v1/chat/completions", slow.complete)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    slow.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield slow
    slow.go_on.set()
    await runner.cleanup()


async def test_a_turn_whose_reader_has_left_is_committed_before_the_process_goes(
    database: Database, upstream: SlowUpstream, tmp_path: Path
):
    made = new_key("pepper")
    await add_client(
        database.migrator_dsn, tenant_id="t1", client_id="acme", key_id=made.key_id, credential_hash=made.secret_hash,
        scopes=["chat:write"], profile={},
    )  # fmt: skip
    env = {
        "ZNJJ_DATABASE__DSN": database.app_dsn, "ZNJJ_AUTH__KEY_PEPPER": "pepper", "PYTHONPATH": str(ROOT),
        "ZNJJ_FASTGPT__BASE_URL": upstream.url, "ZNJJ_FASTGPT__API_KEY": "k-k", "ZNJJ_FASTGPT__APP_ID": "a",
        "ZNJJ_LLM__BASE_URL": upstream.url, "ZNJJ_LLM__API_KEY": "k", "ZNJJ_LLM__MODEL": "m",
    }  # fmt: skip
    proxy = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "cli.main", "serve", "--port", "0",
        cwd=tmp_path, env=os.environ | env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert proxy.stdout is not None
    port = json.loads(await proxy.stdout.readline())["port"]
    async with aiohttp.ClientSession() as http:
        response = await http.post(
            f"http://127.0.0.1:{port}/chat?stream=true", json={"sessionId": "S-1", "text": "追尾"}, headers={"X-API-Key": made.key}
        )
        await upstream.has_begun.wait()
        response.close()  # the partner leaves in the middle
    await asyncio.sleep(0.1)
    proxy.send_signal(signal.SIGTERM)
    await asyncio.sleep(0.2)
    assert proxy.returncode is None  # it waits for the turn
    upstream.go_on.set()
    async with asyncio.timeout(15):
        await proxy.communicate()
    assert proxy.returncode == 0
    async with open_pool(database.app_dsn, name="test") as pool:
        state = await TurnRows(pool, lease_seconds=1, wait_seconds=0, keep_replies=timedelta(hours=1)).read("t1", "S-1")
    assert state is not None
    assert (state.stage, state.version) == ("1002", 1)
