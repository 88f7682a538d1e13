"""Everything `crossfade migrate` does, in order: database, roles, our schemas, LangGraph's tables. Safe to repeat, and side by side."""

from storage.migrate import ensure_database, migration_lock, upgrade
from storage.roles import ensure_roles
from storage.tables import LANGGRAPH, SHADOW
from wiring.database import Database


async def migrate(database: Database) -> None:
    from backends.langgraph.checkpoints import set_up  # loads LangGraph, which no other command of an operator needs

    if database.embedded is not None:
        await ensure_database(database.embedded.dsn(), database.name)
    async with migration_lock(database.admin_dsn):
        await ensure_roles(database.admin_dsn)
        await upgrade(database.migrator_dsn)
        # Live checkpoints and those of shadow threads never share a table: each schema has its own set.
        for schema in (LANGGRAPH, SHADOW):
            await set_up(database.migrator_dsn, schema)
