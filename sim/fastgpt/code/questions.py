"""Which question is open, and how it is asked. Question ids are `NAME` while facts are collected and `NAME_n` for party n later."""

from collections.abc import Mapping
from typing import Any

from sim.fastgpt.code.call import CodeCall

FACTS = ("YWRYSW", "SFSGXC", "JDCSL", "FJDC_MTC", "SGFSSJ", "SGYY", "BJRJS")
KEYS_OF_FACT = {
    "YWRYSW": ("ywrysw",),
    "SFSGXC": ("sfsgxc",),
    "JDCSL": ("jdcsl",),
    "FJDC_MTC": ("ywfjdc", "ywmtc"),
    "SGFSSJ": ("sgfssj",),
    "SGYY": ("sgyy",),
    "BJRJS": ("bjrjs",),
}
_PARTY_KEYS = (("XM", "xm"), ("HPHM", "hphm"), ("SFZMHM", "sfzmhm"), ("SJHM", "sjhm"))
_CANDIDATES = frozenset({"sfzmhm", "sjhm"})
_FULL = {"sfzmhm": 18, "sjhm": 11}


def open_facts(form: Mapping[str, Any]) -> list[str]:
    return [name for name in FACTS if any(form.get(key) is None for key in KEYS_OF_FACT[name])]


def party_question(form: Mapping[str, Any], party: int) -> str:
    """The next question about a party; a complete candidate number is confirmed before it counts."""
    for name, key in _PARTY_KEYS:
        if form.get(f"{key}{party}") not in (None, ""):
            continue
        candidate = form.get(f"candidate_{key}{party}") if key in _CANDIDATES else None
        if isinstance(candidate, str) and len(candidate) == _FULL[key]:
            return f"CONFIRM_{name}_{party}"
        return f"{name}_{party}"
    return f"SUMMARY_{party}"


def wording(texts: Mapping[str, Any], question: str, form: Mapping[str, Any]) -> str:
    """The sentence that asks `question`; numbers are read back as far as a person must check them."""
    name, _, party = question.rpartition("_") if question[-1:].isdigit() else (question, "", "")
    template = texts["questions"].get(name)
    if template is None:
        return ""
    identity = str(form.get(f"sfzmhm{party}") or form.get(f"candidate_sfzmhm{party}") or "")
    phone = str(form.get(f"sjhm{party}") or form.get(f"candidate_sjhm{party}") or "")
    return template.format(
        who=texts["who"].get(party, ""),
        jdcsl=form.get("candidate_jdcsl") or "",
        tail=identity[-4:],
        phone=f"{phone[:3]} {phone[3:7]} {phone[7:]}",
        name=form.get(f"xm{party}") or "",
        plate=form.get(f"hphm{party}") or "",
    )


def pending_at(stage: str, form: Mapping[str, Any], stored: str) -> str:
    """The open question. What is stored counts only while it fits the stage and the form: others write fields behind our back."""
    if stage == "1001":
        return "READY"
    if stage == "1002":
        facts = open_facts(form)
        return facts[0] if facts else ""
    if stage in ("3001", "3002"):
        return party_question(form, int(stage[-1]))
    if stage.startswith("20"):
        if stored == "CONFIRM_JDCSL" and form.get("candidate_jdcsl"):
            return stored
        return "PHOTO_READY" if stage in ("2000", "2010") else "PHOTO"
    return ""


def repeat_prompt(call: CodeCall, *, stage: str | None = None, pending: str | None = None) -> str:
    """What the user is waiting to hear at this stage."""
    at = stage or call.stage
    if at == "1001":
        return call.texts["not_ready"]
    known = call.known()
    question = pending or pending_at(at, known, call.text_of("pending"))
    if at in call.texts["photos"] and question != "CONFIRM_JDCSL":
        return call.texts["photos"][at]
    return wording(call.texts, question, known)
