"""Play scenarios and probes on a subject and keep all that was seen. The only part of the evaluation that waits for anything."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from domain.errors import FailureKind
from domain.events import event_from_text
from domain.session import Message, SessionState
from domain.turn import SetInfo, Turn
from evals.golden import Scenario, Step
from evals.probes import Probe
from evals.seen import Call, Served, Subject

T = TypeVar("T")
BETWEEN_STEPS = timedelta(seconds=2)  # no two photos in one breath; a whole scenario stays within its minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """One probe: the model alone, and the service with that model."""

    probe: Probe
    alone: Call
    served: Served


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One scenario, turn by turn, to its end even if it has left the written path."""

    scenario: Scenario
    turns: tuple[Served, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """`tells_usage`: the client in use learns how many tokens a call took."""

    probed: tuple[Probed, ...]
    played: tuple[Played, ...]
    tells_usage: bool

    @property
    def turns(self) -> tuple[Served, ...]:
        return (*(turn for one in self.played for turn in one.turns), *(one.served for one in self.probed))

    @property
    def calls(self) -> tuple[Call, ...]:
        """Calls that the model itself answered, in the service and alone; each distinct prompt once, so that they are independent."""
        every = (*(call for turn in self.turns for call in turn.calls), *(one.alone for one in self.probed))
        return tuple({call.prompt_id: call for call in every if not call.is_scripted}.values())


async def play(subject: Subject, probes: Sequence[Probe], scenarios: Sequence[Scenario], *, lanes: int, tick: Callable[[], None]) -> Seen:
    """`lanes`: how many conversations at once. `tick` is called after each probe and each scenario."""
    gate = asyncio.Semaphore(lanes)

    @asynccontextmanager
    async def lane() -> AsyncGenerator[None]:
        async with gate:
            yield
        tick()

    async def probed(probe: Probe) -> Probed:
        async with lane():
            turn = _turn(probe.text, probe.now, session_id=probe.name)
            alone = await subject.ask(turn, probe.session)
            return Probed(probe=probe, alone=alone, served=await subject.serve(turn, probe.session))

    async def played(scenario: Scenario) -> Played:
        async with lane():
            return Played(scenario=scenario, turns=tuple(await _conversation(subject, scenario)))

    async with asyncio.TaskGroup() as group:
        one_by_one = [group.create_task(probed(probe)) for probe in probes]
        whole = [group.create_task(played(scenario)) for scenario in scenarios]
    return Seen(probed=_results(one_by_one), played=_results(whole), tells_usage=subject.tells_usage)


def _results(tasks: Iterable[asyncio.Task[T]]) -> tuple[T, ...]:
    return tuple(task.result() for task in tasks)


async def _conversation(subject: Subject, scenario: Scenario) -> list[Served]:
    session, turns = SessionState(), list[Served]()
    for number, step in enumerate(scenario.steps):
        turn = _turn_of(step, scenario.start + number * BETWEEN_STEPS, scenario.name)
        served = await subject.serve(turn, session, scripted=step.scripted)
        turns.append(served)
        session = committed(served)
    return turns


def _turn_of(step: Step, now: datetime, session_id: str) -> Turn:
    turn = _turn(step.said, now, session_id=session_id)
    return replace(turn, event=SetInfo(*step.write)) if step.write else turn


def _turn(text: str, now: datetime, *, session_id: str) -> Turn:
    turn_id = str(uuid.uuid4())
    return Turn(
        tenant_id="eval",
        client_id="eval",
        session_id=session_id,
        turn_id=turn_id,
        event_id=turn_id,
        text=text,
        event=event_from_text(text),
        received_at=now.astimezone(UTC),
        request_id=turn_id,
    )


def committed(served: Served) -> SessionState:
    """The session as the next turn would find it in the store: the newest lines with it, unusable model outputs counted."""
    reply, failure = served.outcome.reply, served.outcome.failure
    if reply is not None:
        lines = (*served.before.transcript, Message("user", served.turn.text), Message("assistant", reply.text))
        dialogue = replace(served.after.dialogue, invalid_turns=0)
        return replace(served.after, dialogue=dialogue, version=served.before.version + 1, transcript=lines)
    if failure is not None and failure.kind in (FailureKind.MALFORMED, FailureKind.INVALID_STAGE):
        return served.before.with_dialogue(invalid_turns=served.before.dialogue.invalid_turns + 1)
    return served.before
