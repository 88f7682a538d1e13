"""A slice of the crash matrix, one seed a cell: every step with every way to stop there, on each backend. `make chaos` plays all of it."""

import pytest

from tests.chaos.campaign import play
from tests.chaos.cells import CELLS, Cell
from tests.chaos.stand import Stand

pytestmark = [pytest.mark.chaos, pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

SEED = 1


def spread() -> list[Cell]:
    """The first cell of every step × way × backend; the dark and the repeated ones are ways of their own."""
    chosen: dict[tuple[str, ...], Cell] = {}
    for cell in CELLS:
        chosen.setdefault((cell.backend, cell.step, cell.how, cell.moment or "", str(cell.dark), cell.then, cell.kind), cell)
    return list(chosen.values())


@pytest.mark.timeout(300)  # half a minute on an idle machine
async def test_every_crash_point_leaves_the_one_true_answer(stand: Stand):
    bad = [(one.cell.name, one.seed, one.found) async for one in play(stand, spread(), (SEED,), lanes=3) if one.found]
    assert bad == []
