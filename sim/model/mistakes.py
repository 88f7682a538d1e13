"""Ways the scripted model can be a worse model, each at a rate, so that an evaluation can prove that it measures them. Agent turns only.

missed_injury: somebody hurt is not heard, and denied · missed_handoff: a wish for a person is not heard · wrong_field: another value than
was said, drawn per field · wrong_answer_class: another class of answer · wrong_time: other words for the time · wrong_count: one vehicle
too many · bad_prefix: the state stands there without its tag · bad_form: the form block is no JSON · illegal_jump: a stage that was not
offered. A draw is made per prompt: the same prompt is misread in the same way in every run with the same seed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sim.chance import is_drawn
from sim.model.prompt import AgentPrompt
from sim.model.reading import Reading, Scalar

MISTAKES = (
    "missed_injury",
    "missed_handoff",
    "wrong_field",
    "wrong_answer_class",
    "wrong_time",
    "wrong_count",
    "bad_prefix",
    "bad_form",
    "illegal_jump",
)
MISTAKES_VARIABLE = "SIM_MODEL_MISTAKES"  # NAME=RATE,NAME=RATE: what a process starts with when its command line does not say

_ANSWERS = ("valid", "unclear", "irrelevant", "refused")
_OWN_MISTAKE = frozenset({"sgfssj", "jdcsl", "ywrysw"})  # fields that another mistake spoils
_ELSEWHERE = ("0000", "3002", "2004", "2014", "1001")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mood:
    """The rates in force for one prompt. `subject` is the whole prompt, so that another prompt is another draw."""

    rates: Mapping[str, float] = field(default_factory=dict[str, float])
    seed: int = 0
    subject: str = ""

    def makes(self, name: str, part: str = "") -> bool:
        return is_drawn(self.rates.get(name, 0.0), seed=self.seed, name=name, subject=f"{self.subject}\x1f{part}")

    def misread(self, reading: Reading) -> Reading:
        """What a worse model would have understood instead."""
        if reading.safety == "present" and self.makes("missed_injury"):
            fields = {key: value for key, value in reading.fields.items() if key != "ywrysw"}
            reading = replace(reading, safety="none", fields=fields)
        if reading.wants_human and self.makes("missed_handoff"):
            reading = replace(reading, wants_human=False)
        if self.makes("wrong_answer_class"):
            reading = replace(reading, answer=_ANSWERS[(_ANSWERS.index(reading.answer) + 1) % len(_ANSWERS)])
        return replace(reading, fields={key: self._misheard(key, value) for key, value in reading.fields.items()})

    def _misheard(self, key: str, value: Scalar) -> Scalar:
        if key == "sgfssj":
            return ("三天前" if value != "三天前" else "两小时前") if self.makes("wrong_time") else value
        if key == "jdcsl":
            return int(value) + 1 if self.makes("wrong_count") else value
        return _another(value) if key not in _OWN_MISTAKE and self.makes("wrong_field", key) else value

    def misplaced(self, state: str, prompt: AgentPrompt) -> str:
        if not self.makes("illegal_jump"):
            return state
        return next((code for code in _ELSEWHERE if code not in prompt.allowed_next), state)

    def written(self, state: str, block: str, sentence: str) -> str:
        """The reply as text; `block` is the JSON of the form, empty for none."""
        tag = f"状态{state}：" if self.makes("bad_prefix") else f"<state>{state}</state>"
        if block and self.makes("bad_form"):
            block = block.rstrip("}")
        return tag + (f"<form>{block}</form>" if block else "") + sentence


def _another(value: Scalar) -> Scalar:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return {"当事人": "乘客", "乘客": "目击者", "目击者": "当事人", "家属或代报": "当事人", "追尾": "变道", "变道": "追尾"}.get(value) or (
        "倒车" if value != "倒车" else "会车"
    )
