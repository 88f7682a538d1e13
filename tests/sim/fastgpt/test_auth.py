"""The Authorization header, read as the real server reads it."""

import pytest

from sim.fastgpt.auth import UNAUTHORISED, UNKNOWN_KEY, Refusal, refusal_of

pytestmark = pytest.mark.security

KEYS = frozenset({"fastgpt-abc", "fastgpt-demo-key-0001"})


@pytest.mark.parametrize(
    ("header", "refusal"),
    [
        ("Bearer fastgpt-abc", None),
        ("Bearer fastgpt-demo-key-0001", None),
        ("Bearer fastgpt-abc-65f0app", None),
        ("Bearer fastgpt-other", UNKNOWN_KEY),
        ("Bearer fastgpt-other-65f0app", UNKNOWN_KEY),
        ("Bearer plainkey", UNAUTHORISED),
        ("Bearer fastgpt-demo-key-0002", UNAUTHORISED),
        ("fastgpt-abc", UNAUTHORISED),
        ("Bearer ", UNAUTHORISED),
        ("", UNAUTHORISED),
        (None, UNAUTHORISED),
    ],
)
def test_only_a_known_key_behind_a_space_is_let_in(header: str | None, refusal: Refusal | None):
    assert refusal_of(header, KEYS) == refusal
