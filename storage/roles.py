"""The four database roles. Names are fixed and cluster-wide; what each may do is granted by the migrations.

migrator owns every object; app serves traffic; shadow writes the shadow schema only; reader looks and touches nothing.
"""

from enum import StrEnum

import asyncpg


class Role(StrEnum):
    MIGRATOR = "crossfade_migrator"
    APP = "crossfade_app"
    SHADOW = "crossfade_shadow"
    READER = "crossfade_reader"


async def ensure_roles(admin_dsn: str) -> None:
    """Create the missing roles (LOGIN, no password: set one where sockets are not trusted) and let the migrator create schemas here.

    `admin_dsn` needs CREATEROLE only when a role is missing, and ownership of the database (or superuser) for the grant.
    """
    connection = await asyncpg.connect(admin_dsn)
    try:
        # Two migrations at once would both find a role missing; the lock is released with the transaction.
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(7301)")
            present = {row["rolname"] for row in await connection.fetch("SELECT rolname FROM pg_roles WHERE rolname = ANY($1)", list(Role))}
            for role in Role:
                if role not in present:
                    await connection.execute(f"CREATE ROLE {role} LOGIN")
            database = await connection.fetchval("SELECT quote_ident(current_database())")
            user = await connection.fetchval("SELECT current_user")
            if user != Role.MIGRATOR:
                await connection.execute(f"GRANT CREATE, CONNECT ON DATABASE {database} TO {Role.MIGRATOR}")
    finally:
        await connection.close()
