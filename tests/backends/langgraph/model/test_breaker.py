"""When the breaker opens, what closes it, and what says nothing about a model's health."""

import asyncio

import pytest

from backends.langgraph.model.breaker import Breaker
from domain.errors import BackendError, FailureKind

pytestmark = pytest.mark.unit

F = FailureKind
OPEN_S = 0.02


def opened() -> Breaker:
    breaker = Breaker(failures=2, open_s=OPEN_S)
    for _ in range(2):
        breaker.admit().failed(F.TIMEOUT)
    return breaker


def is_admitted(breaker: Breaker) -> bool:
    try:
        breaker.admit().close(is_alive=False)
    except BackendError as error:
        return error.failure.kind is not F.UNREACHABLE
    return True


@pytest.mark.parametrize("kind", [F.TIMEOUT, F.UNREACHABLE, F.INTERRUPTED, F.REFUSED, F.MALFORMED])
def test_failures_in_a_row_open_it(kind: FailureKind):
    breaker = Breaker(failures=3, open_s=60)
    for _ in range(3):
        assert is_admitted(breaker)
        breaker.admit().failed(kind)
    assert not is_admitted(breaker)


@pytest.mark.parametrize("kind", [F.CONFIGURATION, F.EMPTY])
def test_an_answer_is_a_sign_of_life_whatever_it_says(kind: FailureKind):
    breaker = Breaker(failures=2, open_s=60)
    for end in (F.TIMEOUT, kind, F.TIMEOUT, kind, F.TIMEOUT):
        breaker.admit().failed(end)
    assert is_admitted(breaker)


def test_an_answer_in_between_starts_the_count_anew():
    breaker = Breaker(failures=2, open_s=60)
    breaker.admit().failed(F.TIMEOUT)
    breaker.admit().close(is_alive=True)
    breaker.admit().failed(F.TIMEOUT)
    assert is_admitted(breaker)


def test_a_caller_who_hung_up_before_a_word_counts_neither_way():
    breaker = Breaker(failures=2, open_s=60)
    breaker.admit().failed(F.TIMEOUT)
    breaker.admit().close(is_alive=False)
    breaker.admit().failed(F.TIMEOUT)
    assert not is_admitted(breaker)


async def test_after_its_time_one_call_tries_and_the_others_do_not_wait():
    breaker = opened()
    await asyncio.sleep(OPEN_S * 2)
    trial = breaker.admit()
    assert not is_admitted(breaker)
    trial.close(is_alive=True)
    assert breaker.state == "closed"
    assert is_admitted(breaker)


async def test_a_trial_that_fails_opens_it_again_and_one_that_is_abandoned_lets_the_next_try():
    breaker = opened()
    await asyncio.sleep(OPEN_S * 2)
    breaker.admit().failed(F.REFUSED)
    assert not is_admitted(breaker)
    await asyncio.sleep(OPEN_S * 2)
    breaker.admit().close(is_alive=False)
    assert breaker.state == "half-opened"
    breaker.admit().close(is_alive=True)
    assert breaker.state == "closed"


@pytest.mark.parametrize("ends_well", [True, False])
async def test_a_call_from_before_neither_closes_nor_opens_it(ends_well: bool):
    breaker = Breaker(failures=2, open_s=OPEN_S)
    old = breaker.admit()
    for _ in range(2):
        breaker.admit().failed(F.TIMEOUT)
    await asyncio.sleep(OPEN_S * 2)
    trial = breaker.admit()
    if ends_well:
        old.close(is_alive=True)
    else:
        old.failed(F.TIMEOUT)
    assert breaker.state == "half-opened"
    trial.close(is_alive=True)
    assert is_admitted(breaker)


def test_an_end_is_told_once():
    breaker = Breaker(failures=2, open_s=60)
    call = breaker.admit()
    for _ in range(3):
        call.failed(F.TIMEOUT)
    assert is_admitted(breaker)
