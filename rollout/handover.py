"""A session changes its server between two turns. Pure: who serves, what the session keeps as its pin, and what goes on record.

What the target has no place for refuses a hand-over that a plan or an operator merely wishes; the session then stays. The kill switches
(override, process) and the way back to a pin are no wishes: they move the session whatever it costs, and the record names the cost.
"""

from dataclasses import dataclass, replace

from contract.ports import Pin
from domain.backend_name import BackendName
from domain.plan import Move, Route


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    route: Route
    pin: Pin
    move: Move | None


def hand_over(pin: Pin, decided: Route, *, served_by: BackendName | None, lost: tuple[str, ...]) -> HandOver:
    """`served_by` gave the session's newest answer; None: nobody of ours did. `lost` is what the decided backend cannot hold."""
    source = served_by or pin.backend
    if decided.reason == "carry":
        move = Move(source=source, target=decided.backend, cause="carry", lost=lost, is_refused=bool(lost))
        if lost:
            return HandOver(route=replace(decided, backend=pin.backend, reason="pin", bucket=pin.bucket), pin=pin, move=move)
        carried = replace(pin, backend=decided.backend, reason="carry", plan_version=decided.plan_version, bucket=decided.bucket)
        return HandOver(route=decided, pin=carried, move=move)
    if decided.backend is source:
        return HandOver(route=decided, pin=pin, move=None)
    return HandOver(route=decided, pin=pin, move=Move(source=source, target=decided.backend, cause=decided.reason, lost=lost))


def moved_by_operator(pin: Pin, target: BackendName, *, lost: tuple[str, ...]) -> tuple[Pin, Move]:
    """What `crossfade session move` does to a pin; the move is refused, and the pin unchanged, when something would be lost."""
    move = Move(source=pin.backend, target=target, cause="operator", lost=lost, is_refused=bool(lost))
    return (pin if lost else replace(pin, backend=target, reason="operator")), move
