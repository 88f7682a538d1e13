"""Rates and repeatable draws."""

import argparse

import pytest

from sim.chance import checked_rates, is_drawn, rate_option

pytestmark = pytest.mark.unit


def test_a_draw_repeats_for_the_same_seed_name_and_subject():
    draws = [is_drawn(0.5, seed=3, name="plate_raw", subject=f"s-{n}") for n in range(200)]
    assert draws == [is_drawn(0.5, seed=3, name="plate_raw", subject=f"s-{n}") for n in range(200)]
    assert 60 < sum(draws) < 140


def test_two_names_are_drawn_apart():
    first = [is_drawn(0.5, seed=3, name="a", subject=str(n)) for n in range(100)]
    assert first != [is_drawn(0.5, seed=3, name="b", subject=str(n)) for n in range(100)]


@pytest.mark.parametrize(("rate", "expected"), [(0.0, False), (1.0, True)])
def test_the_ends_of_the_scale_are_certain(rate: float, expected: bool):
    assert {is_drawn(rate, seed=1, name="x", subject=str(n)) for n in range(50)} == {expected}


def test_a_higher_rate_keeps_every_subject_a_lower_one_drew():
    low = {n for n in range(300) if is_drawn(0.2, seed=1, name="x", subject=str(n))}
    assert low <= {n for n in range(300) if is_drawn(0.6, seed=1, name="x", subject=str(n))}


@pytest.mark.parametrize("text", ["unknown=1", "cut=2", "cut=-1", "cut=much"])
def test_a_wrong_rate_on_the_command_line_is_refused(text: str):
    with pytest.raises(argparse.ArgumentTypeError):
        rate_option(("cut",))(text)


def test_a_name_alone_means_always():
    assert rate_option(("cut",))("cut") == ("cut", 1.0)
    assert checked_rates({"cut": 0.25}, ("cut",)) == {"cut": 0.25}
