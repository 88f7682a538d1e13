"""No pattern of the domain costs more than its text is long: twice the text, about twice the steps, for texts made to be hard."""

import importlib
import math
import pkgutil
import re

import pytest

import domain
from tests.domain.steps import Steps, hard_texts

pytestmark = pytest.mark.unit

SHORT, LONG = 110, 220
TWICE = 2.6  # quadratic cost would be 4; what a match begins and ends with is not proportional
LIMIT = 500_000  # far more than any linear pattern needs: reaching it is a finding by itself
ANCHORED = {"domain.answers:_READY", "domain.injury:_DESCRIBES"}  # never searched for, only matched from a place that is known


def _patterns() -> dict[str, re.Pattern[str]]:
    found: dict[str, re.Pattern[str]] = {}
    for module in pkgutil.walk_packages(domain.__path__, "domain."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                found[f"{module.name}:{name}"] = value
    return found


def growth(pattern: re.Pattern[str], *, is_anchored: bool = False) -> float:
    """The worst ratio of steps for twice the text."""
    worst = 0.0
    for texts in zip(hard_texts(pattern, SHORT), hard_texts(pattern, LONG), strict=True):
        counted = [Steps(pattern, text, LIMIT) for text in texts]
        short, long = (one.match() if is_anchored else one.search() for one in counted)
        worst = max(worst, long / short if long < LIMIT else math.inf)
    return worst


@pytest.mark.parametrize("name, pattern", _patterns().items(), ids=list(_patterns()))
def test_twice_the_text_is_twice_the_work(name: str, pattern: re.Pattern[str]):
    assert growth(pattern, is_anchored=name in ANCHORED) < TWICE


@pytest.mark.parametrize("bad", [r"(?:a+)+b", r"a.*b", r"(?:人|人员)*受伤", r"[0-9]+[0-9]+x", r"\s+$"])
def test_the_count_sees_patterns_that_grow_faster(bad: str):
    assert growth(re.compile(bad)) >= TWICE


@pytest.mark.parametrize(
    "pattern, text",
    [
        (r"(?:没有?|无)(?=人)", "现场没有人"),
        (r"(?<!车)子", "车子孩子"),
        (r"a{2,3}?b", "aaab"),
        (r"(?:ab)*+c", "ababc"),
        (r"\bno\b", "I say no."),
    ],
)
def test_the_matcher_that_counts_finds_what_the_real_one_finds(pattern: str, text: str):
    compiled = re.compile(pattern)
    found = next(Steps(compiled, text, LIMIT).spans(), None)
    match = compiled.search(text)
    assert match is not None
    assert found == match.span()
