"""The domain stands on the standard library and four others, each named here with the one file that may import it."""

import ast
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

DOMAIN = Path(__file__).parents[2] / "domain"
ALLOWED = {
    "stdnum": "rules/identity_number.py",
    "phonenumbers": "rules/mobile.py",
    "jionlp": "rules/loose_time.py",
    "opencc": "rules/simplified.py",
}


def _imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def test_each_library_is_imported_where_it_is_allowed_and_no_other_is():
    found = {
        name: path.relative_to(DOMAIN).as_posix()
        for path in DOMAIN.rglob("*.py")
        for name in _imported(path) - {"domain"} - sys.stdlib_module_names
    }
    assert found == ALLOWED
