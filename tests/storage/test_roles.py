"""Four roles, and what each may not do. Asked of the database itself, table by table."""

import asyncpg
import pytest

from storage.tables import metadata

pytestmark = [pytest.mark.integration, pytest.mark.security]

APP_TABLES = sorted(table.fullname for table in metadata.tables.values() if table.schema == "app")
SHADOW_TABLES = sorted(table.fullname for table in metadata.tables.values() if table.schema == "shadow")
LIVE_CHECKPOINTS = [f"langgraph.{name}" for name in ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations")]
PRIVILEGES = ("INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")


async def granted(pool_as, role: str, table: str) -> set[str]:
    """Every way in which a role may change a table, single columns included."""
    admin = pool_as("migrator")
    whole = {one for one in PRIVILEGES if await admin.fetchval("SELECT has_table_privilege($1, $2, $3)", f"crossfade_{role}", table, one)}
    columns = {
        one
        for one in ("INSERT", "UPDATE", "REFERENCES")
        if await admin.fetchval("SELECT has_any_column_privilege($1, $2, $3)", f"crossfade_{role}", table, one)
    }
    return whole | columns


@pytest.mark.parametrize("table", [*APP_TABLES, *LIVE_CHECKPOINTS])
@pytest.mark.parametrize("role", ["shadow", "reader"])
async def test_neither_shadow_nor_reader_writes_business_tables_or_live_checkpoints(pool_as, role, table):
    assert await granted(pool_as, role, table) == set()


@pytest.mark.parametrize("table", SHADOW_TABLES)
@pytest.mark.parametrize("role", ["app", "reader"])
async def test_neither_app_nor_reader_writes_the_shadow_schema(pool_as, role, table):
    assert await granted(pool_as, role, table) == set()


@pytest.mark.parametrize("table", ["app.turns", "app.turn_outbox", "app.accident_events", "app.rollout_plans"])
async def test_the_app_can_add_to_history_and_not_rewrite_it(pool_as, table):
    assert await granted(pool_as, "app", table) == {"INSERT"}


async def test_a_write_that_is_not_granted_is_refused_by_the_database_itself(pool_as):
    for role, table in (("shadow", "app.turns"), ("reader", "shadow.diffs"), ("app", "shadow.ledger")):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await pool_as(role).execute(f"DELETE FROM {table}")


@pytest.mark.parametrize(
    "column",
    [
        "app.turns.input",
        "app.turns.after",
        "app.turns.output_text",
        "app.turns.outcome",
        "app.accident_events.payload",
        "shadow.comparisons.shadow_outcome",
    ],
)
async def test_the_reader_counts_and_does_not_see_what_people_said(pool_as, column):
    table, _, name = column.rpartition(".")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await pool_as("reader").fetch(f"SELECT {name} FROM {table}")


@pytest.mark.parametrize("role", ["shadow", "reader"])
async def test_nobody_but_the_app_sees_the_hashes_of_keys_or_opens_a_session(pool_as, role):
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await pool_as(role).fetch("SELECT credential_hash FROM app.api_clients")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await pool_as(role).fetch("SELECT * FROM app.open_session('t', 's', 'c', NULL, 'e', gen_random_uuid(), 1, 3)")


async def test_no_function_of_ours_can_be_run_by_everybody(pool_as):
    rows = await pool_as("migrator").fetch(
        "SELECT p.oid::regprocedure::text AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
        " WHERE n.nspname IN ('app', 'shadow', 'langgraph') AND has_function_privilege('public', p.oid, 'EXECUTE')"
    )
    assert [row["name"] for row in rows] == []


@pytest.mark.parametrize("role", ["app", "shadow", "reader"])
async def test_no_serving_role_may_create_anything(pool_as, role):
    for schema in ("app", "shadow", "langgraph", "public"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await pool_as(role).execute(f"CREATE TABLE {schema}.intruder (x int)")


async def test_the_shadow_keeps_its_checkpoints_in_its_own_schema(pool_as):
    await pool_as("shadow").execute("INSERT INTO shadow.checkpoints (thread_id, checkpoint_id, checkpoint) VALUES ('t', 'c', '{}')")
    assert await pool_as("app").fetchval("SELECT count(*) FROM langgraph.checkpoints WHERE thread_id = 't'") == 0
