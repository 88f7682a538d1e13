"""The page for people: whole, in both languages, needing nothing from anywhere, and safe whatever a model said."""

from datetime import UTC, datetime
from html.parser import HTMLParser

import orjson
import pytest

from evals.lines import LINES
from evals.page import as_facts, as_html
from evals.scorecard import scorecard
from tests.evals.seeing import right_seen, text_of, with_alone

pytestmark = pytest.mark.unit

NOW = datetime(2026, 12, 1, 4, tzinfo=UTC)
VOID = {"meta", "input"}


class Parsed(HTMLParser):
    """The tags that are open, and what is found under them. Raises AssertionError for a tag closed out of turn."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: dict[str, list[str]] = {}
        self.texts: dict[str, str] = {}
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))
        if tag == "tr" and (line := dict(attrs).get("data-line")):
            self.rows.setdefault(self.tongue(), []).append(line)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1][0] == tag
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.texts[self.tongue()] = self.texts.get(self.tongue(), "") + data

    def tongue(self) -> str:
        return next((attrs.get("lang") or "" for tag, attrs in self.open if tag == "article"), "")


def page_of(alone: str | None = None) -> str:
    seen = right_seen() if alone is None else with_alone(right_seen(), "times", alone)
    return as_html(scorecard(seen), model="m<1>", made_at=NOW)


def test_the_page_shows_every_line_in_both_languages():
    parsed = Parsed(page_of())
    assert {tongue: sorted(rows) for tongue, rows in parsed.rows.items()} == {
        tongue: sorted(line.name for line in LINES) for tongue in ("en", "zh-CN")
    }
    assert "All 26 thresholds hold" in parsed.texts["en"]
    assert "全部 26 项指标达标" in parsed.texts["zh-CN"]
    assert "Injury recall" not in parsed.texts["zh-CN"]


def test_a_broken_line_is_named_with_its_misses_in_both_languages():
    parsed = Parsed(page_of(text_of("1002", fields={"sgfssj_text": "三天前"})))
    assert "1 of 26 thresholds do not hold: time_model" in parsed.texts["en"]
    assert "26 项指标中有 1 项未达标：time_model" in parsed.texts["zh-CN"]
    for tongue in ("en", "zh-CN"):
        assert "刚刚 → 1002 sgfssj_text=三天前" in parsed.texts[tongue]


def test_the_page_asks_for_nothing_and_runs_nothing():
    parsed = Parsed(page_of())
    assert {tag for tag, _ in parsed.tags} & {"script", "link", "img", "iframe", "object", "form"} == set()
    assert [attrs for _, attrs in parsed.tags if {"src", "href", "action"} & set(attrs)] == []
    assert "default-src 'none'" in str(parsed.tags)


def test_what_a_model_says_is_text_on_the_page():
    parsed = Parsed(page_of(text_of("1002", fields={"sgfssj_text": "<script>alert(1)</script>"})))
    assert "script" not in {tag for tag, _ in parsed.tags}
    assert "<script>alert(1)</script>" in parsed.texts["en"]


def test_the_facts_are_plain_json_with_every_line():
    facts = orjson.loads(orjson.dumps(as_facts(scorecard(right_seen()), model="m", made_at=NOW)))
    assert (facts["ok"], facts["broken"], len(facts["lines"])) == (True, [], len(LINES))
    assert set(facts["lines"]["time_model"]) == {"whose", "threshold", "n", "hits", "rate", "low", "high", "verdict", "misses"}
