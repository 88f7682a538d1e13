"""From nothing to the newest schema, back, and again; and the schema is what the code says it is."""

import asyncio
import uuid

import asyncpg
import pytest
from alembic import command

from storage.embedded import EmbeddedPostgres
from storage.migrate import alembic_config, downgrade, ensure_database, upgrade
from storage.tables import metadata
from wiring.database import Database, embedded_database
from wiring.migrate import migrate

pytestmark = pytest.mark.integration


@pytest.fixture
def empty(postgres: EmbeddedPostgres) -> Database:
    return embedded_database(postgres, f"m_{uuid.uuid4().hex[:12]}")


async def tables(database: Database) -> set[str]:
    connection = await asyncpg.connect(database.migrator_dsn)
    try:
        rows = await connection.fetch("SELECT schemaname || '.' || tablename AS name FROM pg_tables WHERE schemaname IN ('app', 'shadow')")
        return {row["name"] for row in rows}
    finally:
        await connection.close()


OURS = {table.fullname for table in metadata.tables.values()}


async def test_an_empty_database_is_brought_up_and_down_and_up_again(empty):
    await migrate(empty)
    assert await tables(empty) >= OURS
    await downgrade(empty.migrator_dsn, "base")
    assert await tables(empty) & OURS == set()
    await upgrade(empty.migrator_dsn)
    assert await tables(empty) >= OURS


async def test_many_migrations_at_once_end_in_one_complete_schema(empty):
    await asyncio.gather(*(migrate(empty) for _ in range(4)))
    assert await tables(empty) >= OURS
    connection = await asyncpg.connect(empty.migrator_dsn)
    invalid = await connection.fetchval("SELECT count(*) FROM pg_index WHERE NOT indisvalid")
    plans = await connection.fetchval("SELECT count(*) FROM app.rollout_plans")
    await connection.close()
    assert (invalid, plans) == (0, 1)


async def test_the_code_and_the_schema_say_the_same(database):
    await asyncio.to_thread(command.check, alembic_config(database.migrator_dsn))  # raises when a revision is missing


async def test_the_first_plan_sends_everything_to_fastgpt_unshadowed(database):
    connection = await asyncpg.connect(database.app_dsn)
    row = await connection.fetchrow("SELECT version, document::text AS document FROM app.rollout_plans")
    await connection.close()
    assert row["version"] == 1
    for part in ('"default": "fastgpt"', '"langgraph_ppm": 0', '"sample_ppm": 0', '"override": null'):
        assert part in row["document"]


async def test_a_missing_database_is_created_once_by_whoever_is_first(postgres):
    name = f"m_{uuid.uuid4().hex[:12]}"
    made = await asyncio.gather(*(ensure_database(postgres.dsn(), name) for _ in range(4)))
    assert sum(made) == 1
