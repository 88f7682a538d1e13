"""LangGraph's checkpoints in PostgreSQL: a pool of our own, tables in a schema of their own, one row a thread (saver.py).

The tables are the stock saver's; `set_up` (the migrate command) makes them, never the start of a server.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import asyncpg
import structlog
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow, dict_row

from backends.langgraph.saver import NewestOnlySaver, TurnSaver
from domain.errors import StoreUnavailable
from domain.session import SessionState

log = structlog.get_logger(__name__)

_SETUP_LOCK = 0x43524F5353464144  # "CROSSFAD": one setup at a time in the database
_POLL_S = 0.2
_CONNECT_S = 5.0
_STATEMENT_S = 10.0  # a checkpoint that takes longer is a fault, not patience
_OUTAGES = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """`saver` is for looking at what was kept, `for_turns` for keeping it."""

    saver: NewestOnlySaver
    for_turns: TurnSaver

    async def ping(self) -> None:
        """Raises StoreUnavailable when the table cannot be read."""
        try:
            await self.saver.ping()
        except _OUTAGES as error:
            raise StoreUnavailable("checkpoints") from error

    async def drift(self, thread: str, session: SessionState) -> tuple[str, ...]:
        """How the kept checkpoint contradicts the session; raises StoreUnavailable."""
        try:
            kept = await self.saver.aget_tuple({"configurable": {"thread_id": thread}})
        except _OUTAGES as error:
            raise StoreUnavailable("checkpoints") from error
        return () if kept is None else contradictions(kept.checkpoint["channel_values"], session)

    async def forget(self, thread: str) -> None:
        """Raises StoreUnavailable."""
        try:
            await self.saver.adelete_thread(thread)
        except _OUTAGES as error:
            raise StoreUnavailable("checkpoints") from error


def contradictions(kept: Mapping[str, Any], session: SessionState) -> tuple[str, ...]:
    """A checkpoint is written when its graph ends and before the turn is committed. `ahead`: that commit never came. `stage`: it came, and
    says another stage. One that is behind was left there while another backend served, and says nothing wrong. Pure."""
    started_from = kept.get("version")
    if not isinstance(started_from, int) or started_from >= session.version:
        return ("checkpoint_ahead",)
    if started_from == session.version - 1 and kept.get("next_stage") not in (None, session.stage):
        return ("checkpoint_stage",)
    return ()


@asynccontextmanager
async def open_saver(dsn: str, schema: str, *, max_size: int = 8) -> AsyncGenerator[Checkpoints, None]:
    """The saver over a pool that is closed at the end. Opens lazily: a database that is away makes a process not ready, it does not
    stop it."""
    pool = asyncpg.create_pool(
        dsn,
        min_size=0,
        max_size=max_size,
        timeout=_CONNECT_S,
        command_timeout=_STATEMENT_S,
        server_settings={"application_name": "crossfade-checkpoints"},
        reset=_nothing_to_reset,
    )
    await pool
    try:
        yield Checkpoints(saver=NewestOnlySaver(pool, schema), for_turns=TurnSaver(pool, schema))
    finally:
        try:
            await cast(Any, pool).close()
        except _OUTAGES as error:
            log.warning("checkpoint_pool_close_failed", error_type=type(error).__name__)
            pool.terminate()


async def _nothing_to_reset(_connection: object) -> None:
    """Single statements leave no session state behind, so a connection goes back without the round trip that would clear it."""


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
