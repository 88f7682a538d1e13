"""The scorecard for people and for programs: one self-contained HTML page in English and Chinese, and the same facts as plain values."""

from dataclasses import asdict
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from evals.scorecard import Scorecard

SCHEMA_VERSION = 1
TONGUES = ("en", "zh")

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=select_autoescape(), undefined=StrictUndefined
)


@cache
def _words() -> dict[str, Any]:
    return cast("dict[str, Any]", yaml.safe_load(files(__package__ or "evals").joinpath("data", "words.yaml").read_text("utf-8")))


def headline(card: Scorecard, tongue: str = "en") -> str:
    broken, judged, words = card.broken, len(card.judged), _words()["page"]
    if not broken:
        return words["holds"][tongue].format(n=judged)
    return words["broken"][tongue].format(k=len(broken), n=judged, names=", ".join(score.name for score in broken))


def as_html(card: Scorecard, *, model: str, made_at: datetime) -> str:
    """Styles inside, no script, no request to anywhere; the language is chosen on the page."""
    words = _words()
    return _templates.get_template("evaluation.html").render(
        card=card,
        words=words["page"],
        lines=words["lines"],
        headline={tongue: headline(card, tongue) for tongue in TONGUES},
        missed=[score for score in card.scores if score.misses],
        model=model,
        made_at=f"{made_at:%Y-%m-%d %H:%M:%S}",
    )


def as_facts(card: Scorecard, *, model: str, made_at: datetime) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "schema_version": SCHEMA_VERSION,
        "report": "evaluation",
        "made_at": made_at,
        "model": model,
        "ok": not card.broken,
        "broken": [score.name for score in card.broken],
        "lines": {score.name: {key: value for key, value in asdict(score).items() if key != "name"} for score in card.scores},
        "spent": asdict(card.spent),
    }
