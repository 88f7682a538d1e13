"""Bring the schemas `app` and `shadow` to the newest revision. LangGraph's tables follow in wiring/migrate.py, under their own lock."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
from alembic import command
from alembic.config import Config

from storage.engine import plain_dsn

_LOCK = 7302
_LOCK_POLL_SECONDS = 0.2
MIGRATIONS = Path(__file__).parent / "migrations"


def alembic_config(migrator_dsn: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["dsn"] = migrator_dsn
    return config


async def upgrade(migrator_dsn: str, revision: str = "head") -> None:
    """Alembic is synchronous and starts its own loop, hence the thread."""
    await asyncio.to_thread(command.upgrade, alembic_config(migrator_dsn), revision)


async def downgrade(migrator_dsn: str, revision: str) -> None:
    await asyncio.to_thread(command.downgrade, alembic_config(migrator_dsn), revision)


async def revision(migrator_dsn: str) -> str:
    """The revision a migrated database is at."""
    connection = await asyncpg.connect(plain_dsn(migrator_dsn))
    try:
        return await connection.fetchval("SELECT version_num FROM app.alembic_version")
    finally:
        await connection.close()


async def ensure_database(admin_dsn: str, name: str, *, template: str | None = None) -> bool:
    """Create a database when it is missing; True when it was created. `name` is ours, never a caller's."""
    connection = await asyncpg.connect(plain_dsn(admin_dsn))
    try:
        if await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", name):
            return False
        try:
            await connection.execute(f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{template}"' if template else ""))
        except (asyncpg.DuplicateDatabaseError, asyncpg.UniqueViolationError):  # somebody was faster
            return False
        return True
    finally:
        await connection.close()


async def drop_databases(admin_dsn: str, prefix: str) -> None:
    """Every database whose name begins so, whoever is connected. For throw-away databases of an embedded server."""
    connection = await asyncpg.connect(plain_dsn(admin_dsn))
    try:
        for row in await connection.fetch("SELECT datname FROM pg_database WHERE starts_with(datname, $1)", prefix):
            await connection.execute(f'DROP DATABASE "{row["datname"]}" WITH (FORCE)')
    finally:
        await connection.close()


@asynccontextmanager
async def migration_lock(dsn: str) -> AsyncGenerator[None]:
    """One migration of a database at a time. The lock is polled for, not waited for: a waiting statement would hold a snapshot, and
    LangGraph's CREATE INDEX CONCURRENTLY waits for every snapshot."""
    connection = await asyncpg.connect(plain_dsn(dsn))
    try:
        while True:
            if await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK):
                break
            await asyncio.sleep(_LOCK_POLL_SECONDS)
        yield
    finally:
        await connection.close()
