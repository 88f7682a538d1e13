"""Every invariant can fail: good data sets pass them all, and for each there is at least one broken one that it reports."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from domain.stages import StageCode
from domain.transitions import edges_between
from tests.chaos.evidence import Call, Evidence
from tests.chaos.invariants import INVARIANTS, violations

pytestmark = [pytest.mark.chaos, pytest.mark.unit]

# Three turns: a greeting, a message whose first attempt broke off and was told again, and a last one.
STAGES = ("1001", "1002", "1002")
TEXTS = ("您好。", "请问有没有人受伤？", "您还在现场吗？")
PATCHES: tuple[dict[str, Any], ...] = ({}, {}, {"ywrysw": False})


def stream(number: int, *, broken_off: bool = False) -> bytes:
    events: list[tuple[str, dict[str, Any]]] = [("stage_code", {"nextStageCode": STAGES[number]})]
    if PATCHES[number]:
        events.append(("formUpdate", {"formUpdate": PATCHES[number]}))
    events += [("text_delta", {"text": piece}) for piece in (TEXTS[number][:3], TEXTS[number][3:])]
    if broken_off:
        events.pop()
    else:
        events.append(("done", {"code": "200", "msg": "success", "stateVersion": number + 1}))
    return "".join(f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n" for name, data in events).encode()


def call(number: int, attempt: int, at: float, **changes: Any) -> Call:
    row: dict[str, Any] = {
        "process": "v1", "path": "/chat?stream=true", "request_id": f"s.t{number}.a{attempt}", "key": f"s-{number}", "event_id": None,
        "text": "好", "sent_at": at, "ended_at": at + 1, "status": 200, "is_replay": False, "body": stream(number), "is_whole": True,
    }  # fmt: skip
    return Call(**row | changes)


def read(at: float, form: dict[str, Any], number: int = 0) -> Call:
    body = json.dumps({"code": "200", "value": json.dumps({"group": form})}).encode()
    return call(0, 0, at, path="/get_info", request_id=f"s.r{number}.a0", key=None, body=body)


def turn(number: int, attempt: int = 0, **changes: Any) -> dict[str, Any]:
    form: dict[str, Any] = {}
    for patch in PATCHES[: number + 1]:
        form |= patch
    row = {
        "turn_id": f"id-{number}-{attempt}", "tenant_id": "t", "client_id": "on-langgraph", "event_id": f"e{number}", "version": number + 1,
        "status": "committed", "event_type": "user_message", "after": {"stage": STAGES[number], "form": form, "dialogue": {}},
        "output_text": TEXTS[number], "outcome": {"reply": {"patch": PATCHES[number]}}, "backend": "langgraph",
        "request_id": f"s.t{number}.a{attempt}", "committed_at": (0.5, 5.5, 8.5)[number],
    }  # fmt: skip
    return row | changes


def event(number: int) -> dict[str, Any]:
    return {"tenant_id": "t", "actor_client_id": "on-langgraph", "previous_version": number, "new_version": number + 1}


def offered(outbox_id: int, turn_id: str) -> dict[str, Any]:
    return {"outbox_id": outbox_id, "turn_id": turn_id, "kind": "cancelled" if turn_id == "lost" else "committed"}


def record(number: int, turn_id: str) -> dict[str, Any]:
    return {"key": f"s-{number}", "turn_id": turn_id, "reply": {"version": number + 1, "pieces": [TEXTS[number]]}}


UNREACHABLE = next(str(code) for code in StageCode if not edges_between(None, code))
LOST = turn(1, 0, turn_id="lost", request_id="", status="cancelled", event_type="unknown", committed_at=4.9)
TWIN = tuple({"stage": stage, "form": patch, "text": text} for stage, patch, text in zip(STAGES, PATCHES, TEXTS, strict=True))
GOOD = Evidence(
    backend="langgraph",
    identity="key",
    armed="s.t1",
    tenant="t",
    calls=(
        call(0, 0, 0),
        call(1, 0, 2, is_whole=False, body=stream(1, broken_off=True)),
        call(1, 1, 4),
        call(1, 2, 6, is_replay=True),
        read(6.9, {}, 1),
        call(2, 0, 8),
        read(10, {"ywrysw": False}, 2),
    ),
    session={"tenant_id": "t", "state_version": 3, "stage_code": "1002", "backend": "langgraph"},
    state={"tenant_id": "t", "state_version": 3, "form_data": {"ywrysw": False}, "dialogue": {}},
    events=tuple(event(number) for number in range(3)),
    turns=(turn(0), LOST, turn(1, 1), turn(2)),
    records=(record(0, "id-0-0"), record(1, "id-1-1"), record(2, "id-2-0")),
    outbox=tuple(offered(number, name) for number, name in enumerate(("id-0-0", "lost", "id-1-1", "id-2-0"))),
    checkpoints=({"turn_id": "id-2-0", "version": 2, "stage": "1002", "known": [], "next_stage": "1002"},),
    asked=tuple({"asked": "model", "request_id": f"s.t{name}"} for name in ("1.a0", "1.a1", "2.a0")),
    leftovers={"v1": {"tasks": 3, "connections_in_use": 0}},
    resting_tasks=3,
    twin={"with": TWIN, "without": (TWIN[0], TWIN[2])},
)


SHADOWED = replace(
    GOOD,
    digests=("same", "same"),
    ledger=tuple({"outbox_id": row["outbox_id"], "state": "failed" if row["turn_id"] == "lost" else "compared"} for row in GOOD.outbox),
    comparisons=tuple({"outbox_id": row["outbox_id"]} for row in GOOD.outbox if row["turn_id"] != "lost"),
)


def calls(change: Callable[[Call], Call]) -> Evidence:
    return replace(GOOD, calls=tuple(change(one) for one in GOOD.calls))


def one_call(name: str, /, **changes: Any) -> Evidence:
    return calls(lambda one: replace(one, **changes) if one.request_id == name else one)


def one_turn(name: str, /, **changes: Any) -> Evidence:
    return replace(GOOD, turns=tuple(dict(one) | changes if one["request_id"] == name else one for one in GOOD.turns))


def one_read(name: str, form: dict[str, Any]) -> Evidence:
    return calls(lambda one: replace(read(one.sent_at, form), request_id=name) if one.request_id == name else one)


def remembered(*said: str) -> Evidence:
    """As FastGPT would serve it: the session's chat holds these messages."""
    turns = tuple(dict(one) | {"text": "好", "outcome": {**one["outcome"], "receipt": {"memory": "chat"}}} for one in GOOD.committed)
    return replace(GOOD, turns=turns, chats={"chat": [{"side": "Human", "text": text} for text in said]})


def ending(request_id: str, message: str) -> Evidence:
    end = f'event: error\ndata: {{"code": "500", "msg": "{message}"}}\n\n'.encode()
    return one_call(request_id, body=stream(1, broken_off=True) + end, is_whole=True)


COMMITTED_BY_THE_FIRST = {
    "turns": (turn(0), turn(1, 0), turn(2)),
    "outbox": tuple({"turn_id": name, "kind": "committed"} for name in ("id-0-0", "id-1-0", "id-2-0")),
}
UNASKED = {"asked": tuple(row for row in GOOD.asked if row["request_id"] != "s.t1.a1")}
REPLAYED = one_call("s.t1.a1", is_replay=True)
SERVED_FIRST = replace(
    REPLAYED, **COMMITTED_BY_THE_FIRST, **UNASKED, records=(record(0, "id-0-0"), record(1, "id-1-0"), record(2, "id-2-0"))
)
TOLD_TO_HAVE_FAILED = replace(SERVED_FIRST, calls=tuple(
    one if one.request_id != "s.t1.a0" else ending("s.t1.a0", "系统内部错误").calls[1] for one in SERVED_FIRST.calls
))  # fmt: skip

BROKEN: list[tuple[str, str, Evidence]] = [
    ("I1", "a version is missing", replace(GOOD, events=(event(0), event(2)))),
    ("I1", "a version comes twice", replace(GOOD, events=(event(0), event(1), event(1)))),
    ("I1", "an event has no turn", replace(GOOD, turns=GOOD.turns[:-1])),
    ("I2", "an acknowledged turn is not stored", replace(GOOD, turns=GOOD.turns[:-1], events=GOOD.events[:-1])),
    ("I2", "another attempt than the acknowledged one is stored", one_turn("s.t2.a0", request_id="s.t2.a7")),
    ("I2", "another text than the told one is stored", one_turn("s.t2.a0", output_text="别的")),
    ("I3", "a key was committed twice", one_turn("s.t2.a0", request_id="s.t1.a3")),
    ("I3", "a key has no stored reply", replace(GOOD, records=GOOD.records[:-1])),
    ("I3", "a stored reply points nowhere", replace(GOOD, records=(*GOOD.records[:-1], record(2, "gone")))),
    ("I4", "the session is behind its events", replace(GOOD, session={**(GOOD.session or {}), "state_version": 2})),
    ("I4", "the form lost a patch", replace(GOOD, state={**(GOOD.state or {}), "form_data": {}})),
    ("I4", "a turn forgot what the one before it changed", one_turn("s.t2.a0", outcome={"reply": {"patch": {}}})),
    ("I5", "a replay says something else", one_call("s.t1.a2", body=stream(1).replace("受伤".encode(), "伤亡".encode()))),
    ("I5", "a replay is cut otherwise", one_call("s.t1.a2", body=stream(1).replace(b'{"text": "', b'{"text":"'))),
    ("I5", "what broke off is not the beginning of its replay", replace(
        SERVED_FIRST,
        calls=tuple(
            replace(one, body=one.body.replace("请问".encode(), "您好".encode())) if one.request_id == "s.t1.a0" else one
            for one in SERVED_FIRST.calls
        ),
    )),
    ("I6", "a read is older than what was acknowledged before it", one_read("s.r2.a0", {})),
    ("I6", "a read shows what nobody has said yet", one_read("s.r1.a0", {"ywrysw": False})),
    ("I7", "the conversation ends out of nowhere", one_turn("s.t0.a0", after={"stage": UNREACHABLE, "form": {}, "dialogue": {}})),
    ("I8", "a stream ends without an end", one_call("s.t2.a0", body=stream(2).partition(b"event: done")[0])),
    ("I8", "a stream ends twice", one_call("s.t2.a0", body=stream(2) + stream(2)[stream(2).index(b"event: done") :])),
    ("I8", "text comes after the end", one_call("s.t2.a0", body=stream(2) + 'event: text_delta\ndata: {"text": "啊"}\n\n'.encode())),
    ("I10", "a turn is not offered", replace(GOOD, outbox=GOOD.outbox[:-1])),
    ("I10", "a turn is offered twice", replace(GOOD, outbox=(*GOOD.outbox, GOOD.outbox[-1]))),
    ("I10", "an attempt that reached the model left no row", replace(GOOD, turns=(turn(0), turn(1, 1), turn(2)), outbox=(
        *GOOD.outbox[:1], *GOOD.outbox[2:]
    ))),
    ("I9", "the shadow touched a real row", replace(GOOD, digests=("before", "after"))),
    ("I10", "a job is pending for ever", replace(SHADOWED, ledger=SHADOWED.ledger[:-1], comparisons=SHADOWED.comparisons[:-1])),
    ("I10", "a job is settled without its comparison", replace(SHADOWED, comparisons=SHADOWED.comparisons[:-1])),
    ("I11", "a row is another tenant's", one_turn("s.t2.a0", tenant_id="other")),
    ("I12", "the checkpoint is ahead", replace(GOOD, checkpoints=({**GOOD.checkpoints[0], "version": 4},))),
    ("I12", "the checkpoint started from another state", replace(GOOD, checkpoints=({**GOOD.checkpoints[0], "stage": "2001"},))),
    ("I12", "the checkpoint decided otherwise", replace(GOOD, checkpoints=({**GOOD.checkpoints[0], "next_stage": "2001"},))),
    ("I12", "the upstream's chat remembers a turn that was lost", remembered("好", "等等", "好")),
    ("I13", "a replay asked", replace(GOOD, asked=(*GOOD.asked, {"asked": "model", "request_id": "s.t1.a2"}))),
    ("I13", "a retry of a stored turn asked", replace(SERVED_FIRST, asked=GOOD.asked, calls=tuple(
        replace(one, is_replay=False) if one.request_id == "s.t1.a1" else one for one in SERVED_FIRST.calls
    ), turns=(turn(0), turn(1, 0, committed_at=3.0), turn(2)))),
    ("I13", "one attempt asked again and again", replace(GOOD, asked=(*GOOD.asked, *GOOD.asked[-1:] * 2))),
    ("I14", "a connection is not given back", replace(GOOD, leftovers={"v1": {"tasks": 3, "connections_in_use": 1}})),
    ("I14", "a task goes on", replace(GOOD, leftovers={"v1": {"tasks": 4, "connections_in_use": 0}})),
    ("I14", "a lease is held", replace(GOOD, leases=({"session_id": "s"},))),
    ("I14", "a transaction is open", replace(GOOD, stuck=1)),
    ("I19", "another backend served", one_turn("s.t2.a0", backend="fastgpt")),
    ("I21", "a failure was told of a turn that is stored", TOLD_TO_HAVE_FAILED),
    ("I21", "a turn was never answered", one_call("s.t2.a0", is_whole=False, body=stream(2, broken_off=True))),
    ("T1", "the conversation went another way", replace(GOOD, twin={**GOOD.twin, "with": (*TWIN[:2], {**TWIN[2], "text": "再说一遍"})})),
]  # fmt: skip


@pytest.mark.parametrize("evidence", [GOOD, SERVED_FIRST, SHADOWED], ids=["retried", "replayed", "shadowed"])
def test_a_good_data_set_breaks_nothing(evidence: Evidence):
    assert violations(evidence) == ()


@pytest.mark.parametrize(("invariant", "what", "evidence"), BROKEN, ids=[f"{name}-{what}" for name, what, _ in BROKEN])
def test_a_broken_data_set_is_reported(invariant: str, what: str, evidence: Evidence):
    assert invariant in {one.invariant for one in violations(evidence)}


def test_a_chat_that_holds_the_committed_turns_is_a_good_copy():
    assert "I12" not in {one.invariant for one in violations(remembered("好", "好", "好"))}


def test_every_invariant_has_a_data_set_that_breaks_it():
    assert {name for name, _, _ in BROKEN} == {one.name for one in INVARIANTS}


def test_a_failure_that_promises_nothing_may_be_of_a_stored_turn():
    may_be_in = replace(SERVED_FIRST, calls=tuple(
        one if one.request_id != "s.t1.a0" else ending("s.t1.a0", "系统繁忙，请稍后重试").calls[1] for one in SERVED_FIRST.calls
    ))  # fmt: skip
    assert violations(may_be_in) == ()
