"""`crossfade migrate`."""

import asyncio

from cli.output import messages, print_json
from storage.migrate import revision
from wiring.database import Database, open_database
from wiring.migrate import migrate as bring_up_to_date
from wiring.settings import Settings


def migrate(*, json: bool = False) -> int:
    """Bring the database to the newest schema: roles, `app`, `shadow`, and LangGraph's own tables. Safe to repeat.

    Parameters
    ----------
    json
        Print one JSON document.
    """
    with open_database(Settings()) as database:
        at = asyncio.run(_migrated(database))
    if json:
        print_json({"schema_version": 1, "revision": at})
    else:
        messages.print(f"the database is at revision {at}")
    return 0


async def _migrated(database: Database) -> str:
    await bring_up_to_date(database)
    return await revision(database.migrator_dsn)
