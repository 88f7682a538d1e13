"""What a figure claims."""

import pytest

from bench.figures import Figure, of_rounds, percentile, table_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("share", "value"),
    [(0.5, 50.0), (0.95, 95.0), (0.99, 99.0), (0.991, 100.0), (1.0, 100.0), (0.001, 1.0)],
)
def test_a_percentile_is_the_smallest_value_that_the_share_does_not_exceed(share: float, value: float):
    assert percentile([float(number) for number in range(100, 0, -1)], share) == value


def test_nothing_measured_has_no_percentile():
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


@pytest.mark.parametrize(
    ("measured", "goal", "sense", "reached"),
    [(1.3, 1.3, "at_most", True), (1.31, 1.3, "at_most", False), (2.9, 3.0, "at_least", False), (3.0, 3.0, "at_least", True)],
)
def test_a_goal_includes_its_limit(measured: float, goal: float, sense: str, reached: bool):
    figure = Figure(what="w", measured=measured, unit="×", rounds=5, goal=goal, sense="at_most" if sense == "at_most" else "at_least")
    assert figure.reached is reached


def test_a_figure_without_a_goal_is_neither_reached_nor_missed():
    figure = of_rounds([1.0, 2.0, 9.0], what="w", unit="×")
    assert figure.reached is None
    assert figure.measured == 2.0
    assert figure.spread == (1.0, 9.0)


def test_a_missed_goal_is_written_and_shown_as_missed():
    figure = of_rounds([2.0], what="w", unit="×", goal=1.0, detail={"ours ms": 2.0})
    assert figure.as_json()["reached"] is False
    cells = [cell for column in table_of({"P1": figure}).columns for cell in column.cells]
    assert any("NOT reached" in str(cell) for cell in cells)
