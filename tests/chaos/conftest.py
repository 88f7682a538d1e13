"""One stand for all tests of this folder that are played: a database, the simulators and the nursery take a few seconds to start."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.chaos.stand import Stand, open_stand
from wiring.database import Database


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stand(database: Database, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stand]:
    place: Path = tmp_path_factory.mktemp("chaos")
    async with open_stand(database, place) as stand:
        yield stand
