"""What the scripted model understands of one utterance. Pure: text and the question that is open → Reading.

It is deliberately a small understanding of its own: what it misses, a real model would miss too, and whoever calls it must cope.
`asking` is the id of the open question (YWRYSW, XM_1, CONFIRM_SJHM_2, …) or an empty string.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Literal

from sim.model.lexicon import lexicon

Scalar = str | int | bool
Safety = Literal["none", "suspected", "present"]
Answer = Literal["valid", "unclear", "irrelevant", "refused"]

_INJURY_QUESTIONS = frozenset({"YWRYSW", "CONFIRM_INJURY"})
_MIN_NARRATIVE_CHARS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`fields` holds form fields as they were said (`sgfssj` is the phrase, not a time); only what was said is in it."""

    fields: dict[str, Scalar] = field(default_factory=dict[str, Scalar])
    verdict: Literal["yes", "no"] | None = None
    safety: Safety | None = None
    answer: Answer = "valid"
    wants_human: bool = False
    has_hazard: bool = False
    is_ready: bool = False
    is_not_ready: bool = False
    corrects_party_1: bool = False


def read(text: str, *, asking: str = "", party: int = 1) -> Reading:
    """Never fails; text of any length and script gives some reading."""
    spaced = _normalised(text)
    dense = spaced.replace(" ", "")
    words = lexicon()
    verdict = _verdict(dense)
    safety = _safety(dense, asking)
    fields = _facts(dense, asking, verdict) | _identity(spaced, dense, asking, party)
    if safety == "present":
        fields = {"ywrysw": True} | fields
    return Reading(
        fields=fields,
        verdict=verdict,
        safety=safety,
        answer=_answer(dense, fields, verdict, asking),
        wants_human=words.finds("human", dense) and not words.finds("human_not", dense),
        has_hazard=words.finds("hazard", words.patterns["hazard_denied"].sub("", dense)),
        is_ready=words.finds("ready", dense) and not words.finds("not_ready", dense),
        is_not_ready=words.finds("not_ready", dense),
        corrects_party_1=words.finds("correct_party_1", dense),
    )


def spoken_digits(text: str) -> str:
    """The digits of a dictated number, spoken ones included; empty when the text holds anything else."""
    table = lexicon().words["digit_words"]
    bare = re.sub(r"[\s\-—–_.,，。·*]", "", _normalised(text))
    digits = "".join(str(table.get(char, char)) for char in bare).upper()
    return digits if re.fullmatch(r"[0-9]{2,}X?", digits) else ""


def _normalised(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text)
    return re.sub(r"\s+", " ", "".join(char for char in folded if unicodedata.category(char) != "Cf")).strip()


def _verdict(dense: str) -> Literal["yes", "no"] | None:
    words = lexicon()
    if words.finds("dissent", dense):
        return "no"
    return "yes" if words.finds("assent", dense) else None


def _safety(dense: str, asking: str) -> Safety | None:
    """`none` is said only when nothing in the text casts doubt: it is the second key to "nobody is hurt"."""
    words = lexicon()
    told = words.patterns["hurt_idiom"].sub("", dense)
    rest = words.patterns["hurt_denied"].sub("", told)
    if words.finds("hurt", rest):
        return "present"
    if asking in _INJURY_QUESTIONS and words.finds("bare_affirmation", dense):
        return "present" if asking == "YWRYSW" or dense.startswith("有") else "suspected"
    if words.finds("hurt_doubt", told):
        return "suspected" if words.finds("hurt_denied", told) or asking in _INJURY_QUESTIONS else None
    return "none"


def _facts(dense: str, asking: str, verdict: str | None) -> dict[str, Scalar]:
    facts: dict[str, Scalar] = {}
    words = lexicon()
    if _denies_injury(dense, asking):
        facts["ywrysw"] = False
    facts |= _others_involved(dense, asking)
    if (role := words.label("roles", dense)) is not None:
        facts["bjrjs"] = role
    if (phrase := words.patterns["time"].search(dense)) is not None:
        facts["sgfssj"] = phrase.group()
    if words.finds("left_scene", dense):
        facts["sfsgxc"] = False
    elif words.finds("at_scene", dense):
        facts["sfsgxc"] = True
    elif asking in ("SFSGXC", "CONFIRM_SFSGXC") and verdict is not None:
        facts["sfsgxc"] = verdict == "yes"
    if (count := _vehicles(dense, asking)) is not None:
        facts["jdcsl"] = count
    if (cause := _cause(dense, asking, facts)) is not None:
        facts["sgyy"] = cause
    return facts


def _denies_injury(dense: str, asking: str) -> bool:
    words = lexicon()
    if words.finds("hurt_doubt", dense):
        return False
    told = words.patterns["hurt_idiom"].sub("", dense)
    if words.finds("hurt", words.patterns["hurt_denied"].sub("", told)):
        return False
    if asking in _INJURY_QUESTIONS and words.finds("bare_denial", dense):
        return True
    return words.finds("hurt_denied", told)


def _others_involved(dense: str, asking: str) -> dict[str, Scalar]:
    words = lexicon()
    if asking == "FJDC_MTC" and words.finds("bare_denial", dense):
        return {"ywfjdc": False, "ywmtc": False}
    text = words.patterns["electric_car"].sub("", dense)
    denied = "".join(match.group("list") for match in words.patterns["denial_clause"].finditer(text))
    said = words.patterns["denial_clause"].sub("", text)
    found: dict[str, Scalar] = {}
    for key, name in (("ywfjdc", "non_motor"), ("ywmtc", "motorcycle")):
        if words.finds(name, said):
            found[key] = True
        elif words.finds(name, denied):
            found[key] = False
    return found


def _vehicles(dense: str, asking: str) -> int | None:
    words = lexicon()
    numbers = words.words["count_words"]
    if (many := words.patterns["many_vehicles"].search(dense)) is not None:
        word = many.group("count") or many.group("count2")
        return int(numbers.get(word, word))
    if words.finds("two_vehicles", dense):
        return 2
    if words.finds("one_vehicle", dense):
        return 1
    if asking == "JDCSL" and (bare := re.fullmatch(r"([一二两俩三四五六]|\d{1,2})(?:辆|台|个|部)?[吧啊呀的]?[。.!！]?", dense)):
        return int(numbers.get(bare.group(1), bare.group(1)))
    return None


def _cause(dense: str, asking: str, facts: dict[str, Scalar]) -> str | None:
    words = lexicon()
    fixed = "撞固定物"
    hits = [
        (match.start(), label) for label, pattern in words.tables["causes"].items() if label != fixed and (match := pattern.search(dense))
    ]
    if hits:
        return min(hits)[1]
    if words.tables["causes"][fixed].search(dense):
        return fixed
    is_narrative = (
        len(dense) >= _MIN_NARRATIVE_CHARS and not facts and not any(words.finds(name, dense) for name in ("irrelevant", "refused"))
    )
    return dense[:200] if asking == "SGYY" and is_narrative and not words.finds("side_question", dense) else None


def _identity(spaced: str, dense: str, asking: str, party: int) -> dict[str, Scalar]:
    """Names, plates and numbers, each for the party that is being asked about."""
    words = lexicon()
    found: dict[str, Scalar] = {}
    if (name := _name(spaced, dense, asking)) is not None:
        found[f"xm{party}"] = name
    if party == 1 and (other := words.patterns["named_2"].search(dense)) is not None:
        found.pop("xm1", None)
        found["xm2"] = other.group("name")
    if (plate := words.patterns["plate"].search(spaced)) is not None:
        found[f"hphm{party}"] = re.sub(r"[·•.\- ]", "", plate.group("plate")).upper()
    if asking.startswith("CONFIRM_HPZL") and (kind := words.label("plate_kinds", dense)) is not None:
        found[f"hpzl{party}"] = kind
    digits = re.sub(r"[\-—–_]", "", dense)
    if (identity := words.patterns["identity"].search(digits)) is not None:
        found[f"sfzmhm{party}"] = identity.group().upper().replace("叉", "X")
    if (phone := words.patterns["phone"].search(digits)) is not None:
        found[f"sjhm{party}"] = phone.group()
    for question, key in (("SFZMHM_", f"sfzmhm{party}"), ("SJHM_", f"sjhm{party}")):
        if asking.startswith(question) and key not in found and (piece := spoken_digits(spaced)):
            found[key] = piece
    return found


def _name(spaced: str, dense: str, asking: str) -> str | None:
    words = lexicon()
    if (named := words.patterns["named"].search(dense)) is not None:
        candidate = named.group("name")
    elif asking.startswith("XM_"):
        candidate = words.patterns["surname_lead"].sub("", spaced).strip(" 。.!！,，")
        candidate = re.sub(r"(?<=.)(?:先生|女士)$", "", candidate)
    else:
        return None
    is_name = words.patterns["bare_name"].fullmatch(candidate) and not words.finds("not_a_name", candidate)
    return candidate if is_name else None


def _answer(dense: str, fields: dict[str, Scalar], verdict: str | None, asking: str) -> Answer:
    words = lexicon()
    if words.finds("refused", dense):
        return "refused"
    if fields or words.finds("placeholder", dense):
        return "valid"
    if words.finds("irrelevant", dense):
        return "irrelevant"
    if words.finds("side_question", dense):
        return "valid"
    is_yes_no = asking.startswith(("CONFIRM_", "SUMMARY_")) or asking in ("SFSGXC", "READY", "PHOTO_READY")
    if is_yes_no and verdict is not None:
        return "valid"
    return "unclear"
