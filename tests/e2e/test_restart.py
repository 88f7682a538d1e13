"""A process that stops or dies in a turn: what was answered stays, what was not never happened, a retry is answered once."""

import asyncio
import json
import os
import signal
import sys
import uuid
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import asyncpg
import httpx
import pytest
import pytest_asyncio

from domain.session import SessionState
from storage.engine import open_pool
from storage.turns import TurnRows
from tests.fakes.model_server import ModelServer, Unfinished, model_server
from tests.fakes.partner import Answer, Manner, Partner
from tests.fakes.wire import deaf_wire
from tests.golden.playing import PEPPER, TENANT, admit_caller
from tests.golden.scenarios import BODY, Step, plays
from wiring.database import Database

pytestmark = [pytest.mark.e2e, pytest.mark.chaos, pytest.mark.integration]

ROOT = Path(__file__).parents[2]
LEASE_SECONDS = 1.0  # a dead process keeps its session this long
WHOLE, STREAMED = Manner(), Manner(stream=True)


class Stand:
    """`crossfade serve` on a database and a model that outlive it. It can be started, stopped and killed."""

    def __init__(self, database: Database, pool: asyncpg.Pool, model: ModelServer, api_key: str, place: Path) -> None:
        self.pool = pool
        self.model = model
        self.session = f"S-{uuid.uuid4().hex[:12]}"
        self._store = TurnRows(pool, lease_seconds=1, wait_seconds=0, keep_replies=timedelta(hours=1))
        self._api_key = api_key
        self._place = place
        self._process: Process | None = None
        self._port = 0
        self._environment = os.environ | {
            "PYTHONPATH": str(ROOT), "ZNJJ_DATABASE__DSN": database.app_dsn, "ZNJJ_AUTH__KEY_PEPPER": PEPPER,
            "ZNJJ_SESSION__LEASE_SECONDS": str(LEASE_SECONDS), "ZNJJ_SESSION__WAIT_SECONDS": "30",
            "ZNJJ_FASTGPT__BASE_URL": "http://127.0.0.1:9", "ZNJJ_FASTGPT__API_KEY": "k", "ZNJJ_FASTGPT__APP_ID": "a",
            "ZNJJ_LLM__BASE_URL": model.url, "ZNJJ_LLM__API_KEY": "k", "ZNJJ_LLM__MODEL": "scripted",
            "ZNJJ_LLM__FIRST_TOKEN_SECONDS": "60", "ZNJJ_LLM__TOTAL_SECONDS": "60",
        }  # fmt: skip

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "cli.main", "serve", "--port", "0",
            cwd=self._place, env=self._environment, stdout=PIPE, stderr=DEVNULL,
        )  # fmt: skip
        assert self._process.stdout is not None
        self._port = json.loads(await self._process.stdout.readline())["port"]

    async def stop(self) -> int:
        return await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        await self._end(signal.SIGKILL)

    async def _end(self, number: int) -> int:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(number)
        await self._process.communicate()
        assert self._process.returncode is not None
        return self._process.returncode

    async def chat(self, text: str, key: str, *replies: str | Unfinished, manner: Manner = WHOLE, url: str = "") -> Answer:
        """Every call is a request of its own to the model; `key` is what makes two of them one turn."""
        request_id = uuid.uuid4().hex
        self.model.then(request_id, *replies)
        async with httpx.AsyncClient(base_url=url or f"http://127.0.0.1:{self._port}", timeout=60) as http:
            return await Partner(http, self._api_key).chat(self.session, text, manner=manner, request_id=request_id, key=key)

    async def state(self) -> SessionState:
        return await self._store.read(TENANT, self.session) or SessionState()

    async def until_committed(self, version: int) -> None:
        async with asyncio.timeout(30):
            while (await self.state()).version < version:  # noqa: ASYNC110 - the row is written by another process
                await asyncio.sleep(0.01)

    async def chat_and_die_before_the_answer(self, text: str, key: str, *replies: str, manner: Manner = WHOLE) -> None:
        """The turn is committed, the process is killed, and nothing of the answer has come through."""
        version = (await self.state()).version
        async with deaf_wire(self._port) as url:
            asking = asyncio.create_task(self.chat(text, key, *replies, manner=manner, url=url))
            await self.until_committed(version + 1)
            await self.kill()
            with pytest.raises(httpx.TransportError):
                await asking

    async def committed_versions(self) -> list[int]:
        query = "SELECT version FROM app.turns WHERE session_id = $1 AND status = 'committed' ORDER BY version"
        return [row["version"] for row in await self.pool.fetch(query, self.session)]


@pytest_asyncio.fixture
async def stand(database: Database, tmp_path: Path) -> AsyncGenerator[Stand]:
    async with open_pool(database.app_dsn, name="test-restart", size=2) as pool, model_server() as model:
        stand = Stand(database, pool, model, await admit_caller(database, pool), tmp_path)
        await stand.start()
        try:
            yield stand
        finally:
            await stand.kill()


async def test_the_golden_conversation_survives_a_restart_and_a_kill(stand: Stand):
    play = next(play for play in plays() if play.name == "G17_restart_recovery")
    assert {step.happens for step in play.steps} == {"", "restart", "kill_before_answer"}
    for number, step in enumerate(play.steps):
        key = f"{stand.session}-{number}"
        if step.happens == "restart":
            assert await stand.stop() == 0
            await stand.start()
        if step.happens == "kill_before_answer":
            await stand.chat_and_die_before_the_answer(step.said, key, *step.replies)
            await stand.start()
            answer = await stand.chat(step.said, key)
            assert answer.is_replay
        else:
            answer = await stand.chat(step.said, key, *step.replies)
        _check(answer, step, version=number + 1)
    assert await stand.committed_versions() == list(range(1, len(play.steps) + 1))
    assert len(stand.model.asked) == sum(len(step.replies) for step in play.steps)


def _check(answer: Answer, step: Step, *, version: int) -> None:
    """As written, the time of day apart: this process has the real clock."""
    assert (answer.code, answer.stage, answer.version) == ("200", step.stage, version), answer.body
    assert answer.patch is not None
    assert list(answer.patch) == list(step.patch)
    for key in set(step.patch) - {"sgfssj"}:
        assert answer.patch[key] == step.patch[key]


@pytest.mark.parametrize("manner", [WHOLE, STREAMED], ids=["json", "sse"])
async def test_a_turn_killed_while_the_model_speaks_never_happened_and_its_retry_is_answered_once(stand: Stand, manner: Manner):
    await stand.chat("【会话开始】", "k1")
    dying = asyncio.create_task(stand.chat("准备好了", "k2", Unfinished("<state>1002</state>好的，请问"), manner=manner))
    async with asyncio.timeout(30):
        await stand.model.is_stuck.wait()
    await stand.kill()
    with pytest.raises(httpx.TransportError):
        await dying
    assert (await stand.state()).version == 1
    assert (await stand.state()).stage == "1001"
    await stand.start()
    retried = await stand.chat("准备好了", "k2", "<state>1002</state>" + BODY, manner=manner)
    again = await stand.chat("准备好了", "k2")
    assert (retried.is_replay, again.is_replay) == (False, True)
    assert (retried.stage, retried.version, retried.text) == (again.stage, again.version, again.text) == ("1002", 2, retried.text)
    assert await stand.committed_versions() == [1, 2]
    assert len(stand.model.asked) == 2


@pytest.mark.parametrize("manner", [WHOLE, STREAMED], ids=["json", "sse"])
async def test_an_answer_lost_on_its_way_is_told_again_and_the_model_is_not_asked_again(stand: Stand, manner: Manner):
    await stand.chat("【会话开始】", "k1")
    await stand.chat_and_die_before_the_answer("准备好了", "k2", "<state>1002</state>" + BODY, manner=manner)
    await stand.start()
    told = await stand.chat("准备好了", "k2", manner=manner)
    assert told.is_replay
    assert (told.stage, told.version) == ("1002", 2)
    row = await stand.pool.fetchrow("SELECT output_text FROM app.turns WHERE session_id = $1 AND version = 2", stand.session)
    assert told.text == row["output_text"] != ""
    assert await stand.committed_versions() == [1, 2]
    assert len(stand.model.asked) == 1


@pytest.mark.parametrize("is_lost", [True, False], ids=["commit_lost", "commit_survives"])
async def test_a_turn_killed_in_its_commit_is_answered_once_whatever_the_database_made_of_it(
    stand: Stand, database: Database, is_lost: bool
):
    """The graph's checkpoint is written before the business row: if the row is lost, the memory is ahead of it, and the row wins."""
    await stand.chat("【会话开始】", "k1")
    async with _locked_session(database, stand.session) as (someone_waits, end_whoever_waits):
        dying = asyncio.create_task(stand.chat("准备好了", "k2", "<state>1002</state>" + BODY))
        await someone_waits()
        await stand.kill()
        with pytest.raises(httpx.TransportError):
            await dying
        if is_lost:
            await end_whoever_waits()
    if not is_lost:
        await stand.until_committed(2)
    assert (await stand.state()).version == (1 if is_lost else 2)
    await stand.start()
    answer = await stand.chat("准备好了", "k2", *(["<state>1002</state>" + BODY] if is_lost else []))
    assert answer.is_replay is not is_lost
    assert (answer.stage, answer.version) == ("1002", 2)
    following = await stand.chat("没有人受伤", "k3", '<state>1002</state><form>{"safety":"none"}</form>' + BODY)
    assert (following.version, following.patch) == (3, {"ywrysw": False})
    assert await stand.committed_versions() == [1, 2, 3]


_WAITING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@asynccontextmanager
async def _locked_session(
    database: Database, session: str
) -> AsyncGenerator[tuple[Callable[[], Awaitable[None]], Callable[[], Awaitable[None]]]]:
    """Hold the session's row, so that a commit stops half way. Yields: wait until one does, and end the connection of the one that does."""
    holder, watcher = await asyncpg.connect(database.admin_dsn), await asyncpg.connect(database.admin_dsn)

    async def waiting() -> None:
        async with asyncio.timeout(30):
            while not await watcher.fetch(_WAITING):  # noqa: ASYNC110 - the lock is waited for by another process
                await asyncio.sleep(0.01)

    async def end() -> None:
        async with asyncio.timeout(30):
            while pids := await watcher.fetch(_WAITING):
                for row in pids:
                    await watcher.execute("SELECT pg_terminate_backend($1)", row["pid"])
                await asyncio.sleep(0.01)

    try:
        async with holder.transaction():
            await holder.execute("SELECT 1 FROM app.accident_sessions WHERE session_id = $1 FOR UPDATE", session)
            yield waiting, end
    finally:
        await holder.close()
        await watcher.close()
