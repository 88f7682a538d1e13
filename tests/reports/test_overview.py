"""What a release manager reads first, and that all three drawings say it."""

import io
import json
from datetime import UTC, datetime

import pytest
from rich.console import Console

from domain.evidence import Cluster, DiffLine, KindAgreement, Ledger, Overview, StagePair
from domain.stages import StageCode
from reports.overview import overview_report
from reports.render import as_html, as_json, print_terminal

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 30, 23, 0, tzinfo=UTC)


def ledger(**changes):
    return Ledger(**({"eligible": 10, "compared": 10, "pending": 0, "dropped": {}, "failed": {}, "unreplayable": {}} | changes))


def overview(**changes):
    values = {
        "turns_by_backend": {"fastgpt": 6, "langgraph": 4},
        "failed_turns": 0,
        "ledger": ledger(),
        "sessions": 3,
        "comparisons": 10,
        "kinds": (KindAgreement(kind="stage", compared=10, differing=1), KindAgreement(kind="text", compared=10, differing=10)),
        "stages": (StagePair(primary="1002", shadow="1002", count=9), StagePair(primary="1002", shadow="2000", count=1)),
        "clusters": (Cluster(kind="stage", signature="stage 1002: 1002≠2000", severity="major", count=1),),
        "latest": (),
    }
    return Overview(**(values | changes))


@pytest.mark.parametrize(
    ("changes", "headline", "tone"),
    [
        ({}, "10 turns of 3 sessions compared: no critical difference, 1 others", "warn"),
        (
            {"clusters": (Cluster(kind="handoff", signature="x", severity="critical", count=2),)},
            "10 turns of 3 sessions compared: 2 critical differences",
            "bad",
        ),
        (
            {"kinds": (KindAgreement(kind="text", compared=10, differing=10),), "clusters": ()},
            "10 turns of 3 sessions compared: both backends agree",
            "good",
        ),
        ({"comparisons": 0, "ledger": ledger(compared=0, pending=10)}, "Not enough data: nothing compared yet, 10 waiting", "muted"),
        ({"ledger": ledger(compared=8)}, "2 eligible turns are not accounted for: trust none of the numbers below", "bad"),
        ({"ledger": ledger(compared=7, pending=3)}, "10 turns of 3 sessions compared, 3 waiting: no critical difference, 1 others", "warn"),
    ],
)
def test_the_headline_puts_missing_data_and_danger_before_any_rate(changes, headline, tone):
    report = overview_report(overview(**changes), NOW)
    assert (report.headline, report.headline_tone) == (headline, tone)


def test_nothing_compared_is_no_agreement():
    assert KindAgreement(kind="stage", compared=0, differing=0).agreement is None
    report = overview_report(overview(kinds=(KindAgreement(kind="stage", compared=0, differing=0),)), NOW)
    assert [cell.text for cell in report.tables[0].rows[0]] == ["stage", "no data", "0", "0"]


def test_the_confusion_matrix_shades_only_what_differs():
    matrix = next(table for table in overview_report(overview(), NOW).tables if table.is_heat_map)
    assert list(matrix.columns) == ["served ↓ · shadow →", "1002", "2000"]
    ((name, same, other),) = matrix.rows
    assert name.text == "1002 collecting facts"
    assert (same.text, same.weight, same.on_diagonal) == ("9", None, True)
    assert (other.text, other.weight, other.on_diagonal) == ("1", 1.0, False)


def test_a_side_without_a_stage_is_a_row_of_its_own():
    matrix = next(
        table
        for table in overview_report(overview(stages=(StagePair(primary=None, shadow="1001", count=2),)), NOW).tables
        if table.is_heat_map
    )
    assert matrix.rows[0][0].text == "failed"


def test_terminal_json_and_html_tell_the_same():
    line = DiffLine(
        kind="stage", signature="stage 1002: 1002≠2000", severity="major", primary_backend="fastgpt", shadow_backend="langgraph",
        from_stage="1002", turn_id="abcdef123456", created_at=NOW, detail={"primary": "1002", "shadow": "<2000>"},
    )  # fmt: skip
    report = overview_report(overview(latest=(line,)), NOW)
    out = io.StringIO()
    print_terminal(report, Console(file=out, width=200))
    html, facts = as_html(report), json.loads(as_json(report))
    for told in (out.getvalue(), html):
        for part in ("1 others", "90.0%", "stage 1002: 1002≠2000", "abcdef12"):
            assert part in told
    assert facts["schema_version"] == 1
    assert facts["agreement"]["stage"] == 0.9
    assert facts["ledger"] == {
        "eligible": 10,
        "compared": 10,
        "pending": 0,
        "dropped": {},
        "failed": {},
        "unreplayable": {},
        "unaccounted": 0,
    }
    assert "<2000>" not in html
    assert "&lt;2000&gt;" in html


def test_the_html_file_needs_nothing_from_anywhere():
    html = as_html(overview_report(overview(), NOW))
    for part in ("<script", "http:", "https:", "url(", "@import", "src="):
        assert part not in html


def test_a_window_too_narrow_for_the_matrix_gets_the_pairs_that_part():
    out = io.StringIO()
    pairs = tuple(StagePair(primary=str(code), shadow=str(code), count=1) for code in StageCode)
    report = overview_report(overview(stages=(*pairs, StagePair(primary="1002", shadow="2000", count=7))), NOW)
    print_terminal(report, Console(file=out, width=80))
    told = out.getvalue()
    assert "Stages where the two part" in told
    assert "1002 collecting facts" in told
    assert "2000 single: guide" in told
    assert "23 turns on the same stage" in told
    assert max(map(len, told.splitlines())) <= 80
