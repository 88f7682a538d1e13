"""The callers: who may come in, for which tenant, with which switches. Implements ports.ClientDirectory; operators create them."""

from collections.abc import Mapping
from typing import Any

import asyncpg

from contract.ports import Client
from storage import json
from storage.engine import database_failures

_FIND = """
SELECT client_id, tenant_id, scopes, profile, credential_hash
FROM app.api_clients
WHERE key_id = $1 AND status = 'active' AND (expires_at IS NULL OR expires_at > clock_timestamp())
"""

_ADD = """
INSERT INTO app.api_clients (tenant_id, client_id, key_id, credential_hash, scopes, profile)
VALUES ($1, $2, $3, $4, $5, $6)
"""


class ClientExists(Exception):
    """The client id or key id is taken."""


class ClientRows:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def find(self, key_id: str) -> tuple[Client, str] | None:
        with database_failures("find_client"):
            row = await self._pool.fetchrow(_FIND, key_id)
        if row is None:
            return None
        client = Client(
            client_id=row["client_id"],
            tenant_id=row["tenant_id"],
            scopes=frozenset(row["scopes"]),
            profile=json.loads(row["profile"]),
        )
        return client, row["credential_hash"]


async def add_client(
    migrator_dsn: str,
    *,
    tenant_id: str,
    client_id: str,
    key_id: str,
    credential_hash: str,
    scopes: list[str],
    profile: Mapping[str, Any],
) -> None:
    """Raises ClientExists."""
    connection = await asyncpg.connect(migrator_dsn)
    try:
        await connection.execute(_ADD, tenant_id, client_id, key_id, credential_hash, scopes, json.dumps(profile))
    except asyncpg.UniqueViolationError:
        raise ClientExists(client_id) from None
    finally:
        await connection.close()


async def set_client_status(migrator_dsn: str, client_id: str, status: str) -> bool:
    """`active` or `disabled`; False when there is no such client. Proxies notice within their cache time."""
    connection = await asyncpg.connect(migrator_dsn)
    try:
        done = await connection.execute(
            "UPDATE app.api_clients SET status = $2, updated_at = now() WHERE client_id = $1", client_id, status
        )
    finally:
        await connection.close()
    return done.endswith(" 1")
