"""Everything that is known about one cell after it was played: what the partner saw, what is stored, what simulators were asked.
A plain value: the invariants are functions of it and of nothing else."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tests.chaos.script import TIMES

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request of the partner. `turn` is which of its turns it meant: retries share it."""

    process: str
    path: str
    request_id: str
    key: str | None
    event_id: str | None
    text: str
    sent_at: float
    ended_at: float
    status: int | None
    is_replay: bool
    body: bytes
    is_whole: bool
    hung_up: bool = False

    @property
    def is_stream(self) -> bool:
        return "stream=true" in self.path

    @property
    def is_chat(self) -> bool:
        return self.path.startswith("/chat")

    @property
    def turn(self) -> str:
        """`<cell>.t<turn>.a<attempt>` without the attempt."""
        return self.request_id.rpartition(".")[0]

    @property
    def number(self) -> int | None:
        """Of the turn in its conversation, from 0; None for a read."""
        name = self.turn.rpartition(".")[2]
        return int(name[1:]) if name.startswith("t") else None

    @cached_property
    def events(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """The stream's records that arrived whole: (name, data)."""
        blocks = self.body.decode("utf-8", "replace").split("\n\n")[:-1] if self.is_stream else []
        told = [block.split("\n") for block in blocks if block and not block.startswith(":")]
        return tuple((lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))) for lines in told)

    @cached_property
    def end(self) -> dict[str, Any] | None:
        """What closed the answer: the data of `done` or `error`, or the JSON answer. None when nothing of ours came."""
        if self.status is None:
            return None
        if self.is_stream and self.events:
            ends = [data for name, data in self.events if name in ("done", "error")]
            return ends[-1] if ends else None
        return json.loads(self.body) if self.is_whole and self.body.startswith(b"{") else None

    @property
    def is_acked(self) -> bool:
        return self.end is not None and self.end.get("code") == "200"

    @property
    def is_refused(self) -> bool:
        """The partner was told that it failed."""
        return self.end is not None and not self.is_acked

    @property
    def version(self) -> int | None:
        return self.end.get("stateVersion") if self.end else None

    @property
    def told(self) -> tuple[Any, ...]:
        """What an answer says, however it is told: stage, form, text, version."""
        if not self.is_stream:
            row = self.end or {}
            return row.get("nextStageCode"), row.get("formUpdate") or {}, row.get("outputText", ""), self.version
        by_name = dict(self.events)
        stage = by_name.get("stage_code", {}).get("nextStageCode")
        return stage, by_name.get("formUpdate", {}).get("formUpdate", {}), self.text_told, self.version

    @property
    def text_told(self) -> str:
        return "".join(data["text"] for name, data in self.events if name == "text_delta")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """`asked` in order: {"asked": "model"|"fastgpt", "request_id", …}. `chats`: chat id → records. `leftovers`: process → counts.
    `twin`: what an untouched conversation was told, turn by turn, "with" the armed turn and "without" it."""

    backend: str
    identity: str  # "key", "event" or "none": what tells the partner's retries from new turns
    armed: str  # the turn that something happened to
    calls: tuple[Call, ...]  # in the order they were sent
    session: Row | None
    state: Row | None
    events: tuple[Row, ...] = ()
    turns: tuple[Row, ...] = ()
    records: tuple[Row, ...] = ()  # idempotency
    outbox: tuple[Row, ...] = ()
    ledger: tuple[Row, ...] = ()  # of the shadow, as are comparisons
    comparisons: tuple[Row, ...] = ()
    digests: tuple[str, ...] = ()  # of all real rows, before and after the shadow worked; empty: it did not
    leases: tuple[Row, ...] = ()
    checkpoints: tuple[Row, ...] = ()
    asked: tuple[Row, ...] = ()
    chats: Mapping[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    leftovers: Mapping[str, Row] = field(default_factory=dict[str, Row])
    stuck: int = 0  # connections that have idled in a transaction for a second
    twin: Mapping[str, tuple[Row, ...]] = field(default_factory=dict[str, tuple[Row, ...]])

    resting_tasks: int = 0  # of a proxy with nothing in hand
    was_overtaken: bool = False  # the armed attempt stood still and went on after others were served
    tenant: str = ""

    @cached_property
    def acked(self) -> tuple[Call, ...]:
        """Answered turns; reads are not turns."""
        return tuple(call for call in self.calls if call.is_acked and call.number is not None)

    @cached_property
    def attempts(self) -> dict[str, list[Call]]:
        """Turn → its calls, in the order they were sent."""
        turns: dict[str, list[Call]] = {}
        for call in self.calls:
            if call.number is not None:
                turns.setdefault(call.turn, []).append(call)
        return turns

    @cached_property
    def asked_live(self) -> tuple[Row, ...]:
        """Without what the shadow asked."""
        return tuple(row for row in self.asked if not row["asked"].startswith("shadow_"))

    @cached_property
    def committed(self) -> tuple[Row, ...]:
        return tuple(turn for turn in self.turns if turn["status"] == "committed")


def told_without_times(told: tuple[Any, ...]) -> Row:
    """What can be compared between two conversations: no version, and no field that holds a time of day."""
    stage, form, text, _ = told
    return {"stage": stage, "form": {key: value for key, value in form.items() if key not in TIMES}, "text": text}
