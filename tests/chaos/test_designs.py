"""The harness itself on trial: every wrong design must be caught, by the invariant that names what it breaks."""

import pytest

from tests.chaos.campaign import all_played, cells_like
from tests.chaos.cells import CELLS
from tests.chaos.designs import DESIGNS
from tests.chaos.stand import Stand

pytestmark = [pytest.mark.chaos, pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

SEEDS = (1, 2, 3, 4)
WRONG = {name: design for name, design in DESIGNS.items() if name}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_design_is_caught(stand: Stand, name: str):
    design = WRONG[name]
    cells = cells_like(CELLS, design.cells)[:2]
    played = await all_played(stand, cells, SEEDS[: 4 // len(cells)], lanes=2, design=name)
    found = {each.invariant for one in played for each in one.found}
    assert design.broken in found, [(one.cell.name, one.seed, one.found) for one in played]


async def test_the_product_passes_where_the_wrong_designs_fail(stand: Stand):
    cells = dict.fromkeys(cell for design in WRONG.values() for cell in cells_like(CELLS, design.cells)[:2])
    played = await all_played(stand, list(cells), SEEDS[:1], lanes=2)
    assert [(one.cell.name, one.seed, one.found) for one in played if one.found] == []
