"""What tests share: one PostgreSQL for all workers, one migrated template, a fresh copy of it for each module that asks."""

import asyncio
import fcntl
import os
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import hypothesis
import pytest

from storage.embedded import EmbeddedPostgres
from storage.migrate import ensure_database
from wiring.database import Database, embedded_database
from wiring.migrate import migrate

TEMPLATE = "crossfade_template"

# People's runs explore; CI repeats, so that what lands is what was tested. An example found by anybody becomes a case of its own.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("people", deadline=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "people")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-golden", action="store_true", help="write golden outputs anew instead of comparing with them")


@contextmanager
def only_one_worker(path: Path) -> Generator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def shared_dir(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@pytest.fixture(scope="session")
def postgres(shared_dir: Path) -> Generator[EmbeddedPostgres]:
    with only_one_worker(shared_dir / "postgres.lock"):
        server = EmbeddedPostgres(shared_dir / "postgres")
        if not (shared_dir / "migrated").exists():
            asyncio.run(migrate(embedded_database(server, TEMPLATE)))
            asyncio.run(_unharden(server))
            (shared_dir / "migrated").touch()
    yield server
    server.close()


async def _unharden(server: EmbeddedPostgres) -> None:
    """Tests make and drop databases all the time; none of them pulls the plug on the disk."""
    connection = await asyncpg.connect(server.dsn())
    try:
        await connection.execute("ALTER SYSTEM SET fsync = off")
        await connection.execute("SELECT pg_reload_conf()")
    finally:
        await connection.close()


@pytest.fixture(scope="module")
def database(postgres: EmbeddedPostgres) -> Database:
    """A migrated database nobody else uses."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    asyncio.run(ensure_database(postgres.dsn(), name, template=TEMPLATE))
    return embedded_database(postgres, name)


@pytest.fixture(scope="module")
def langgraph_dsn(database: Database) -> str:
    return database.app_dsn
