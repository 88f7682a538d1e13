"""A plan that is not exactly right is refused whole: a misspelt rule that is silently ignored moves real people."""

import pytest

from domain.plan import INITIAL_PLAN, InvalidPlan, canonical, chain_hash, plan_from_document

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"defualt": "fastgpt"}, "defualt"),
        ({"default": "fastgtp"}, "default"),
        ({"override": "both"}, "override"),
        ({"salt": ""}, "salt"),
        ({"traffic": {"langgraph_ppm": 1_000_001}}, "traffic.langgraph_ppm"),
        ({"traffic": {"langgraph_ppm": True}}, "traffic.langgraph_ppm"),
        ({"traffic": {"langgraph_ppm": 0.5}}, "traffic.langgraph_ppm"),
        ({"traffic": 5}, "traffic"),
        ({"callers": {"acme": {}}}, "callers.acme"),
        ({"callers": {"acme": {"backend": "langgraph", "langgraph_ppm": 5}}}, "callers.acme"),
        ({"callers": {"acme": {"backend": "x"}}}, "callers.acme.backend"),
        ({"shadow": {"sample_ppm": -1}}, "shadow.sample_ppm"),
        ({"shadow": {"callers": {"acme": {}}}}, "shadow.callers.acme"),
        ({"existing_sessions": "drop"}, "existing_sessions"),
    ],
)
def test_a_wrong_plan_is_refused_and_its_wrong_place_named(changes, place):
    with pytest.raises(InvalidPlan, match=place.replace(".", r"\.")):
        plan_from_document({**INITIAL_PLAN, **changes}, version=2)


def test_the_hash_does_not_depend_on_the_order_of_keys():
    backwards = dict(reversed(INITIAL_PLAN.items()))
    assert canonical(backwards) == canonical(INITIAL_PLAN)
    assert chain_hash("a", backwards, "me", "why") == chain_hash("a", INITIAL_PLAN, "me", "why")


@pytest.mark.parametrize("edited", [("b", "me", "why"), ("a", "you", "why"), ("a", "me", "because")])
def test_the_hash_covers_what_came_before_who_and_why(edited):
    previous, author, reason = edited
    assert chain_hash(previous, INITIAL_PLAN, author, reason) != chain_hash("a", INITIAL_PLAN, "me", "why")


def test_author_and_reason_cannot_trade_characters():
    assert chain_hash("a", INITIAL_PLAN, "me", "\nwhy") != chain_hash("a", INITIAL_PLAN, "me\n", "why")
