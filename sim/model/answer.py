"""What the scripted model answers. Pure: Prompt (and a random source for its wording) → text.

It chooses a state only out of the prompt's `allowed_next`, fills only keys it was asked for, and at temperature 0 says the same twice.
A `Mood` (mistakes.py) makes it a worse model on purpose.
"""

import json
import random

from sim.model.lexicon import speech
from sim.model.mistakes import Mood
from sim.model.prompt import AgentPrompt, ChatPrompt, ExtractPrompt, Prompt
from sim.model.reading import Reading, Scalar, read

_GUIDES = ("2000", "2010")
_FIRST_PHOTO = {"2000": "2001", "2010": "2011"}
_NEVER_BY_CHOICE = ("0000", "0001", "0002", "0003", "0004", "0005")
# Not among the keys the agent's prompt offers: numbers it hides, and whether people are hurt, which `safety` alone may say.
_WITHHELD = frozenset({"ywrysw", "sfzmhm1", "sjhm1", "sfzmhm2", "sjhm2", "hphm1", "hphm2", "hpzl1", "hpzl2"})

_SOUND = Mood()


def answer_to(prompt: Prompt, *, wording: random.Random | None = None, mood: Mood = _SOUND) -> str:
    """`wording` None means temperature 0."""
    match prompt:
        case AgentPrompt():
            return _agent_answer(prompt, wording, mood)
        case ExtractPrompt():
            return _extraction(prompt)
        case ChatPrompt():
            return prompt.prefix + _opener(wording) + (prompt.say or speech().fallback)


def choose_state(prompt: AgentPrompt, reading: Reading) -> str:
    """Always a key of `allowed_next`; an empty table gives the current stage back."""
    allowed = prompt.allowed_next
    for code in _wishes(prompt, reading):
        if code in allowed:
            return code
    if prompt.stage in allowed or not allowed:
        return prompt.stage
    return next((code for code in allowed if code not in _NEVER_BY_CHOICE), next(iter(allowed)))


def _wishes(prompt: AgentPrompt, reading: Reading) -> list[str]:
    """Codes in falling order of preference; those not allowed are passed over."""
    if reading.wants_human:
        return ["0001"]
    if reading.safety == "present" or reading.has_hazard:
        return ["0003"]
    stage = prompt.stage
    if stage in ("", "1001"):
        return ["1002"] if _is_under_way(prompt, reading) else ["1001"]
    if stage == "1002":
        if reading.is_not_ready and not reading.fields:
            return ["1001"]
        return [] if still_missing(prompt, reading) else _guides(prompt, reading)
    if stage in _FIRST_PHOTO:
        return [_FIRST_PHOTO[stage]] if reading.is_ready or reading.verdict == "yes" else []
    if stage in ("3001", "3002"):
        if stage == "3002" and reading.corrects_party_1:
            return ["3001"]
        if prompt.asking.startswith("SUMMARY_") and reading.verdict == "yes":
            return ["3002", "0000"] if stage == "3001" else ["0000"]
    return []


def still_missing(prompt: AgentPrompt, reading: Reading) -> list[str]:
    """The prompt's missing keys without those this turn brings."""
    known = set(prompt.extracted) | set(_agent_fields(prompt, reading)) | {"sgfssj" if "sgfssj" in reading.fields else ""}
    if reading.fields.get("ywrysw") is False and reading.safety == "none":
        known.add("ywrysw")
    return [key for key in prompt.missing if key not in known]


def _guides(prompt: AgentPrompt, reading: Reading) -> list[str]:
    count = reading.fields.get("jdcsl", prompt.extracted.get("jdcsl"))
    if count is None:
        return list(_GUIDES)
    return ["2000"] if count == 1 else ["2010"]


def _is_under_way(prompt: AgentPrompt, reading: Reading) -> bool:
    has_facts = bool(reading.fields or prompt.extracted)
    return reading.is_ready or (has_facts and not (reading.is_not_ready and not reading.fields))


def _agent_answer(prompt: AgentPrompt, wording: random.Random | None, mood: Mood) -> str:
    reading = mood.misread(read(prompt.user, asking=prompt.asking, party=_party(prompt.asking, prompt.stage)))
    state = mood.misplaced(choose_state(prompt, reading), prompt)
    form = _form(prompt, reading)
    return mood.written(state, _compact(form) if form else "", _opener(wording) + _sentence(prompt, reading, state))


def _form(prompt: AgentPrompt, reading: Reading) -> dict[str, object]:
    form: dict[str, object] = {}
    if fields := _agent_fields(prompt, reading):
        form["fields"] = fields
    if prompt.asking and prompt.asking not in ("READY", "PHOTO_READY", "PHOTO"):
        form["answer"] = "valid" if prompt.extracted else reading.answer
    if prompt.asking.startswith(("CONFIRM_", "SUMMARY_")) and reading.verdict is not None:
        form["confirm"] = reading.verdict
    if reading.safety is not None:
        form["safety"] = reading.safety
    return form


def _agent_fields(prompt: AgentPrompt, reading: Reading) -> dict[str, Scalar]:
    """Only what code did not already find, without what a model must not hold; a time stays the user's own words."""
    fields: dict[str, Scalar] = {}
    for key, value in reading.fields.items():
        if key in _WITHHELD or key in prompt.extracted:
            continue
        fields["sgfssj_text" if key == "sgfssj" else key] = value
    return fields


def _sentence(prompt: AgentPrompt, reading: Reading, state: str) -> str:
    said = speech()
    if state != prompt.stage and state in said.stages:
        return said.stages[state]
    # The prompt's next question does not know what this answer brings: when that settles it, or moves the stage, ask the one after it.
    before = [key for key in prompt.missing if key not in prompt.extracted]
    after = still_missing(prompt, reading)
    if state == "1002" and after and (state != prompt.stage or after[0] != before[0]) and after[0] in said.questions:
        return said.questions[after[0]]
    return prompt.next_question or said.stages.get(state, said.fallback)


def _extraction(prompt: ExtractPrompt) -> str:
    reading = read(prompt.user, asking=prompt.asking, party=_party(prompt.asking, prompt.stage))
    # A key may say that its value is only what was heard; it means the same thing.
    meant = {key: key.removeprefix("heard_") for key in prompt.keys}
    return _compact({key: reading.fields[field] for key, field in meant.items() if field in reading.fields})


def _party(asking: str, stage: str) -> int:
    if asking.endswith("_2"):
        return 2
    return 2 if stage == "3002" and not asking.endswith("_1") else 1


def _opener(wording: random.Random | None) -> str:
    return "" if wording is None else wording.choice(speech().openers)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
