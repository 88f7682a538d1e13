"""Faults by the number of a call: a YAML file says which call of which chat goes wrong, and how. The same file, the same run.

    faults:
      - {call: 3, fault: html_504}                    # the third call of every chat
      - {chat: "legacy-*", call: 2, fault: garbage}   # of chats whose id fits

A request may also ask for its own fault by the header `x-sim-fault: NAME[,NAME]`, and `POST /sim/plant` sets rates for all sessions.
"""

from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, cast

import yaml

from sim.fastgpt.plants import PLANTS

HEADER = "x-sim-fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    call: int  # counted from one, chat by chat
    fault: str
    chat: str = "*"


class Script:
    """Counts the calls of each chat; `faults_of` is asked once a call."""

    def __init__(self, planned: tuple[Planned, ...] = ()) -> None:
        self._planned = planned
        self._calls: Counter[str] = Counter()

    def faults_of(self, chat_id: str, header: str | None) -> frozenset[str]:
        """Raises ValueError for a name in the header that is none."""
        asked = frozenset(name.strip() for name in (header or "").split(",") if name.strip())
        _known(asked)
        if not self._planned:
            return asked
        self._calls[chat_id] += 1
        number = self._calls[chat_id]
        return asked | {one.fault for one in self._planned if one.call == number and fnmatchcase(chat_id, one.chat)}


def script_from(text: str) -> Script:
    """Raises ValueError: not this shape, or a fault that is none."""
    data: object = yaml.safe_load(text)
    rows: Any = cast("dict[str, Any]", data).get("faults") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        raise ValueError("a script is a mapping with a list of faults")
    planned: list[Planned] = []
    for row in cast("list[Any]", rows):
        if not isinstance(row, dict) or not set(cast("dict[str, Any]", row)) <= {"chat", "call", "fault"}:
            raise ValueError("a fault has call, fault and perhaps chat")
        given = cast("dict[str, Any]", row)
        call, fault, chat = given.get("call"), given.get("fault"), given.get("chat", "*")
        if not isinstance(call, int) or isinstance(call, bool) or call < 1 or not isinstance(chat, str):
            raise ValueError("call is a number from one on, chat a pattern")
        _known({str(fault)})
        planned.append(Planned(call=call, fault=str(fault), chat=chat))
    return Script(tuple(planned))


def _known(names: frozenset[str] | set[str]) -> None:
    unknown = sorted(names - set(PLANTS))
    if unknown:
        raise ValueError(f"no such fault: {', '.join(unknown)}")
