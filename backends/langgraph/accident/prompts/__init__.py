"""The words of the accident dialogue: the model's instructions and the fixed texts, loaded once. The digest names this exact wording."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

import yaml

from domain.speech import Line, Speech
from domain.stages import StageCode

_FILES = ("base.md", "phases_zh.yaml", "fixed_zh.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    base: str
    phases: dict[str, str]
    meanings: dict[str, str]
    retry: str
    fixed: dict[str, str]
    digest: str  # 12 hex digits over all files

    def render(self, speech: Speech) -> str:
        """Fixed lines as one text. Raises KeyError for a key without a text: tests walk through all of them."""
        return "".join(self._line(line) for line in speech)

    def phase_note(self, stage: StageCode, *, who: str) -> str:
        key = stage.value if stage.value in self.phases else _KINDS.get(stage.value[:1] + stage.value[3:], "photo")
        return self.phases[key].format(who=who)

    def _line(self, line: Line) -> str:
        return self.fixed[line.key].format_map(line.values)


_KINDS = {"20": "guide", "31": "verify", "32": "verify"}


@cache
def load_prompts() -> Prompts:
    texts = {name: files(__package__ or __name__).joinpath(name).read_text("utf-8") for name in _FILES}
    phases = cast(dict[str, Any], yaml.safe_load(texts["phases_zh.yaml"]))
    fixed = cast(dict[str, Any], yaml.safe_load(texts["fixed_zh.yaml"]))
    return Prompts(
        base=texts["base.md"],
        phases=phases["phases"],
        meanings=phases["meanings"],
        retry=phases["retry"],
        fixed=fixed["fixed"],
        digest=hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()[:12],
    )
