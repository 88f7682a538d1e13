"""Everything a run measures, started as processes: upstream, peers, the proxy as it is shipped, and a shadow worker that can be stopped.

The database is one of its own on the embedded server, dropped at the end. Servers run on one core and the load with its upstream on the
other one, where the system lets us choose. Processes end with us (wiring/processes.py).
"""

import asyncio
import json
import os
import secrets
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import orjson
import psutil

from bench.load import Target
from bench.peers import completion_body
from bench.sessions import PHOTO_TAKEN, PHOTOS, names, seed
from bench.upstream import INSTANT, SLOW
from domain.backend_name import BackendName
from domain.plan import PPM
from proxy.auth.api_key import new_key
from storage.clients import add_client
from storage.embedded import EmbeddedPostgres
from storage.migrate import drop_databases
from wiring.database import Database, embedded_database
from wiring.migrate import migrate
from wiring.processes import ChildFailed, Children
from wiring.services import open_plans

PREFIX = "bench_"
LOGS = Path("build") / "bench-logs"
START_SECONDS = 60.0
COMPLETIONS = "/api/v1/chat/completions"
SERVER_CORE, LOAD_CORE = 0, 1
PLAIN, SAMPLED = "bench-plain", "bench-sampled"  # clients: never and always in the shadow sample
SEEDS = {
    "photo": BackendName.LANGGRAPH,
    "talk": BackendName.LANGGRAPH,
    "young": BackendName.LANGGRAPH,
    "aged": BackendName.LANGGRAPH,
    "graph-info": BackendName.LANGGRAPH,
    "info": BackendName.FASTGPT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """`proxy` and `sampled` are the same process, called by two clients. `photo` and `talk` are turns of the graph; a peer's fields begin
    with `bare_`."""

    direct: Target
    httpx: Target
    aiohttp: Target
    stored: Target
    proxy: Target
    sampled: Target
    photo: Target
    bare_photo: Target
    saved_photo: Target
    stock_photo: Target
    talk: Target
    bare_talk: Target
    get_info: Target
    bare_get_info: Target
    set_info: Target
    bare_set_info: Target
    graph_set_info: Target
    app_dsn: str
    shadow_pid: int

    def let_shadow_work(self) -> None:
        """Raises psutil.NoSuchProcess: the worker has ended."""
        psutil.Process(self.shadow_pid).resume()

    def stop_shadow(self) -> None:
        """As dead as a worker on a host that is gone: it holds nothing the proxy waits for."""
        psutil.Process(self.shadow_pid).suspend()


def streamed(target: Target) -> Target:
    """The same target, asked for SSE."""
    return replace(target, path=f"{target.path}?stream=true", proof=b"event: done")


@asynccontextmanager
async def open_stand(server: EmbeddedPostgres, *, profile_to: Path | None = None) -> AsyncGenerator[Stand]:
    """With `profile_to` the proxy runs under cProfile, which writes there when the proxy ends. Raises ChildFailed."""
    await drop_databases(server.dsn(), PREFIX)  # of runs that were killed
    database = embedded_database(server, f"{PREFIX}{datetime.now(UTC):%Y%m%d_%H%M%S}")
    await migrate(database)
    try:
        async with Children(LOGS) as children:
            stand = await _start(children, database, profile_to)
            try:
                yield stand
            finally:
                with suppress(psutil.NoSuchProcess):
                    stand.let_shadow_work()  # a stopped process hears no SIGTERM
    finally:
        await drop_databases(server.dsn(), database.name)


async def _start(children: Children, database: Database, profile_to: Path | None) -> Stand:
    upstream = await children.start("upstream", "bench.upstream")
    upstream_url = f"http://127.0.0.1:{upstream['port']}"
    peers = await children.start("peers", "bench.peers", env={"BENCH_DSN": database.app_dsn, "BENCH_UPSTREAM": upstream_url})
    local_peers = await children.start("local-peers", "bench.local_peers", env={"BENCH_DSN": database.app_dsn})
    for tenant in ("bare", PLAIN):
        for prefix, backend in SEEDS.items():
            await seed(database.migrator_dsn, tenant=tenant, prefix=prefix, backend=backend)
    env = _environment(database, upstream_url)
    plain, sampled = await _make_clients(database, env["ZNJJ_AUTH__KEY_PEPPER"])
    proxy_pid, proxy_port = await _start_proxy(children, env, profile_to)
    shadow = await children.run("shadow-worker", "cli.main", "shadow-worker", env=env | {"ZNJJ_LLM__MODEL": SLOW})
    _pin(SERVER_CORE, peers["pid"], local_peers["pid"], proxy_pid)
    _pin(LOAD_CORE, upstream["pid"], os.getpid())

    def peer(name: str) -> Target:
        return Target(name=name, port=peers["port"], pid=peers["pid"], path=f"/{name}/chat", body=_turn_body, proof=b'"code":"200"')

    proxy = Target(
        name="proxy", port=proxy_port, pid=proxy_pid, path="/chat", body=_turn_body, proof=b'"code":"200"', headers={"X-API-Key": plain}
    )
    bare = Target(name="bare", port=local_peers["port"], pid=local_peers["pid"], path="/graph/chat", body=_turn_body, proof=b'"code":"200"')
    return Stand(
        direct=Target(
            name="direct",
            port=upstream["port"],
            pid=upstream["pid"],
            path=COMPLETIONS,
            body=completion_body,
            proof=b"[DONE]",
        ),
        httpx=peer("httpx"),
        aiohttp=peer("aiohttp"),
        stored=peer("stored"),
        proxy=proxy,
        sampled=replace(proxy, name="sampled", headers={"X-API-Key": sampled}),
        photo=_photo(proxy),
        bare_photo=_photo(bare),
        saved_photo=_photo(replace(bare, name="saved", path="/saved/chat"), first=1000),
        stock_photo=_photo(replace(bare, name="stock", path="/stock/chat"), first=2000),
        talk=_talk(proxy),
        bare_talk=_talk(bare),
        get_info=_get_info(proxy),
        bare_get_info=_get_info(bare),
        set_info=_set_info(proxy, "info"),
        bare_set_info=_set_info(bare, "info"),
        graph_set_info=_set_info(proxy, "graph-info"),
        app_dsn=database.app_dsn,
        shadow_pid=shadow.pid,
    )


def _photo(door: Target, *, first: int = 0) -> Target:
    """Doors of one process take their sessions from different places."""
    return replace(
        door, name=f"{door.name} photo", body=_photo_body, proof=PHOTO_TAKEN, next_session=names("photo", first), turns_per_session=PHOTOS
    )


def _talk(door: Target) -> Target:
    return replace(door, name=f"{door.name} talk", proof=b'"nextStageCode":"2011"', next_session=names("talk"))


def _get_info(door: Target) -> Target:
    return replace(door, name=f"{door.name} get_info", path="/get_info", body=_get_body, proof=b'"value":', next_session=names("info"))


def _set_info(door: Target, prefix: str) -> Target:
    return replace(door, name=f"{door.name} set_info", path="/set_info", body=_set_body, next_session=names(prefix))


async def _start_proxy(children: Children, env: dict[str, str], profile_to: Path | None) -> tuple[int, int]:
    program = ("cli.main", "serve") if profile_to is None else ("bench.profiled", str(profile_to))
    process = await children.run("proxy", *program, "--port", "0", env=env)
    assert process.stdout is not None
    try:
        ready = json.loads(await asyncio.wait_for(process.stdout.readline(), START_SECONDS))
    except (TimeoutError, ValueError) as error:
        raise ChildFailed(f"the proxy did not start; see {LOGS / 'proxy.log'}") from error
    return process.pid, ready["port"]


def _turn_body(session_id: str, text: str) -> bytes:
    return orjson.dumps({"sessionId": session_id, "text": text, "needFormUpdate": True})


def _photo_body(session_id: str, text: str) -> bytes:
    """Named, as apps name their events: unnamed photos in quick succession count as one."""
    return orjson.dumps({"sessionId": session_id, "text": text, "needFormUpdate": True, "eventId": str(uuid.uuid4())})


def _get_body(session_id: str, key: str) -> bytes:
    return orjson.dumps({"sessionId": session_id, "key": key})


def _set_body(session_id: str, cause: str) -> bytes:
    return orjson.dumps({"sessionId": session_id, "key": "sgyy", "value": orjson.dumps(cause).decode()})


def _environment(database: Database, upstream_url: str) -> dict[str, str]:
    """Everything else as shipped. The proxy and the shadow share one upstream, and ask different chat models there."""
    return {
        "ZNJJ_DATABASE__DSN": database.app_dsn,
        "ZNJJ_DATABASE__MIGRATOR_DSN": database.migrator_dsn,
        "ZNJJ_DATABASE__SHADOW_DSN": database.shadow_dsn,
        "ZNJJ_DATABASE__READER_DSN": database.reader_dsn,
        "ZNJJ_AUTH__KEY_PEPPER": secrets.token_urlsafe(32),
        "ZNJJ_FASTGPT__BASE_URL": upstream_url,
        "ZNJJ_FASTGPT__API_KEY": "fastgpt-bench",
        "ZNJJ_FASTGPT__APP_ID": "bench-app",
        "ZNJJ_FASTGPT__CHAT_SECRET": secrets.token_urlsafe(32),
        "ZNJJ_LLM__BASE_URL": f"{upstream_url}/v1",
        "ZNJJ_LLM__API_KEY": "bench",
        "ZNJJ_LLM__MODEL": INSTANT,
    }


async def _make_clients(database: Database, pepper: str) -> tuple[str, str]:
    """Their keys. Whether a turn is shadowed is a matter of who calls, so both kinds can take turns without a new plan."""
    keys: dict[str, str] = {}
    for client_id in (PLAIN, SAMPLED):
        made = new_key(pepper)
        await add_client(
            database.migrator_dsn,
            tenant_id=client_id,
            client_id=client_id,
            key_id=made.key_id,
            credential_hash=made.secret_hash,
            scopes=["chat:write", "session:read", "session:write"],
            profile={},
        )
        keys[client_id] = made.key
    async with open_plans(database) as plans:
        first = await plans.latest()
        document = {**first.document, "shadow": {"sample_ppm": 0, "callers": {SAMPLED: {"sample_ppm": PPM}}}}
        await plans.publish(document, author="bench", reason="bench", based_on=first.version)
    return keys[PLAIN], keys[SAMPLED]


def _pin(core: int, *pids: int) -> None:
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > max(SERVER_CORE, LOAD_CORE):
        for pid in pids:
            os.sched_setaffinity(pid, {core})
