"""Runs the migrations over asyncpg on the connection that storage/migrate.py (or the alembic command) hands in."""

import asyncio
import os
from typing import Any

from alembic import context
from sqlalchemy import Connection, inspect
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateSchema

from storage.engine import sqlalchemy_url
from storage.tables import APP, SHADOW, metadata

# LangGraph makes and owns these, in the schema `shadow` too (a shadow thread keeps its own checkpoints there).
_LANGGRAPH_TABLES = {"checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations"}


def include_name(name: str | None, kind: str, parents: Any) -> bool:
    if kind == "schema":
        return name in (APP, SHADOW)
    return not (kind == "table" and name in _LANGGRAPH_TABLES)


def run(connection: Connection) -> None:
    # Asked first: creating a schema needs a privilege on the database, also when there is nothing to create.
    if APP not in inspect(connection).get_schema_names():
        connection.execute(CreateSchema(APP))
    connection.commit()
    context.configure(
        connection=connection,
        target_metadata=metadata,
        include_schemas=True,
        include_name=include_name,
        version_table_schema=APP,
        compare_server_default=False,
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()


async def run_online() -> None:
    dsn = context.config.attributes.get("dsn") or os.environ["CROSSFADE_MIGRATOR_DSN"]
    engine = create_async_engine(sqlalchemy_url(dsn), poolclass=NullPool)
    async with engine.connect() as connection:
        await connection.run_sync(run)
    await engine.dispose()


asyncio.run(run_online())
