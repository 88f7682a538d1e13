"""How often things happened: effects of a key, calls of a model, rows for the shadow, and what nobody cleaned up."""

from collections import Counter
from collections.abc import Iterator

from tests.chaos.evidence import Evidence
from tests.chaos.script import FREE


def one_effect(evidence: Evidence) -> Iterator[str]:
    effects = Counter(turn["request_id"].rpartition(".")[0] for turn in evidence.committed)
    for turn, count in effects.items():
        if count > 1:
            yield f"{turn} was committed {count} times"
    by_id = {turn["turn_id"]: turn for turn in evidence.committed}
    kept = Counter(record["key"] for record in evidence.records)
    for record in evidence.records:
        turn = by_id.get(record["turn_id"])
        if turn is None and record["reply"]["pieces"]:
            yield f"the reply of {record['key']} points at no committed turn"
        elif turn is not None and turn["version"] != record["reply"]["version"]:
            yield f"the reply of {record['key']} says version {record['reply']['version']}, its turn {turn['version']}"
    if evidence.identity == "key":
        for turn, attempts in evidence.attempts.items():
            if any(call.is_acked for call in attempts) and kept[attempts[0].key] != 1:
                yield f"{turn} was acknowledged under a key with {kept[attempts[0].key]} stored replies"
    ids = Counter(turn["event_id"] for turn in evidence.committed)
    if evidence.identity == "event":
        named = {call.event_id for attempts in evidence.attempts.values() for call in attempts if call.is_acked and call.event_id}
        for event_id in named:
            if ids[event_id] != 1:
                yield f"event {event_id} was acknowledged and stored {ids[event_id]} times"


def offered(evidence: Evidence) -> Iterator[str]:
    """A row of the outbox for every turn the shadow may count, committed or not; what is written from outside is not compared."""
    kinds = Counter((row["turn_id"], row["kind"]) for row in evidence.outbox)
    for turn in evidence.turns:
        expected = 0 if turn["event_type"] == "set_info" else 1
        if turn["event_type"] == "unknown" and turn["version"] == 0:
            continue  # the lost first turn of a session: whether it is in the sample was never stored
        if (count := kinds.pop((turn["turn_id"], turn["status"]), 0)) != expected:
            yield f"{turn['status']} turn {turn['request_id'] or turn['turn_id']} has {count} rows in the outbox"
    if kinds:
        yield f"{sum(kinds.values())} rows of the outbox belong to no turn of their kind"
    told = {turn["request_id"] for turn in evidence.turns}
    lost = {row["request_id"] for row in evidence.asked_live} - told
    nameless = sum(turn["request_id"] == "" for turn in evidence.turns)
    if len(lost) > nameless:
        yield f"{sorted(lost)} reached a backend and left no row"


def settled(evidence: Evidence) -> Iterator[str]:
    """Once the shadow has worked, every row of the outbox is settled once, and what was compared has its comparison."""
    if not evidence.digests:
        return
    states = {row["outbox_id"]: row["state"] for row in evidence.ledger}
    compared = Counter(row["outbox_id"] for row in evidence.comparisons)
    for row in evidence.outbox:
        state = states.pop(row["outbox_id"], None)
        if state != ("compared" if row["kind"] == "committed" else "failed"):
            yield f"{row['kind']} turn {row['turn_id']} is {state or 'pending'} in the ledger"
        if compared.pop(row["outbox_id"], 0) != (state == "compared"):
            yield f"turn {row['turn_id']} is {state} and has another number of comparisons"


def ledger(evidence: Evidence) -> Iterator[str]:
    yield from offered(evidence)
    yield from settled(evidence)


def shadow_clean(evidence: Evidence) -> Iterator[str]:
    if len(set(evidence.digests)) > 1:
        yield "rows outside the shadow's schema changed while the shadow worked"


def model_calls(evidence: Evidence) -> Iterator[str]:
    asked = Counter(row["request_id"] for row in evidence.asked_live)
    committed_at = {turn["request_id"].rpartition(".")[0]: turn["committed_at"] for turn in evidence.committed}
    for call in evidence.calls:
        count = asked[call.request_id]
        needs_none = not call.is_chat or (evidence.backend == "langgraph" and call.text in FREE)
        if count and needs_none:
            yield f"{call.request_id} needs no model and asked {count} times"
        if count and call.is_replay:
            yield f"{call.request_id} is a replay and asked {count} times"
        if count > (1 if evidence.backend == "fastgpt" else 2):
            yield f"{call.request_id} asked {count} times"
        if count and evidence.identity != "none" and call.sent_at > committed_at.get(call.turn, float("inf")):
            yield f"{call.request_id} asked although its turn was stored when it came"
    for turn, attempts in evidence.attempts.items():
        answered = [call for call in attempts if asked[call.request_id]]
        broken = [call for call in answered if call.request_id not in {row["request_id"] for row in evidence.committed}]
        if len(answered) > len(broken) + 1:
            yield f"{turn} asked in {len(answered)} attempts, of which {len(broken)} came to nothing"


def leftovers(evidence: Evidence) -> Iterator[str]:
    for process, left in evidence.leftovers.items():
        if left["connections_in_use"]:
            yield f"{process} holds {left['connections_in_use']} connections"
        if left["tasks"] > evidence.resting_tasks:
            yield f"{process} has {left['tasks']} tasks, {evidence.resting_tasks} at rest"
    if evidence.leases:
        yield f"{len(evidence.leases)} leases are still held"
    if evidence.stuck:
        yield f"{evidence.stuck} connections idle in a transaction"
