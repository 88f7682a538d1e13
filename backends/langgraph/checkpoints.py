"""LangGraph's checkpoints in PostgreSQL: the stock saver over a pool of our own, in a schema of its own.

The tables are made by `set_up` (the migrate command), never at start. One checkpoint a thread is kept: `prune` deletes the older ones.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import psycopg
import structlog
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from domain.errors import StoreUnavailable

log = structlog.get_logger(__name__)

_SETUP_LOCK = 0x43524F5353464144  # "CROSSFAD": one setup at a time in the database
_POLL_S = 0.2
_CHECKOUT_S = 5.0

# One statement, three tables: the newest checkpoint stays with the blobs it names; pending writes of the others go with them.
_PRUNE = """
WITH newest AS (
    SELECT checkpoint_ns, checkpoint_id, checkpoint
      FROM checkpoints WHERE thread_id = %(thread)s AND checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1
), old_writes AS (
    DELETE FROM checkpoint_writes w USING newest n
     WHERE w.thread_id = %(thread)s AND w.checkpoint_ns = n.checkpoint_ns AND w.checkpoint_id < n.checkpoint_id
), old_blobs AS (
    DELETE FROM checkpoint_blobs b USING newest n
     WHERE b.thread_id = %(thread)s AND b.checkpoint_ns = n.checkpoint_ns
       AND b.version IS DISTINCT FROM n.checkpoint -> 'channel_versions' ->> b.channel
)
DELETE FROM checkpoints c USING newest n
 WHERE c.thread_id = %(thread)s AND c.checkpoint_ns = n.checkpoint_ns AND c.checkpoint_id < n.checkpoint_id
"""

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    saver: AsyncPostgresSaver
    pool: Pool

    async def ping(self) -> None:
        """Raises StoreUnavailable when the tables cannot be read."""
        try:
            async with self.pool.connection() as connection:
                await connection.execute("SELECT 1 FROM checkpoints LIMIT 1")
        except (psycopg.Error, PoolTimeout) as error:
            raise StoreUnavailable("checkpoints") from error

    async def prune(self, thread: str) -> None:
        """Keep the newest checkpoint of a thread."""
        async with self.pool.connection() as connection:
            await connection.execute(_PRUNE, {"thread": thread})


@asynccontextmanager
async def open_saver(dsn: str, schema: str, *, max_size: int = 8) -> AsyncGenerator[Checkpoints, None]:
    """The saver and its pool, both closed at the end. Opens lazily: a database that is away makes a process not ready, it does not
    stop it."""
    pool: Pool = AsyncConnectionPool(
        dsn,
        connection_class=AsyncConnection[DictRow],
        min_size=0,
        max_size=max_size,
        timeout=_CHECKOUT_S,
        max_idle=300,
        kwargs=_connection_options(schema),
        check=cast(Any, AsyncConnectionPool.check_connection),
        open=False,
    )
    await pool.open(wait=False)
    try:
        saver = AsyncPostgresSaver(cast(Any, pool))
        # The saver serialises all its work with one lock, for the sake of a single connection. A pool gives everyone a connection.
        saver.lock = cast(Any, contextlib.nullcontext())
        yield Checkpoints(saver=saver, pool=pool)
    finally:
        await pool.close()


async def set_up(dsn: str, schema: str) -> None:
    """Make or upgrade the tables in an existing schema, one process at a time.

    The lock is polled on a connection of its own: a blocked `pg_advisory_lock` would hold a snapshot, and the saver's CREATE INDEX
    CONCURRENTLY waits for every snapshot. A setup that was cancelled while it waited leaves an invalid index that the saver takes for a
    good one, so those go first.
    """
    async with await AsyncConnection.connect(dsn, autocommit=True) as guard:
        await _take_lock(guard)
        try:
            await _drop_invalid_indexes(guard, schema)
            async with await AsyncConnection[DictRow].connect(dsn, **_connection_options(schema)) as connection:
                await AsyncPostgresSaver(connection).setup()
        finally:
            await guard.execute("SELECT pg_advisory_unlock(%s)", (_SETUP_LOCK,))


async def _drop_invalid_indexes(connection: AsyncConnection[Any], schema: str) -> None:
    rows = await connection.execute(
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = %s AND NOT i.indisvalid",
        (schema,),
    )
    for (name,) in await rows.fetchall():
        log.warning("invalid_index_dropped", schema=schema, index=name)
        await connection.execute(sql.SQL("DROP INDEX {}.{}").format(sql.Identifier(schema), sql.Identifier(name)))


async def _take_lock(guard: AsyncConnection[Any]) -> None:
    while True:
        row = await (await guard.execute("SELECT pg_try_advisory_lock(%s)", (_SETUP_LOCK,))).fetchone()
        if row and row[0]:
            return
        await asyncio.sleep(_POLL_S)


def _connection_options(schema: str) -> dict[str, Any]:
    """`schema` is one of ours; the quoting keeps it a name whatever it is. A space in `options` separates arguments."""
    quoted = '"' + schema.replace('"', '""') + '"'
    return {
        "autocommit": True,
        "prepare_threshold": 0,
        "row_factory": dict_row,
        "options": "-c search_path=" + quoted.replace("\\", "\\\\").replace(" ", "\\ "),
    }
