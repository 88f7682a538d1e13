"""Pools of the roles on a database of this module's own."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from datetime import timedelta

import asyncpg
import pytest
import pytest_asyncio

from storage.engine import open_pool
from storage.turns import TurnRows
from wiring.database import Database


@pytest_asyncio.fixture
async def pool(database: Database) -> AsyncGenerator[asyncpg.Pool]:
    async with open_pool(database.app_dsn, name="test", size=4) as pool:
        yield pool


@pytest_asyncio.fixture
async def pool_as(database: Database) -> AsyncGenerator[Callable[[str], asyncpg.Pool]]:
    async with AsyncExitStack() as stack:
        dsns = {"migrator": database.migrator_dsn, "app": database.app_dsn, "shadow": database.shadow_dsn, "reader": database.reader_dsn}
        pools = {name: await stack.enter_async_context(open_pool(dsn, name="test", size=3)) for name, dsn in dsns.items()}
        yield pools.__getitem__


@pytest.fixture
def store(pool: asyncpg.Pool) -> TurnRows:
    return TurnRows(pool, lease_seconds=30, wait_seconds=0.1, keep_replies=timedelta(hours=1))
