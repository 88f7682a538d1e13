"""Who may be handed over, what that does to the pin, and what goes on record."""

from dataclasses import replace

import pytest

from domain.backend_name import BackendName
from domain.plan import INITIAL_PLAN, PPM, Move, Route, plan_from_document
from rollout.handover import hand_over, moved_by_operator
from rollout.routing import route
from tests.fakes.values import PIN, a_turn

pytestmark = pytest.mark.unit

F, L = BackendName.FASTGPT, BackendName.LANGGRAPH


def to(backend: BackendName, reason: str) -> Route:
    return Route(backend=backend, reason=reason, plan_version=9, bucket=500)


@pytest.mark.parametrize(
    ("decided", "served_by", "lost", "serves", "pin", "move"),
    [
        (to(F, "pin"), F, (), (F, "pin"), F, None),
        (to(F, "pin"), None, (), (F, "pin"), F, None),
        (to(L, "override"), F, (), (L, "override"), F, Move(source=F, target=L, cause="override")),
        (to(L, "override"), L, (), (L, "override"), F, None),
        (to(F, "pin"), L, (), (F, "pin"), F, Move(source=L, target=F, cause="pin")),
        (to(L, "process"), F, ("alarms",), (L, "process"), F, Move(source=F, target=L, cause="process", lost=("alarms",))),
        (to(L, "carry"), F, (), (L, "carry"), L, Move(source=F, target=L, cause="carry")),
        (to(L, "carry"), F, ("partials",), (F, "pin"), F, Move(source=F, target=L, cause="carry", lost=("partials",), is_refused=True)),
    ],
)
def test_a_wish_is_refused_by_what_would_be_lost_and_a_kill_switch_is_not(decided, served_by, lost, serves, pin, move):
    handed = hand_over(PIN, decided, served_by=served_by, lost=lost)
    assert ((handed.route.backend, handed.route.reason), handed.pin.backend, handed.move) == (serves, pin, move)


def test_a_carried_session_keeps_its_sample_and_remembers_the_plan_that_carried_it():
    handed = hand_over(PIN, to(L, "carry"), served_by=F, lost=())
    assert handed.pin == replace(PIN, backend=L, reason="carry", plan_version=9, bucket=500)


def test_an_operator_moves_a_pin_unless_something_would_be_lost():
    assert moved_by_operator(PIN, L, lost=()) == (replace(PIN, backend=L, reason="operator"), Move(source=F, target=L, cause="operator"))
    pin, move = moved_by_operator(PIN, L, lost=("alarms",))
    assert (pin, move.is_refused, move.lost) == (PIN, True, ("alarms",))


@pytest.mark.parametrize(
    ("changes", "pin", "expected"),
    [
        ({"traffic": {"langgraph_ppm": PPM}}, PIN, (L, "carry")),
        ({"callers": {"acme": {"backend": "langgraph"}}}, PIN, (L, "carry")),
        ({}, replace(PIN, backend=L), (F, "carry")),
        ({}, PIN, (F, "pin")),
        ({"traffic": {"langgraph_ppm": PPM}}, replace(PIN, plan_version=5), (F, "pin")),  # given by this very plan: nothing to ask again
        ({"traffic": {"langgraph_ppm": PPM}, "existing_sessions": "stay"}, PIN, (F, "pin")),
        ({"traffic": {"langgraph_ppm": PPM}, "override": "fastgpt"}, PIN, (F, "override")),
    ],
)
def test_a_plan_that_carries_asks_an_older_pin_again(changes, pin, expected):
    plan = plan_from_document({**INITIAL_PLAN, "existing_sessions": "carry", **changes}, version=5)
    decided = route(a_turn(), pin, plan, process_backend=None)
    assert (decided.backend, decided.reason) == expected
