"""The heart of the flow: what this turn's extraction changes, and which step comes next. Pure.

The outputs hold every form field, changed or not: an update from a missing value would erase what is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sim.fastgpt.clock import LOCAL
from sim.fastgpt.code.call import CodeCall, dense
from sim.fastgpt.code.questions import open_facts, party_question, pending_at, repeat_prompt, wording
from sim.fastgpt.code.values import accident_time, age_on, identity, mobile, plate, plate_kind

FACT_KEYS = ("ywrysw", "ywfjdc", "ywmtc", "bjrjs", "sgfssj", "sfsgxc", "jdcsl", "sgyy")
PARTY_KEYS = tuple(f"{key}{party}" for party in (1, 2) for key in ("xm", "hpzl", "hphm", "sfzmhm", "sjhm"))
_WAITING = ("sfzmhm1", "sjhm1", "sfzmhm2", "sjhm2", "jdcsl")
CANDIDATE_KEYS = tuple(f"candidate_{key}" for key in _WAITING)
UNCLEAR_LIMIT = 3
STALE_AFTER = timedelta(hours=24)
ADULT_YEARS = 18
_LENGTHS = {"sfzmhm": 18, "sjhm": 11}


@dataclass(slots=True, kw_only=True)
class _Turn:
    """The turn while it is decided. `form` starts as what is stored and takes this turn's values."""

    call: CodeCall
    text: str
    form: dict[str, Any]
    found: Mapping[str, Any]
    pending: str
    changed: set[str] = field(default_factory=set[str])

    def put(self, key: str, value: Any) -> None:
        if value is not None and self.form.get(key) != value:
            self.form[key] = value
            self.changed.add(key)

    def agrees(self) -> bool:
        return self.call.says("agree", self.text) and not self.denies()

    def denies(self) -> bool:
        return self.call.says("deny", self.text)


def decide_next(call: CodeCall) -> dict[str, Any]:
    """Outputs: all form fields, `candidates`, `partials`, `stage_code`, `pending`, the counters, `say`."""
    known = call.known()
    form = {key: known.get(key) for key in (*FACT_KEYS, *PARTY_KEYS, *CANDIDATE_KEYS)}
    heard = call.data.get("found") or {}
    found = {key.removeprefix("heard_"): value for key, value in heard.items()}
    pending = pending_at(call.stage, form, call.text_of("pending"))
    turn = _Turn(call=call, text=dense(str(call.data.get("text") or "")), form=form, found=found, pending=pending)
    stage = call.stage
    if stage in ("1001", "1002"):
        return _collect(turn)
    if stage in ("2000", "2010"):
        return _guide(turn)
    if stage.startswith("20"):
        return _photograph(turn)
    return _verify(turn, int(stage[-1]) if stage in ("3001", "3002") else 1)


def _collect(turn: _Turn) -> dict[str, Any]:
    call = turn.call
    _take_facts(turn)
    _take_identities(turn, 1)
    _take_identities(turn, 2)
    if _is_ineligible(turn.form, call.now):
        return _end(turn, "0003")
    is_waiting = call.says("wait", turn.text)
    if call.stage == "1001" and not turn.changed and not (call.says("ready", turn.text) and not is_waiting):
        return _stay(turn, "1001", "READY", call.texts["not_ready"])
    if is_waiting and not turn.changed:
        return _stay(turn, "1001", "READY", call.texts["not_ready"])
    missing = open_facts(turn.form)
    is_early = "early_photo" in call.plants and len(missing) == 1 and bool(turn.changed)
    if not missing or is_early:
        stage = "2010" if turn.form["jdcsl"] == 2 else "2000"
        return _stay(turn, stage, "PHOTO_READY", call.texts["photos"][stage])
    if call.stage == "1002" and not turn.changed:
        return _unclear(turn, "1002", missing[0])
    return _ask(turn, "1002", missing[0])


def _guide(turn: _Turn) -> dict[str, Any]:
    stage, call = turn.call.stage, turn.call
    if (moved := _recount(turn)) is not None:
        return moved
    first = "2001" if stage == "2000" else "2011"
    if (call.says("ready", turn.text) or turn.agrees()) and not call.says("wait", turn.text):
        return _stay(turn, first, "PHOTO", call.texts["photos"][first])
    return _stay(turn, stage, "PHOTO_READY", call.texts["photos"][stage])


def _photograph(turn: _Turn) -> dict[str, Any]:
    if (moved := _recount(turn)) is not None:
        return moved
    return _stay(turn, turn.call.stage, "PHOTO", repeat_prompt(turn.call))


def _recount(turn: _Turn) -> dict[str, Any] | None:
    """A vehicle count told in the photo phase is confirmed, then the other list of photos begins."""
    form = turn.form
    if turn.pending == "CONFIRM_JDCSL":
        count = form["candidate_jdcsl"]
        form["candidate_jdcsl"] = None
        if not turn.agrees():
            return None
        turn.put("jdcsl", count)
        if _is_ineligible(form, turn.call.now):
            return _end(turn, "0003")
        stage = "2010" if count == 2 else "2000"
        return _stay(turn, stage, "PHOTO_READY", turn.call.texts["photos"][stage])
    told = turn.found.get("jdcsl")
    if isinstance(told, int) and not isinstance(told, bool) and told != form["jdcsl"]:
        form["candidate_jdcsl"] = told
        return _ask(turn, turn.call.stage, "CONFIRM_JDCSL")
    return None


def _verify(turn: _Turn, party: int) -> dict[str, Any]:
    call, stage, pending = turn.call, f"300{party}", turn.pending
    _take_identities(turn, party)
    _dictate(turn, party)
    if pending.startswith("CONFIRM_"):
        _confirm(turn, party, "sfzmhm" if "SFZMHM" in pending else "sjhm")
    number = turn.form[f"sfzmhm{party}"]
    if f"sfzmhm{party}" in turn.changed and age_on(str(number), call.now) < ADULT_YEARS:
        return _end(turn, "0003")
    if pending.startswith("SUMMARY_") and turn.agrees() and not turn.changed:
        if party == 1 and turn.form["jdcsl"] == 2:
            return _ask(turn, "3002", party_question(turn.form, 2))
        return _end(turn, "0000")
    question = party_question(turn.form, party)
    if question == pending and not turn.changed:
        return _unclear(turn, stage, question)
    return _ask(turn, stage, question)


def _take_facts(turn: _Turn) -> None:
    plants = turn.call.plants
    for key in ("ywrysw", "ywfjdc", "ywmtc", "sfsgxc"):
        value = turn.found.get(key)
        if isinstance(value, bool) and not (key == "ywrysw" and value and "deaf_injury" in plants):
            turn.put(key, value)
    count = turn.found.get("jdcsl")
    if isinstance(count, int) and not isinstance(count, bool):
        turn.put("jdcsl", count)
    for key in ("sgyy", "bjrjs"):
        if turn.found.get(key):
            turn.put(key, str(turn.found[key]))
    if turn.found.get("sgfssj"):
        turn.put("sgfssj", accident_time(str(turn.found["sgfssj"]), turn.call.now, is_off="time_off" in plants))


def _take_identities(turn: _Turn, party: int) -> None:
    """Names and plates are stored at once, identity numbers and phones wait for a yes."""
    found = turn.found
    if found.get(f"xm{party}"):
        turn.put(f"xm{party}", str(found[f"xm{party}"]))
    if found.get(f"hphm{party}"):
        number = plate(found[f"hphm{party}"], is_wrong="plate_raw" in turn.call.plants)
        turn.put(f"hphm{party}", number)
        if number is not None:
            turn.put(f"hpzl{party}", plate_kind(number))
    if found.get(f"hpzl{party}"):
        turn.put(f"hpzl{party}", str(found[f"hpzl{party}"]))
    for key, check in (("sfzmhm", identity), ("sjhm", mobile)):
        number = check(found.get(f"{key}{party}") or "")
        if number is not None and number != turn.form[f"{key}{party}"]:
            turn.form[f"{key}{party}"] = None
            turn.put(f"candidate_{key}{party}", number)


def _dictate(turn: _Turn, party: int) -> None:
    """Pieces of a number are put behind one another until it is long enough; a wrong whole starts again."""
    for name, key, check in ((f"SFZMHM_{party}", "sfzmhm", identity), (f"SJHM_{party}", "sjhm", mobile)):
        piece = str(turn.found.get(f"{key}{party}") or "")
        if turn.pending != name or not piece or check(piece) is not None:
            continue
        candidate = f"candidate_{key}{party}"
        whole = str(turn.form[candidate] or "") + piece
        is_whole = len(whole) >= _LENGTHS[key]
        turn.put(candidate, whole if not is_whole else check(whole) or "")


def _confirm(turn: _Turn, party: int, key: str) -> None:
    candidate = f"candidate_{key}{party}"
    if candidate in turn.changed:
        return
    if turn.agrees():
        turn.put(f"{key}{party}", turn.form[candidate])
        turn.form[candidate] = None
    elif turn.denies():
        turn.form[candidate] = None
        turn.changed.add(candidate)


def _is_ineligible(form: Mapping[str, Any], now: datetime) -> bool:
    if form["ywrysw"] is True or form["ywfjdc"] is True or form["ywmtc"] is True or form["sfsgxc"] is False:
        return True
    if form["jdcsl"] is not None and form["jdcsl"] not in (1, 2):
        return True
    told = form["sgfssj"]
    if not isinstance(told, str) or not told:
        return False
    try:
        at = datetime.fromisoformat(told)
    except ValueError:
        return False
    local = at if at.tzinfo is None else at.astimezone(LOCAL).replace(tzinfo=None)
    return now - local > STALE_AFTER


def _unclear(turn: _Turn, stage: str, question: str) -> dict[str, Any]:
    count = int(turn.call.table("clarification_counts").get(question) or 0) + 1
    if count >= UNCLEAR_LIMIT:
        return _end(turn, "0002")
    say = turn.call.texts["unclear"] + wording(turn.call.texts, question, turn.form)
    return _outputs(turn, stage=stage, pending=question, say=say, unclear={question: count})


def _ask(turn: _Turn, stage: str, question: str) -> dict[str, Any]:
    return _stay(turn, stage, question, wording(turn.call.texts, question, turn.form))


def _stay(turn: _Turn, stage: str, pending: str, say: str) -> dict[str, Any]:
    if "rude_text" in turn.call.plants:
        say = turn.call.texts["rude"]
    return _outputs(turn, stage=stage, pending=pending, say=say, unclear={})


def _end(turn: _Turn, stage: str) -> dict[str, Any]:
    say = turn.call.texts["injury"] if turn.form["ywrysw"] is True else turn.call.texts["endings"][stage]
    return _outputs(turn, stage=stage, pending="", say=say, unclear={})


def _outputs(turn: _Turn, *, stage: str, pending: str, say: str, unclear: dict[str, int]) -> dict[str, Any]:
    waiting = {key: turn.form[f"candidate_{key}"] for key in _WAITING if turn.form[f"candidate_{key}"]}
    partials = {key: value for key, value in waiting.items() if len(str(value)) < _LENGTHS.get(key[:-1], 0)}
    fields = {key: turn.form[key] for key in (*FACT_KEYS, *PARTY_KEYS)}
    moves = {"stage_code": stage, "pending": pending, "clarification_counts": unclear, "no_reply_count": 0, "say": say}
    candidates = {key: value for key, value in waiting.items() if key not in partials}
    return fields | moves | {"candidates": candidates, "partials": partials}
