"""The evidence pages name tests; a test that was renamed or removed takes its row with it."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
PAGES = {"reliability-evidence.md": ROOT / "tests", "fastgpt-evidence.md": ROOT / "tests" / "backends" / "fastgpt"}
_NAMED = re.compile(r"`([\w/]+\.py)(?:::(\w+))?`")


def named(page: str) -> list[tuple[str, str]]:
    return sorted(
        {(file, test) for file, test in _NAMED.findall((ROOT / "docs" / page).read_text("utf-8")) if Path(file).name.startswith("test_")}
    )


@pytest.mark.parametrize("page, file, test", [(page, file, test) for page in PAGES for file, test in named(page)])
def test_every_test_that_a_page_names_exists(page, file, test):
    place = next((base / file for base in (PAGES[page], ROOT / "tests", ROOT) if (base / file).exists()), None)
    assert place is not None, f"{page} names {file}"
    assert not test or re.search(rf"^\s*(async )?def {test}\(", place.read_text("utf-8"), re.MULTILINE), f"{page} names {file}::{test}"


def test_the_pages_name_something():
    assert all(len(named(page)) > 15 for page in PAGES)
