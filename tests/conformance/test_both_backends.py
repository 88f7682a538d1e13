"""Every promise of the partners' wire and every stage of both flows, over a real socket, against both real backends. Each is required."""

import asyncio
import json
import subprocess
import sys
import uuid
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from conformance.caller import Caller
from conformance.checks import CHECKS, Check
from domain.backend_name import BackendName
from tests.fakes.both_sides import both_backends, said_in, upstreams
from tests.fakes.house import House, open_house
from tests.fakes.served import served
from wiring.clock import SystemClock
from wiring.database import Database

pytestmark = [pytest.mark.contract, pytest.mark.integration]

ROOT = Path(__file__).parents[2]
BACKENDS = tuple(BackendName)
# What a partner sees at each turn, whoever serves: the stage, and the fields this turn brought ("just now" is another minute each time).
WALKS = {
    "single_normal": ["1001", "1002", "1002", "1002", "2000", "2001", "2002", "2003", "2004", "2005", "3001", *["3001"] * 6, "0000"],
    "double_normal": [
        "1001",
        "1002",
        "1002",
        "2010",
        "2011",
        "2012",
        "2013",
        "2014",
        "2015",
        "2016",
        "3001",
        *["3001"] * 6,
        "3002",
        *["3002"] * 5,
        "0000",
    ],
    "explicit_handoff": ["1001", "1002", "1002", "1002", "2000", "0001"],
    "injury_at_once": ["0003"],
    "injury_late": ["1001", "1002", "1002", "2010", "2011", "2012", "0003"],
    "no_reply": ["1001", "1001", "1001", "1001", "1001", "0004"],
    "photo_failure": ["1001", "1002", "1002", "2010", "2011", "0005"],
}


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=BACKENDS)
async def house(request: pytest.FixtureRequest, database: Database) -> AsyncGenerator[tuple[House, str]]:
    async with (
        upstreams() as up,
        both_backends(database, up) as backends,
        open_house(database, backends, SystemClock(), default=request.param, shadow_enabled=False) as opened,
        served(opened.app) as address,
    ):
        yield opened, address


@pytest_asyncio.fixture(loop_scope="module")
async def caller(house: tuple[House, str]) -> AsyncGenerator[Caller]:
    opened, address = house
    async with httpx.AsyncClient(base_url=address, timeout=30) as http:
        yield Caller(http, opened.keys["acme"])


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("check", CHECKS, ids=[check.name for check in CHECKS])
async def test_every_promise_is_kept(caller: Caller, check: Check):
    await check.run(caller)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("scenario", WALKS)
@pytest.mark.parametrize("stream", [False, True])
async def test_every_stage_of_a_conversation_is_the_one_agreed(caller: Caller, scenario: str, stream: bool):
    session = caller.new_session()
    told = [await caller.chat(session, text, stream=stream, key=uuid.uuid4().hex) for text in said_in(scenario)]
    assert [answer.stage for answer in told] == WALKS[scenario]
    assert [answer.version for answer in told] == list(range(1, len(told) + 1))
    learnt = {key: value for answer in told for key, value in answer.patch.items()}
    for key, value in learnt.items():
        assert await caller.read(session, key) == value


@pytest.mark.asyncio(loop_scope="module")
async def test_a_caller_who_hangs_up_finds_the_conversation_in_order(caller: Caller, house: tuple[House, str]):
    opened, address = house
    session, key = caller.new_session(), uuid.uuid4().hex
    await caller.chat(session, "【会话开始】")
    headers = {"X-API-Key": opened.keys["acme"], "Idempotency-Key": key}
    body = {"sessionId": session, "text": "准备好了", "needFormUpdate": True}
    async with (
        httpx.AsyncClient(base_url=address) as http,
        http.stream("POST", "/chat?stream=true", json=body, headers=headers) as response,
    ):
        async for _ in response.aiter_bytes():
            break
    retry = await caller.chat(session, "准备好了", key=key)
    assert (retry.code, retry.version) == ("200", 2)
    assert (await caller.chat(session, "没有人受伤，我自己倒车撞到柱子了")).version == 3


@pytest.mark.asyncio(loop_scope="module")
async def test_a_partner_team_runs_the_same_checks_from_the_command_line(house: tuple[House, str]):
    opened, address = house

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cli.main", "contract", "check", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )

    done = await asyncio.to_thread(run, address, "--key", opened.keys["acme"], "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["ok"], len(told["checks"])) == (0, True, len(CHECKS))
    assert opened.keys["acme"] not in done.stdout + done.stderr


def test_each_check_has_a_name_of_its_own_and_runs_for_each_backend():
    assert len({check.name for check in CHECKS}) == len(CHECKS) >= 25
    assert set(BACKENDS) == {BackendName.FASTGPT, BackendName.LANGGRAPH}
