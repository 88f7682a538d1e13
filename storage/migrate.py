"""Bring the schemas `app` and `shadow` to the newest revision. LangGraph's tables follow in wiring/migrate.py, under their own lock."""

import asyncio
from pathlib import Path

import asyncpg
from alembic import command
from alembic.config import Config

from storage.engine import plain_dsn

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


async def ensure_database(admin_dsn: str, name: str, *, template: str | None = None) -> bool:
    """Create a database when it is missing; True when it was created. `name` is ours, never a caller's."""
    connection = await asyncpg.connect(plain_dsn(admin_dsn))
    try:
        if await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", name):
            return False
        await connection.execute(f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{template}"' if template else ""))
        return True
    finally:
        await connection.close()
