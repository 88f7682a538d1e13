"""The scripted model's own word tables, compiled once from lexicon.yaml and speech.yaml.

White space in the YAML patterns is layout: it is removed before compiling, except in the few patterns that read text with spaces.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, cast

import yaml

_WITH_SPACES = frozenset({"plate", "bare_name", "named", "named_2"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """`patterns` are single expressions by name, `tables` are label → expression in reading order, `words` are plain look-ups."""

    patterns: dict[str, re.Pattern[str]]
    tables: dict[str, dict[str, re.Pattern[str]]]
    words: dict[str, dict[str, Any]]

    def finds(self, name: str, text: str) -> bool:
        return self.patterns[name].search(text) is not None

    def label(self, table: str, text: str) -> str | None:
        """The label whose expression matches earliest in the text; ties go to the table's order."""
        hits = [(match.start(), label) for label, pattern in self.tables[table].items() if (match := pattern.search(text))]
        return min(hits, key=lambda hit: hit[0])[1] if hits else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    questions: dict[str, str]
    stages: dict[str, str]
    fallback: str
    garbage: str
    openers: tuple[str, ...]


@cache
def lexicon() -> Lexicon:
    data = _load("lexicon.yaml")
    words = {"digit_words": cast("dict[str, Any]", data.pop("digit_words")), "count_words": cast("dict[str, Any]", data.pop("count_words"))}
    patterns = {name: _compiled(name, value) for name, value in data.items() if isinstance(value, str)}
    tables = {
        name: {label: _compiled(name, pattern) for label, pattern in cast("dict[str, str]", value).items()}
        for name, value in data.items()
        if isinstance(value, dict)
    }
    return Lexicon(patterns=patterns, tables=tables, words=words)


@cache
def speech() -> Speech:
    data = _load("speech.yaml")
    return Speech(
        questions=data["questions"],
        stages=data["stages"],
        fallback=data["fallback"],
        garbage=data["garbage"],
        openers=tuple(data["openers"]),
    )


def _compiled(name: str, pattern: str) -> re.Pattern[str]:
    return re.compile(pattern if name in _WITH_SPACES else re.sub(r"\s+", "", pattern))


def _load(name: str) -> dict[str, Any]:
    text = resources.files(__package__ or "sim.model").joinpath(name).read_text(encoding="utf-8")
    return cast("dict[str, Any]", yaml.safe_load(text))
