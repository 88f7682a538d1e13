"""The table of cells is whole: nothing is left out by a slip of a loop."""

import pytest

from tests.chaos.cells import BACKENDS, CELLS, CHAT_STEPS, CHECKPOINT

pytestmark = [pytest.mark.chaos, pytest.mark.unit]


def test_no_two_cells_have_one_name():
    assert len({cell.name for cell in CELLS}) == len(CELLS)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("how", ["kill", "cancel"])
def test_every_step_of_a_turn_is_a_place_to_stop_at(backend: str, how: str):
    steps = {cell.step for cell in CELLS if (cell.backend, cell.how, cell.kind) == (backend, how, "chat")}
    assert steps >= {*CHAT_STEPS, *(CHECKPOINT if backend == "langgraph" else ()), "commit_statement"}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("identity", ["key", "event", "none"])
@pytest.mark.parametrize("stream", [True, False])
def test_every_manner_of_asking_is_played(backend: str, identity: str, stream: bool):
    assert any((cell.backend, cell.identity, cell.stream) == (backend, identity, stream) for cell in CELLS)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("moment", ["before", "unsynced", "during", "after"])
@pytest.mark.parametrize("dark", [True, False])
def test_the_commit_is_cut_at_every_moment(backend: str, moment: str, dark: bool):
    assert any(
        (cell.backend, cell.step, cell.moment, cell.dark) == (backend, "commit_statement", moment, dark)
        for cell in CELLS
        if cell.how == "cut"
    )
