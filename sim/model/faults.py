"""Ways a model server can fail, switched on by name and rate. The choice is per call and repeats for the same seed.

illegal: a state outside `allowed_next`; garbage: text without the agreed prefix; cut: the socket drops in mid-stream;
hang: no byte at all; empty: an answer without text; http500: an error instead of an answer.
"""

import random
from collections.abc import Mapping

FAULTS = ("http500", "cut", "hang", "garbage", "illegal", "empty")
ILLEGAL_ANSWER = "<state>9998</state>已经全部办好了。"


def drawn_fault(rates: Mapping[str, float], chance: random.Random) -> str | None:
    """The first fault of FAULTS that this call draws. Every rate is drawn each time, so one rate does not shift another."""
    hits = [name for name in FAULTS if chance.random() < rates.get(name, 0.0)]
    return hits[0] if hits else None
