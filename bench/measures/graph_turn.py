"""P5 and P6: turns that LangGraph serves, as CPU of the server process at full load: a photo that code alone answers, and a question that
an instant model answers. Beside them the same nodes without a checkpointer, inside one transaction and behind no door but FastAPI's."""

import random
from collections.abc import Sequence
from functools import partial
from statistics import median

from bench.figures import Figure, of_rounds
from bench.load import Load, for_seconds, side_by_side
from bench.measures.measure import Part, Seen, ratios
from bench.sessions import PHOTO, QUESTION
from bench.stand import Stand

CONNECTIONS = 16
SECONDS, TIMES = 0.7, 2
GOAL, NATURAL_GOAL_MS, ADDED_GOAL_MS = 1.25, 12.0, 4.0


class GraphTurn:
    name = "graph"

    @property
    def parts(self) -> Sequence[Part]:
        return (_side_by_side,)

    def figures(self, seen: Seen) -> dict[str, Figure]:
        cpu = {f"{name} ms": median(load.cpu_ms_per_call for load in loads) for name, loads in seen.items()}
        added = [talk.cpu_ms_per_call - photo.cpu_ms_per_call for talk, photo in zip(seen["proxy talk"], seen["proxy photo"], strict=True)]
        return {
            "P5": of_rounds(
                ratios(seen, "proxy photo", "bare photo", _cpu),
                what="LangGraph, photo: CPU of our turn ÷ the same nodes without a checkpointer in one transaction",
                unit="×",
                goal=GOAL,
                detail=cpu,
            ),
            "P5.saver": of_rounds(
                ratios(seen, "saved photo", "bare photo", _cpu),
                what="LangGraph, photo: CPU with our saver ÷ without one in one transaction, nothing else around",
                unit="×",
            ),
            "P5.stock": of_rounds(
                ratios(seen, "stock photo", "bare photo", _cpu),
                what="LangGraph, photo: the same with LangGraph's own saver, unpruned",
                unit="×",
            ),
            "P6": of_rounds(
                [load.cpu_ms_per_call for load in seen["proxy talk"]],
                what="LangGraph, natural turn with an instant model: CPU",
                unit="ms",
                goal=NATURAL_GOAL_MS,
            ),
            "P6.added": of_rounds(added, what="LangGraph: CPU of a natural turn − of a photo", unit="ms", goal=ADDED_GOAL_MS),
        }


def _cpu(load: Load) -> float:
    return load.cpu_ms_per_call


async def _side_by_side(stand: Stand, order: random.Random) -> dict[str, Load]:
    photos, talks = (stand.photo, stand.bare_photo, stand.saved_photo, stand.stock_photo), (stand.talk, stand.bare_talk)
    doors = [*((door, PHOTO) for door in photos), *((door, QUESTION) for door in talks)]
    parts = {door.name: partial(for_seconds, door, text, SECONDS, connections=CONNECTIONS) for door, text in doors}
    return await side_by_side(parts, times=TIMES, order=order)
