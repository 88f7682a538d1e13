"""Who goes where: first hit wins, and a session stays where it began."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.backend_name import BackendName
from domain.plan import INITIAL_PLAN, PPM, plan_from_document
from rollout.routing import pin_for, route
from tests.fakes.values import PIN, a_turn

pytestmark = pytest.mark.unit

F, L = BackendName.FASTGPT, BackendName.LANGGRAPH


def plan(**changes):
    return plan_from_document({**INITIAL_PLAN, **changes}, version=5)


@pytest.mark.parametrize(
    ("changes", "pin", "process", "expected"),
    [
        ({}, None, None, (F, "default")),
        ({"default": "langgraph"}, None, None, (L, "default")),
        ({"traffic": {"langgraph_ppm": PPM}}, None, None, (L, "share")),
        ({"callers": {"acme": {"backend": "langgraph"}}}, None, None, (L, "caller")),
        ({"callers": {"acme": {"langgraph_ppm": PPM}}}, None, None, (L, "caller")),
        ({"callers": {"acme": {"langgraph_ppm": 0}}, "default": "langgraph"}, None, None, (F, "caller")),
        ({"callers": {"acme": {"langgraph_ppm": 0}}, "traffic": {"langgraph_ppm": PPM}}, None, None, (F, "caller")),
        ({"callers": {"other": {"backend": "langgraph"}}}, None, None, (F, "default")),
        ({"callers": {"acme": {"backend": "langgraph"}}}, PIN, None, (F, "pin")),
        ({"override": "langgraph"}, PIN, None, (L, "override")),
        ({"override": "langgraph"}, PIN, F, (F, "process")),
    ],
)
def test_the_first_rule_that_applies_decides(changes, pin, process, expected):
    decided = route(a_turn(), pin, plan(**changes), process_backend=process)
    assert (decided.backend, decided.reason, decided.plan_version) == (*expected, 5)


@given(st.text(min_size=1, max_size=20), st.integers(0, PPM), st.integers(0, PPM))
def test_raising_the_share_only_adds_sessions(session_id, one, other):
    low, high = sorted((one, other))
    turn = a_turn(session_id=session_id)
    on_low = route(turn, None, plan(traffic={"langgraph_ppm": low}), process_backend=None).backend
    on_high = route(turn, None, plan(traffic={"langgraph_ppm": high}), process_backend=None).backend
    assert (on_low, on_high) != (L, F)


def test_a_share_takes_about_its_share_of_sessions():
    quarter = plan(traffic={"langgraph_ppm": 250_000})
    taken = sum(route(a_turn(session_id=f"s{n}"), None, quarter, process_backend=None).backend is L for n in range(10_000))
    assert 2_300 < taken < 2_700  # ±4.6 σ


def test_two_identities_never_share_a_bucket_by_how_they_are_written():
    one = route(a_turn(tenant_id="a:b", session_id="c"), None, plan(), process_backend=None)
    other = route(a_turn(tenant_id="a", session_id="b:c"), None, plan(), process_backend=None)
    assert one.bucket != other.bucket


def test_sampling_takes_whole_sessions_and_says_nothing_about_routing():
    half = plan(traffic={"langgraph_ppm": 500_000}, shadow={"sample_ppm": 500_000, "callers": {}})
    pins = [pin_for(turn, route(turn, None, half, process_backend=None), half, shadow_enabled=True) for turn in map(session, range(4_000))]
    sampled = [pin for pin in pins if pin.is_sampled]
    assert 1_840 < len(sampled) < 2_160
    on_langgraph = sum(pin.backend is L for pin in sampled) / len(sampled)
    assert 0.45 < on_langgraph < 0.55


def session(number):
    return a_turn(session_id=f"s{number}")


@pytest.mark.parametrize(
    ("shadow", "enabled", "is_sampled"),
    [
        ({"sample_ppm": PPM, "callers": {}}, True, True),
        ({"sample_ppm": PPM, "callers": {}}, False, False),
        ({"sample_ppm": 0, "callers": {"acme": {"sample_ppm": PPM}}}, True, True),
        ({"sample_ppm": PPM, "callers": {"acme": {"sample_ppm": 0}}}, True, False),
    ],
)
def test_a_callers_own_sampling_and_the_switch_beat_the_general_sampling(shadow, enabled, is_sampled):
    chosen = plan(shadow=shadow)
    turn = a_turn()
    assert pin_for(turn, route(turn, None, chosen, process_backend=None), chosen, shadow_enabled=enabled).is_sampled is is_sampled
