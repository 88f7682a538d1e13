"""A house with a scripted backend on each side, and one database for the module."""

import uuid
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from domain.backend_name import BackendName
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.house import House, open_house
from tests.fakes.scripted_backend import ScriptedBackend
from tests.fakes.values import NOON
from wiring.database import Database


@pytest.fixture
def langgraph() -> ScriptedBackend:
    return ScriptedBackend()


@pytest.fixture
def fastgpt() -> ScriptedBackend:
    return ScriptedBackend(name=BackendName.FASTGPT, finishes_when_abandoned=True)


@pytest_asyncio.fixture
async def house(database: Database, langgraph: ScriptedBackend, fastgpt: ScriptedBackend) -> AsyncGenerator[House]:
    backends = {BackendName.LANGGRAPH: langgraph, BackendName.FASTGPT: fastgpt}
    async with open_house(database, backends, FixedClock(NOON)) as house:
        yield house


@pytest.fixture
def session() -> str:
    """A session id no other test has."""
    return f"S-{uuid.uuid4()}"
