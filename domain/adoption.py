"""A conversation that began before this proxy stood in front of its upstream, taken over in the middle of its life.

What is known of it are its rounds (what was said, what was answered, where it then stood) and the fields the upstream holds now. Counters,
the open question and numbers said but not stored are worked out by following the rounds, exactly as if each had been served here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from domain.follow import follow
from domain.session import Form, Message, SessionState
from domain.stages import StageCode
from domain.turn import InputEvent, Turn

KEPT_ROUNDS = 3  # what a prompt may show of the past, as for any other session


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One answered turn of the upstream's own history."""

    said: str
    event: InputEvent
    stage: StageCode
    answer: str  # without its state tag
    at: datetime  # aware


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """`state.memory` names the upstream's memory, `state.version` counts the answered turns. `rounds` are the newest, oldest first."""

    state: SessionState
    rounds: tuple[Round, ...]
    build: str


def adopted_state(like: Turn, rounds: Sequence[Round], form: Form, memory: str) -> SessionState:
    """`like` gives tenant, session and policy to the turns that are followed; `form` is what the upstream holds now."""
    session = SessionState(form=form)
    for one in rounds:
        turn = replace(like, text=one.said, event=one.event, received_at=one.at)
        session = follow(session, turn, one.stage, {}, None)
    transcript = tuple(line for one in rounds[-KEPT_ROUNDS:] for line in (Message("user", one.said), Message("assistant", one.answer)))
    return replace(session, version=len(rounds), transcript=transcript, memory=memory)
