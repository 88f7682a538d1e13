"""docs/domain says what the tables say. `make domain-docs` writes it anew; a change there is a change of the rules."""

import json
from pathlib import Path

import pytest

from domain.fields import FIELDS
from domain.handoff_reason import HandoffReason
from domain.published import drawing, published, tables_digest
from domain.stages import StageCode
from domain.transitions import edges_between

pytestmark = pytest.mark.unit

FOLDER = Path(__file__).parents[2] / "docs" / "domain"
MACHINE = """# The stage machine

Computed from `domain/transitions.py`; `make domain-docs` draws it anew. An arrow's words are its trigger and, in brackets, the guard
that has to hold. An arrow from the box *open* starts at every stage in it. What leaves the stage as it is is not drawn: `transitions.json`
lists it.

```mermaid
{drawing}```
"""


def _documents() -> dict[str, str]:
    tables = {f"{name}.json": json.dumps(table, ensure_ascii=False, indent=2) + "\n" for name, table in published().items()}
    return {**tables, "machine.md": MACHINE.format(drawing=drawing())}


def test_the_published_tables_are_those_that_run(request: pytest.FixtureRequest):
    documents = _documents()
    if request.config.getoption("--rewrite-golden"):
        FOLDER.mkdir(exist_ok=True)
        for name, text in documents.items():
            (FOLDER / name).write_text(text, "utf-8")
    assert {path.name: path.read_text("utf-8") for path in FOLDER.iterdir()} == documents


def test_a_program_can_walk_the_machine_with_the_file_alone():
    table = published()["transitions"]
    for edge in table["edges"]:
        source = None if edge["from"] == "new" else StageCode(edge["from"])
        assert any(one.trigger == edge["trigger"] for one in edges_between(source, StageCode(edge["to"])))
    assert set(table["terminal"]) == {"0000", "0001", "0002", "0003", "0004", "0005"}
    assert [row["key"] for row in published()["fields"]["fields"]] == list(FIELDS)
    assert published()["handoff"]["reasons"] == list(HandoffReason)


def test_every_open_stage_is_drawn_and_has_a_way_out():
    lines = drawing().splitlines()
    for code in StageCode:
        assert any(f" {code}: {code} " in line for line in lines)
        assert any(line.strip().startswith(f"{code} -->") for line in lines)


def test_any_change_of_a_rule_changes_the_name_of_the_rules(monkeypatch: pytest.MonkeyPatch):
    before = tables_digest()
    monkeypatch.setattr("domain.published.UNCLEAR_LIMIT", 4)
    assert tables_digest() != before
    assert len(before) == 12
