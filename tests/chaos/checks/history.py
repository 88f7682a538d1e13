"""What the partner was told, against what is stored and against real time."""

import json
from collections.abc import Iterator
from typing import Any

from tests.chaos.evidence import Call, Evidence

MAY_BE_IN = "系统繁忙，请稍后重试"  # the database did not say whether it took the turn: the only failure that promises nothing


def durable(evidence: Evidence) -> Iterator[str]:
    """An answer that is no replay was earned by its own request: a retry that repaired what was lost does not make it true."""
    by_version = {turn["version"]: turn for turn in evidence.committed}
    kept = {record["key"] for record in evidence.records}
    for call in evidence.acked:
        if not call.is_chat:
            if not any(turn["request_id"].startswith(f"{call.turn}.") for turn in evidence.committed) and call.key not in kept:
                yield f"{call.request_id} was acknowledged and left nothing"
            continue
        turn = by_version.get(call.version or 0)
        is_its_own = turn is not None and (
            turn["request_id"].startswith(f"{call.turn}.") if call.is_replay else turn["request_id"] == call.request_id
        )
        if turn is None or not is_its_own:
            yield f"{call.request_id} was acknowledged as version {call.version}, which is {turn and turn['request_id']}"
        elif (call.told[0], call.told[2]) != (turn["after"]["stage"], turn["output_text"]):
            yield f"{call.request_id} was told something else than version {call.version} holds"


def linearizable(evidence: Evidence) -> Iterator[str]:
    """A session is a counter: turns take effect in the order of their versions, which must be possible in real time; a read shows one
    version between the newest that was acknowledged before it began and the newest that was sent before it ended, and never goes back."""
    acked = [call for call in evidence.acked if call.is_chat and call.version]
    for earlier in acked:
        for later in acked:
            if earlier.ended_at < later.sent_at and not later.is_replay and (later.version or 0) < (earlier.version or 0):
                yield f"{later.request_id} came after {earlier.request_id} and has the older version {later.version}"
    forms = {0: {}, **{turn["version"]: turn["after"]["form"] for turn in evidence.committed}}
    seen = 0
    for read in evidence.calls:
        if read.path != "/get_info" or not read.is_acked:
            continue
        low = max(seen, *(call.version or 0 for call in acked if call.ended_at < read.sent_at), 0)
        high = max((turn["version"] for turn in evidence.committed if _sent_at(turn["request_id"], evidence) <= read.ended_at), default=0)
        shown = _form_read(read)
        fitting = [version for version in range(low, high + 1) if _visible(forms.get(version, {})) == shown]
        if not fitting:
            yield f"{read.request_id} shows none of the versions {low} to {high}"
        else:
            seen = fitting[0]


def honest(evidence: Evidence) -> Iterator[str]:
    committed = {turn["request_id"] for turn in evidence.committed}
    for call in evidence.calls:
        if call.is_refused and call.request_id in committed and (call.end or {}).get("msg") != MAY_BE_IN:
            yield f"{call.request_id} was told that it failed ({(call.end or {}).get('msg')}), and it is stored"
    for turn, attempts in evidence.attempts.items():
        is_resolvable = evidence.identity != "none" or turn != evidence.armed
        if is_resolvable and not any(call.is_acked for call in attempts):
            yield f"{turn} was never answered in {len(attempts)} attempts"


def _sent_at(request_id: str, evidence: Evidence) -> float:
    """When the partner first sent the turn of this request."""
    turn = request_id.rpartition(".")[0]
    return min((call.sent_at for call in evidence.calls if call.turn == turn), default=float("inf"))


def _form_read(read: Call) -> dict[str, Any]:
    groups = json.loads((read.end or {})["value"])
    return _visible({key: value for group in groups.values() for key, value in group.items()})


def _visible(form: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in form.items() if value is not None}
