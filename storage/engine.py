"""Connections: an asyncpg pool for the turn's path, an SQLAlchemy engine for everything people wait for. One door for database errors."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

import asyncpg
import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from domain.errors import StoreRefused, StoreUnavailable

log = structlog.get_logger(__name__)

CONNECT_SECONDS = 5.0
STATEMENT_SECONDS = 10.0  # a commit that takes longer is a fault, not patience


def plain_dsn(dsn: str) -> str:
    """libpq's form: `postgresql+asyncpg://` and `postgres://` are accepted in settings."""
    scheme, separator, rest = dsn.partition("://")
    return f"postgresql://{rest}" if separator and scheme.split("+")[0] in ("postgresql", "postgres") else dsn


def sqlalchemy_url(dsn: str) -> str:
    return plain_dsn(dsn).replace("postgresql://", "postgresql+asyncpg://", 1)


async def _nothing_to_reset(_connection: object) -> None:
    """Our statements leave no session state behind (no SET, no LISTEN, no session lock), so a connection goes back without the round
    trip that would clear it; an open transaction is still rolled back by the driver."""


@asynccontextmanager
async def open_pool(dsn: str, *, name: str, size: int = 10) -> AsyncGenerator[asyncpg.Pool]:
    """Opens lazily: a database that is away at start makes the process not ready, it does not stop it."""
    pool = asyncpg.create_pool(
        plain_dsn(dsn),
        min_size=0,
        max_size=size,
        timeout=CONNECT_SECONDS,
        command_timeout=STATEMENT_SECONDS,
        server_settings={"application_name": name},
        reset=_nothing_to_reset,
    )
    await pool
    try:
        yield pool
    finally:
        try:
            await cast(Any, pool).close()
        except (OSError, asyncpg.PostgresError) as error:
            log.warning("database_pool_close_failed", error_type=type(error).__name__)
            pool.terminate()


@asynccontextmanager
async def open_engine(dsn: str, *, name: str) -> AsyncGenerator[AsyncEngine]:
    engine = create_async_engine(
        sqlalchemy_url(dsn), pool_size=5, connect_args={"timeout": CONNECT_SECONDS, "server_settings": {"application_name": name}}
    )
    try:
        yield engine
    finally:
        await engine.dispose()


async def check_connection(dsn: str) -> None:
    """Raises one of DATABASE_ERRORS."""
    connection = await asyncpg.connect(plain_dsn(dsn), timeout=int(CONNECT_SECONDS))
    await connection.close()


DATABASE_ERRORS = (OSError, asyncpg.InterfaceError, asyncpg.PostgresError)
OUTAGES = (OSError, TimeoutError, asyncpg.InterfaceError, asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError)


@contextmanager
def database_failures(doing: str) -> Generator[None]:
    """Everything the database can do wrong becomes StoreUnavailable here, but for a broken constraint: what that means, its statement
    knows. Logged: class and SQLSTATE; messages quote values."""
    try:
        yield
    except asyncpg.IntegrityConstraintViolationError:
        raise
    except asyncpg.DataError as error:
        log.error("database_refused_values", doing=doing, error_type=type(error).__name__, sqlstate=getattr(error, "sqlstate", None))
        raise StoreRefused(doing) from None
    except (*OUTAGES, asyncpg.PostgresError, SQLAlchemyError) as error:
        sqlstate = getattr(error, "sqlstate", None) or getattr(getattr(error, "orig", None), "sqlstate", None)
        log.error("database_failed", doing=doing, error_type=type(error).__name__, sqlstate=sqlstate)
        raise StoreUnavailable(doing) from None
