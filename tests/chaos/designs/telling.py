"""Wrong designs of what is told and when, and of whose word counts."""

# pyright: reportPrivateUsage=false
# A wrong design sits in the middle of the thing it spoils.

import asyncio
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import proxy.turn_path as turn_path
from backends.langgraph.backend import LangGraphBackend
from domain.errors import Refusal
from domain.outcome import Replied, ReplyEvent, TextPiece
from domain.session import SessionState
from domain.stages import StageCode
from domain.thread_id import thread_id
from domain.turn import Turn
from proxy.turn_path import OpenTurn, Progress, TurnEvent, TurnPath
from proxy.turn_run import TurnRun

_late: set[asyncio.Task[None]] = set()


def done_before_commit() -> None:
    """The caller is told, then the turn is stored."""
    commit = TurnPath._commit

    async def told_first(self: TurnPath, open_turn: OpenTurn, replied: Replied, pieces: list[str | None]) -> int:
        async def later() -> None:
            await asyncio.sleep(0.03)
            await commit(self, open_turn, replied, pieces)

        _late.add(asyncio.create_task(later()))
        return open_turn.opened.state.version + 1

    TurnPath._commit = told_first


def retry_asks_again() -> None:
    """A retry is served by the model once more; what is told is the stored answer."""
    run = TurnPath.run

    async def asking(self: TurnPath, open_turn: OpenTurn, progress: Progress) -> AsyncGenerator[TurnEvent]:
        if open_turn.opened.stored is not None:
            turn = open_turn.request.turn
            async with aclosing(open_turn.backend.reply(replace(turn, turn_id=str(uuid.uuid4())), SessionState())) as events:
                async for _ in events:
                    pass
        async with aclosing(run(self, open_turn, progress)) as told:
            async for event in told:
                yield event

    TurnPath.run = asking


def checkpoint_is_right() -> None:
    """Where the conversation stands is taken from the graph's checkpoint, which is written before the commit."""
    reply = LangGraphBackend.reply

    async def from_checkpoint(self: LangGraphBackend, turn: Turn, session: SessionState) -> AsyncGenerator[ReplyEvent, None]:
        assert self._checkpoints is not None
        config: Any = {"configurable": {"thread_id": thread_id(turn.tenant_id, turn.session_id)}}
        kept = await self._checkpoints.saver.aget_tuple(config)
        if kept and (stage := kept.checkpoint["channel_values"].get("next_stage")):
            session = replace(session, stage=StageCode(stage))
        async with aclosing(reply(self, turn, session)) as events:
            async for event in events:
                yield event

    LangGraphBackend.reply = from_checkpoint


def errors_without_an_end() -> None:
    """A stream that fails just stops."""

    def silence(self: TurnRun, refusal: Refusal) -> bytes:
        return b""

    TurnRun._error = silence


def replay_in_one_piece() -> None:
    """A replayed stream tells the whole text at once."""
    replayed = turn_path._replayed

    def glued(stored: Any) -> list[TurnEvent]:
        events = replayed(stored)
        text = "".join(event.text for event in events if isinstance(event, TextPiece))
        return [*(event for event in events[:-1] if not isinstance(event, TextPiece)), TextPiece(text), events[-1]]

    turn_path._replayed = glued
