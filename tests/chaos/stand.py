"""What a run stands on: a migrated database, the simulators, the nursery, and for each lane a proxy that nothing happens to."""

import asyncio
import itertools
import json
import os
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from domain.plan import PPM
from proxy.auth.api_key import new_key
from storage.clients import add_client
from storage.engine import open_pool
from storage.plans import PlanRows
from tests.chaos.control import Hold, held
from tests.chaos.pg_wire import PgWire, pg_wire
from tests.chaos.points import Arm
from tests.chaos.upstreams import FASTGPT_KEY
from wiring.database import Database

PEPPER, TENANT = "pepper-of-chaos", "t-chaos"
ROOT = Path(__file__).parents[2]
LEASE_SECONDS = 0.4  # how long a killed owner's session is locked, and a killed shadow worker's claimed
Role = Literal["proxy", "shadow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A running process under test. `wire` is its way to the database."""

    name: str
    port: int
    pid: int
    hold: Hold
    wire: PgWire

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


class Stand:
    def __init__(self, database: Database, place: Path, ports: dict[str, int], nursery: Process, keys: dict[str, str]) -> None:
        self.database = database
        self.keys = keys
        self.ports = ports
        self._place = place
        self._nursery = nursery
        self._names = itertools.count(1)
        self._forking = asyncio.Lock()
        self.shadow_cell = asyncio.Lock()

    @property
    def log(self) -> Path:
        return self._place / "victims.log"

    @asynccontextmanager
    async def proxy(self, *, arm: Arm | None = None, design: str = "", role: Role = "proxy") -> AsyncGenerator[Victim]:
        """A process with a wire of its own, which the harness may cut. A shadow worker begins to work at once."""
        name = f"v{next(self._names)}"
        leash = self._place / f"{name}.sock"
        async with held(leash) as hold, pg_wire(_socket_of(self.database.app_dsn)) as wire:
            database = wired(self.database, wire.port)
            order = {
                "leash": str(leash),
                "log": str(self.log),
                "database": _plain(database),
                "settings": settings_for(self._place, self.ports, role),
                "role": role,
                "arm": arm and arm.as_json(),
                "design": design,
            }
            pid = await self._fork(order)
            port = await hold.hear("port")
            if port is None:
                raise RuntimeError(f"a victim ended before it listened; see {self.log}")
            yield Victim(name=name, port=port, pid=pid, hold=hold, wire=wire)

    async def _fork(self, order: dict[str, Any]) -> int:
        async with self._forking:
            return (await _told(self._nursery, order))["pid"]


async def _told(process: Process, line: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(line).encode() + b"\n")
    answer = await process.stdout.readline()
    if not answer:
        raise RuntimeError("the nursery ended; see its log")
    return json.loads(answer)


def settings_for(place: Path, ports: dict[str, int], role: Role) -> dict[str, Any]:
    prefix = "shadow_" if role == "shadow" else ""
    return {
        "state_dir": str(place),
        "auth": {"key_pepper": PEPPER},
        "session": {"lease_seconds": LEASE_SECONDS, "wait_seconds": 3},
        "shadow": {"claim_seconds": LEASE_SECONDS, "idle_seconds": 0.02},
        "fastgpt": {
            "base_url": f"http://127.0.0.1:{ports[f'{prefix}fastgpt']}", "api_key": FASTGPT_KEY, "app_id": "chaos", "chat_secret": "chaos",
            "send_now": True,
        },
        "llm": {"base_url": f"http://127.0.0.1:{ports[f'{prefix}model']}/v1", "api_key": "k", "model": "scripted"},
    }  # fmt: skip


def wired(database: Database, port: int) -> Database:
    """The same database through a port of this machine."""

    def through(dsn: str) -> str:
        parts = urlsplit(dsn)
        user = parts.username or "postgres"
        return f"postgresql://{user}@127.0.0.1:{port}{parts.path}?sslmode=disable"

    return replace(
        database,
        app_dsn=through(database.app_dsn),
        migrator_dsn=through(database.migrator_dsn),
        shadow_dsn=through(database.shadow_dsn),
        reader_dsn=through(database.reader_dsn),
        admin_dsn=through(database.admin_dsn),
        embedded=None,
    )


def _plain(database: Database) -> dict[str, str]:
    return {name: value for name, value in asdict(replace(database, embedded=None)).items() if isinstance(value, str)}


def _socket_of(dsn: str) -> str:
    host = parse_qs(urlsplit(dsn).query)["host"][0]
    return f"{host}/.s.PGSQL.5432"


@asynccontextmanager
async def open_stand(database: Database, place: Path) -> AsyncGenerator[Stand]:
    """`place`: a folder for logs and sockets. The database is migrated and nobody else's."""
    async with AsyncExitStack() as stack:
        place = _prepared(place)
        upstreams = await stack.enter_async_context(_child("tests.chaos.upstreams", place))
        assert upstreams.stdout is not None
        ports = json.loads(await upstreams.stdout.readline())
        keys = await _admit(database)
        nursery = await stack.enter_async_context(_child("tests.chaos.nursery", place))
        warm = {
            "leash": "", "log": "", "database": _plain(database), "settings": settings_for(place, ports, "proxy"),
            "keys": list(keys.values()),
        }  # fmt: skip
        await _told(nursery, warm)
        yield Stand(database, place, ports, nursery, keys)


def _prepared(place: Path) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="s", dir=place)).resolve()


@asynccontextmanager
async def _child(module: str, place: Path) -> AsyncGenerator[Process]:
    log_path = place / f"{module.rpartition('.')[2]}.log"
    with log_path.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, cwd=place, stdin=PIPE, stdout=PIPE, stderr=log,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _admit(database: Database) -> dict[str, str]:
    """A caller for each backend; every session is in the shadow sample."""
    keys: dict[str, str] = {}
    for backend in ("fastgpt", "langgraph"):
        made = new_key(PEPPER)
        await add_client(
            database.migrator_dsn, tenant_id=TENANT, client_id=f"on-{backend}", key_id=made.key_id, credential_hash=made.secret_hash,
            scopes=["chat:write", "session:read", "session:write"], profile={},
        )  # fmt: skip
        keys[backend] = made.key
    async with open_pool(database.app_dsn, name="chaos-plan", size=1) as pool:
        plans = PlanRows(pool)
        first = await plans.latest()
        document = {
            **first.document,
            "callers": {f"on-{backend}": {"backend": backend} for backend in keys},
            "shadow": {"sample_ppm": PPM, "callers": {}},
        }
        await plans.publish(document, author="chaos", reason="a backend a caller", based_on=first.version)
    return keys
