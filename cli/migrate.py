"""`crossfade migrate`."""

import asyncio

from cli.output import messages
from wiring.database import open_database
from wiring.migrate import migrate as bring_up_to_date
from wiring.settings import Settings


def migrate() -> int:
    """Bring the database to the newest schema: roles, `app`, `shadow`, and LangGraph's own tables. Safe to repeat."""
    with open_database(Settings()) as database:
        asyncio.run(bring_up_to_date(database))
    messages.print("database is up to date")
    return 0
