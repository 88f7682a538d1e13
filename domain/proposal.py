"""What a model proposes at the head of its reply: a stage code, and a form block with its reading of the message. Candidates only."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from domain.fields import FIELDS

Answer = Literal["valid", "unclear", "irrelevant", "refused"]
Safety = Literal["none", "suspected", "present"]

SPOKEN_TIME = "sgfssj_text"  # the words of the user; code turns them into a time
_ANSWERS = frozenset({"valid", "unclear", "irrelevant", "refused"})
_SAFETIES = frozenset({"none", "suspected", "present"})
# Numbers, plates and injuries are never taken from a model: it does not see the former, and the latter needs two keys.
_FOR_MODEL = frozenset({SPOKEN_TIME, *(key for key in FIELDS if key != "ywrysw" and not key.startswith(("hphm", "sfzmhm", "sjhm")))})


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """`code` is four digits, not checked yet. An absent statement is None: it clears nothing and confirms nothing."""

    code: str
    fields: Mapping[str, object] = field(default_factory=dict[str, object])
    answer: Answer | None = None
    confirm: bool | None = None
    safety: Safety | None = None
    is_form_invalid: bool = False  # the block was no JSON object, or held something a model may not say


def proposal(code: str, form_text: str | None) -> Proposal:
    """Read the head of a reply. Total: whatever in the form block is not understood is dropped and marks it invalid."""
    if form_text is None:
        return Proposal(code=code)
    try:
        block: object = json.loads(form_text)
    except ValueError:
        return Proposal(code=code, is_form_invalid=True)
    if not isinstance(block, dict):
        return Proposal(code=code, is_form_invalid=True)
    return _from_block(code, cast(dict[str, Any], block))


def _from_block(code: str, block: dict[str, Any]) -> Proposal:
    raw_fields: object = block.get("fields")
    fields = cast(dict[str, object], raw_fields) if isinstance(raw_fields, dict) else {}
    usable = {key: value for key, value in fields.items() if key in _FOR_MODEL and value is not None}
    answer, confirm, safety = block.get("answer"), block.get("confirm"), block.get("safety")
    is_invalid = (
        len(usable) != len(fields)
        or (raw_fields is not None and not isinstance(raw_fields, dict))
        or (answer is not None and answer not in _ANSWERS)
        or (safety is not None and safety not in _SAFETIES)
    )
    return Proposal(
        code=code,
        fields=usable,
        answer=cast(Answer, answer) if isinstance(answer, str) and answer in _ANSWERS else None,
        confirm={"yes": True, "no": False}.get(confirm) if isinstance(confirm, str) else None,
        safety=cast(Safety, safety) if isinstance(safety, str) and safety in _SAFETIES else None,
        is_form_invalid=is_invalid,
    )
