"""`crossfade demo`: the whole product on one machine, with partners calling. Every part is the real one, in a process of its own; only the
FastGPT server, the language model and the partners are simulators.

Differences are planted on purpose, so that there is something to find: the live FastGPT misreads times and plates and overhears a faint
injury; the one that shadows fails a node now and then and calls every request for a person a complex case.
"""

import asyncio
import os
import secrets
import signal
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import aiohttp
import orjson
from cyclopts import Parameter
from rich.live import Live
from rich.table import Table

from cli.exit_codes import Exit
from cli.loop import run
from cli.output import complain, messages, print_json
from cli.report import read_overview
from domain.evidence import Overview
from proxy.auth.api_key import new_key
from reports.overview import overview_report
from reports.render import as_html
from storage.clients import add_client
from storage.embedded import EmbeddedPostgres
from storage.migrate import drop_databases
from wiring.database import Database, embedded_database
from wiring.migrate import migrate
from wiring.processes import ChildFailed, Children
from wiring.services import open_plans

BUILD = Path("build")
REPORT = BUILD / "shadow-report.html"
RESULT = BUILD / "demo.json"
PREFIX = "demo_"  # of the databases it makes, and drops the next time
SETTLE_SECONDS = 120.0  # for the shadow to catch up once the traffic has ended
PLANTED_LIVE = ("time_off=0.5", "plate_raw=0.5", "deaf_injury=0.5", "rude_text=0.3")
PLANTED_SHADOW = ("node_error=0.15", "handoff_as_complex=1", "early_photo=0.3")
KINDS_TO_FIND = 4
WATCHABLE_RATE = 8.0  # calls a second, when somebody looks on

# Where the simulated workflow keeps what our dialogue state calls so: a replay starts from both.
PENDING_VARIABLES = {
    "pending_question": "pending",
    "candidates": "candidates",
    "partials": "partials",
    "clarification_counts": "clarification_counts",
    "photo_failures": "photo_failures",
    "no_response_count": "no_reply_count",
}

# One partner on each side, one in between: its new sessions are split by their hash.
CALLERS: dict[str, dict[str, Any]] = {
    "acme-insurance": {"backend": "langgraph"},
    "city-police": {"backend": "fastgpt"},
    "beta-partner": {"langgraph_ppm": 500_000},
}


@dataclass(slots=True)
class Traffic:
    """What the partners saw. A turn is a call of /chat; the fields they read and write are counted apart."""

    turns: int = 0
    fields: int = 0
    answered: int = 0
    streamed: int = 0
    errors: Counter[str] = field(default_factory=Counter[str])
    is_done: bool = False

    def take(self, line: dict[str, Any]) -> None:
        if line.get("done"):
            self.is_done = True
            return
        is_turn = line["call"] == "chat"
        self.turns += is_turn
        self.fields += not is_turn
        self.streamed += is_turn and bool(line["stream"])
        self.answered += is_turn and bool(line["ok"])
        if not line["ok"]:
            self.errors[f"{line['call']}: {line['error'] or line['code']}"] += 1


def demo(
    *,
    once: Annotated[bool, Parameter(negative="", help="Play the traffic once, write build/demo.json, and judge it.")] = False,
    sessions: Annotated[int, Parameter(help="Conversations a round.")] = 24,
    json: bool = False,
) -> int:
    """Start PostgreSQL, simulators, proxy and shadow worker, play partners' conversations, and show what the shadow finds.

    Needs nothing but this checkout. Ctrl-C stops all of it.

    Parameters
    ----------
    json
        With --once: print the result as one JSON document as well.
    """
    if os.environ.get("ZNJJ_ENVIRONMENT") == "production":
        complain("the demo makes up servers, keys and callers: it does not run where ZNJJ_ENVIRONMENT is production")
        return Exit.REFUSED
    BUILD.mkdir(exist_ok=True)
    server = EmbeddedPostgres(Path(".crossfade").resolve() / "postgres")
    try:
        code = run(_demo(server, once=once, sessions=sessions))
    except ChildFailed as error:
        complain(str(error))
        return Exit.FAILED
    finally:
        server.close()
    if once and json:
        print_json(orjson.loads(RESULT.read_bytes()))
    return code


async def _demo(server: EmbeddedPostgres, *, once: bool, sessions: int) -> int:
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    # A database of its own each time: the numbers of this run are of this run alone.
    await drop_databases(server.dsn(), PREFIX)
    database = embedded_database(server, f"{PREFIX}{datetime.now(UTC):%Y%m%d_%H%M%S}")
    await migrate(database)
    messages.print(f"PostgreSQL is up, database {database.name}")
    async with Children(BUILD / "logs") as children:
        work = asyncio.create_task(_play(children, database, once=once, sessions=sessions))
        stopped = asyncio.create_task(stopping.wait())
        await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait({work})
            messages.print("stopping")
            return Exit.OK
        return work.result()


async def _play(children: Children, database: Database, *, once: bool, sessions: int) -> int:
    began = time.monotonic()
    base_url, keys = await _start_everything(children, database)
    messages.print(f"proxy on {base_url}, ready after {time.monotonic() - began:.1f} s; report: {REPORT.resolve().as_uri()}")
    if not once:
        _invite(base_url, keys, database)
    traffic = Traffic()
    while True:
        await _one_round(children, base_url, keys, sessions, traffic, database, None if once else WATCHABLE_RATE)
        overview = await _settled(database, traffic) if once else await _refreshed(database)
        if once:
            return _judge(overview, traffic)
        if died := children.ended():
            raise ChildFailed(f"{', '.join(died)} ended; see {BUILD / 'logs'}")


def _invite(base_url: str, keys: dict[str, str], database: Database) -> None:
    """How to join in from another terminal."""
    key = keys["acme-insurance"]
    body = '{"sessionId":"me-1","text":"【会话开始】","needFormUpdate":true}'
    messages.print(f"call it:   curl -N '{base_url}/chat?stream=true' -H 'X-API-Key: {key}' -d '{body}'", highlight=False, soft_wrap=True)
    messages.print(f"ask it:    ZNJJ_DATABASE__NAME={database.name} {sys.argv[0]} report overview", highlight=False, soft_wrap=True)


async def _start_everything(children: Children, database: Database) -> tuple[str, dict[str, str]]:
    key, shadow_key = "fastgpt-demolive-0001", "fastgpt-demoshadow-0001"
    model = await children.start("sim-model", "sim.model", "--port", "0", "--delay-ms", "5")
    model_url = f"http://127.0.0.1:{model['port']}/v1"

    def fastgpt(name: str, app_key: str, planted: tuple[str, ...]) -> Any:
        plants = [part for plant in planted for part in ("--plant", plant)]
        return children.start(name, "sim.fastgpt", "--port", "0", "--model-url", model_url, "--key", app_key, *plants)

    live, shadow = await asyncio.gather(
        fastgpt("sim-fastgpt", key, PLANTED_LIVE), fastgpt("sim-fastgpt-shadow", shadow_key, PLANTED_SHADOW)
    )
    env = {
        "ZNJJ_DATABASE__DSN": database.app_dsn,
        "ZNJJ_DATABASE__MIGRATOR_DSN": database.migrator_dsn,
        "ZNJJ_DATABASE__SHADOW_DSN": database.shadow_dsn,
        "ZNJJ_DATABASE__READER_DSN": database.reader_dsn,
        "ZNJJ_AUTH__KEY_PEPPER": secrets.token_urlsafe(32),
        "ZNJJ_FASTGPT__BASE_URL": f"http://127.0.0.1:{live['port']}",
        "ZNJJ_FASTGPT__API_KEY": key,
        "ZNJJ_FASTGPT__APP_ID": "demo-app",
        "ZNJJ_FASTGPT__SHADOW_BASE_URL": f"http://127.0.0.1:{shadow['port']}",
        "ZNJJ_FASTGPT__SHADOW_API_KEY": shadow_key,
        "ZNJJ_FASTGPT__SHADOW_APP_ID": "demo-shadow-app",
        "ZNJJ_FASTGPT__CHAT_SECRET": secrets.token_urlsafe(32),
        "ZNJJ_FASTGPT__SEND_NOW": "true",
        "ZNJJ_FASTGPT__PENDING_VARIABLES": orjson.dumps(PENDING_VARIABLES).decode(),
        "ZNJJ_LLM__BASE_URL": model_url,
        "ZNJJ_LLM__API_KEY": "demo",
        "ZNJJ_LLM__MODEL": "scripted-1",
    }
    keys = await _make_callers(database, env["ZNJJ_AUTH__KEY_PEPPER"])
    proxy = await children.start("proxy", "cli.main", "serve", "--port", "0", env=env)
    await children.run("shadow-worker", "cli.main", "shadow-worker", env=env)
    base_url = f"http://127.0.0.1:{proxy['port']}"
    async with aiohttp.ClientSession() as http, http.get(f"{base_url}/health/ready") as response:
        if response.status != 200:
            raise ChildFailed(f"the proxy is not ready: {await response.text()}")
    return base_url, keys


async def _make_callers(database: Database, pepper: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    for position, client_id in enumerate(CALLERS):
        made = new_key(pepper)
        keys[client_id] = made.key
        await add_client(
            database.migrator_dsn,
            tenant_id=f"tenant-{position + 1}",
            client_id=client_id,
            key_id=made.key_id,
            credential_hash=made.secret_hash,
            scopes=["chat:write", "session:read", "session:write"],
            profile={},
        )
    async with open_plans(database) as plans:
        first = await plans.latest()
        document = {**first.document, "callers": CALLERS, "shadow": {"sample_ppm": 1_000_000, "callers": {}}}
        await plans.publish(document, author=f"demo@{socket.gethostname()}", reason="demo", based_on=first.version)
    return keys


async def _one_round(
    children: Children, base_url: str, keys: dict[str, str], sessions: int, traffic: Traffic, database: Database, rate_per_s: float | None
) -> None:
    callers = [part for name, key in keys.items() for part in ("--caller", f"{name}={key}")]
    pace = () if rate_per_s is None else ("--rate-per-s", str(rate_per_s))
    process = await children.run("traffic", "sim.traffic", "--base-url", base_url, *callers, "--sessions", str(sessions), *pace)
    assert process.stdout is not None
    traffic.is_done = False
    with Live(console=messages, refresh_per_second=4, transient=False, redirect_stdout=False) as live:
        overview: Overview | None = None
        looked = 0.0
        while line := await process.stdout.readline():
            traffic.take(orjson.loads(line))
            if time.monotonic() - looked > 1:
                overview, looked = await read_overview(database, None, 5), time.monotonic()
            live.update(_progress(traffic, overview))
        await children.finished(process)
        live.update(_progress(traffic, await read_overview(database, None, 5)))


async def _settled(database: Database, traffic: Traffic) -> Overview:
    """Wait until the ledger has no pending turn, bounded."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        overview = await _refreshed(database)
        if overview.ledger.pending == 0 or time.monotonic() > deadline:
            return overview
        await asyncio.sleep(0.5)


async def _refreshed(database: Database) -> Overview:
    overview = await read_overview(database, None, 100)
    REPORT.write_text(as_html(overview_report(overview, datetime.now(UTC))), encoding="utf-8")
    return overview


def _progress(traffic: Traffic, overview: Overview | None) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row("partners", f"{traffic.answered} of {traffic.turns} turns answered, {traffic.streamed} of them streamed")
    if traffic.errors:
        table.add_row("errors", ", ".join(f"{name} ×{count}" for name, count in traffic.errors.items()))
    if overview is not None:
        served = ", ".join(f"{name} {count}" for name, count in sorted(overview.turns_by_backend.items()))
        table.add_row("served by", served or "nobody yet")
        table.add_row("shadow", f"{overview.ledger.compared} compared, {overview.ledger.pending} waiting")
        for cluster in overview.clusters[:6]:
            table.add_row("", f"{cluster.count:>4} × {cluster.signature} ({cluster.severity})")
    return table


def verdict(overview: Overview, traffic: Traffic) -> list[str]:
    """Pure: why the demo did not succeed; empty when it did."""
    found = {cluster.kind for cluster in overview.clusters}
    committed = sum(overview.turns_by_backend.values())
    problems = {
        "the traffic did not end by itself": not traffic.is_done,
        f"{traffic.turns - traffic.answered} turns were not answered": traffic.answered != traffic.turns or traffic.turns == 0,
        f"{traffic.errors.total()} calls failed": bool(traffic.errors),
        f"{traffic.answered} turns were answered and {committed} are stored": committed != traffic.answered,
        f"{overview.ledger.pending} turns were not compared in time": overview.ledger.pending != 0,
        f"{overview.ledger.unaccounted} turns are unaccounted for": overview.ledger.unaccounted != 0,
        f"{overview.ledger.eligible} turns were eligible, {committed} committed": overview.ledger.eligible < committed,
        f"{len(found)} kinds of difference found, {KINDS_TO_FIND} planted": len(found) < KINDS_TO_FIND,
    }
    return [told for told, is_wrong in problems.items() if is_wrong]


def _judge(overview: Overview, traffic: Traffic) -> int:
    facts = overview_report(overview, datetime.now(UTC)).facts
    problems = verdict(overview, traffic)
    diffs: Counter[str] = Counter()
    for cluster in overview.clusters:
        diffs[cluster.kind] += cluster.count
    document = {
        "schema_version": 1,
        "turns": {**facts["turns"], "played": traffic.turns, "answered": traffic.answered, "streamed": traffic.streamed},
        "comparisons": facts["comparisons"],
        "diffs": dict(diffs),
        "ledger": facts["ledger"],
        "errors": dict(traffic.errors),
        "agreement": facts["agreement"],
        "clusters": facts["clusters"],
        "problems": problems,
    }
    RESULT.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    messages.print(f"result: {RESULT}, report: {REPORT}")
    for problem in problems:
        complain(problem)
    return Exit.FAILED if problems else Exit.OK
