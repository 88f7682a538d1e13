"""A backend that plays the events a test wrote, and waits where the test says."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

from contract.ports import Examined, HeldSession
from domain.adoption import Adopted
from domain.backend_name import BackendName
from domain.errors import BackendFailure, FailureKind
from domain.external_update import external_update
from domain.outcome import Failed, FormChanged, Outcome, Receipt, Replied, Reply, ReplyEvent, StageDecided, TextPiece
from domain.session import SessionState, patch_between
from domain.stages import StageCode
from domain.turn import SetInfo, Turn

Step = ReplyEvent | asyncio.Event | Exception


class ScriptedBackend:
    """`script(turn, session)` gives the steps: an asyncio.Event is waited for, an exception is raised, the rest is yielded."""

    def __init__(
        self,
        script: Callable[[Turn, SessionState], Sequence[Step]] | None = None,
        *,
        name: BackendName = BackendName.LANGGRAPH,
        finishes_when_abandoned: bool = False,
    ) -> None:
        self.script = script or (lambda turn, session: good_reply(turn, session, name=name))
        self.name = name
        self.finishes_when_abandoned = finishes_when_abandoned
        self.turns: list[Turn] = []
        self.sessions: list[SessionState] = []
        self.closed = 0
        self.has_no_place_for: tuple[str, ...] = ()
        self.drifts: tuple[str, ...] = ()
        self.forgotten: list[tuple[str, str]] = []

    async def reply(self, turn: Turn, session: SessionState) -> AsyncGenerator[ReplyEvent]:
        self.turns.append(turn)
        self.sessions.append(session)
        try:
            for step in self.script(turn, session):
                if isinstance(step, asyncio.Event):
                    await step.wait()
                elif isinstance(step, Exception):
                    raise step
                else:
                    yield step
        finally:
            self.closed += 1

    async def ready(self) -> str | None:
        return None

    def lost(self, session: SessionState) -> tuple[str, ...]:
        return self.has_no_place_for

    async def adopt(self, turn: Turn) -> Adopted | None:
        return None

    async def drift(self, held: HeldSession) -> tuple[str, ...]:
        return self.drifts

    async def forget(self, tenant_id: str, session_id: str, memories: Sequence[str]) -> None:
        self.forgotten.append((tenant_id, session_id))

    def describe(self) -> str:
        return "scripted"

    async def examine(self) -> Examined:
        return Examined()

    async def probe(self) -> str | None:
        return None

    async def aclose(self) -> None:
        pass


def good_reply(
    turn: Turn,
    session: SessionState,
    *,
    stage: StageCode = StageCode.COLLECTING,
    pieces: Sequence[str] = ("请问事故中", "有没有人员受伤？"),
    patch: dict[str, object] | None = None,
    name: BackendName = BackendName.LANGGRAPH,
    form_last: bool = False,
    waiting: asyncio.Event | None = None,
    receipt_of: str | None = None,
) -> list[Step]:
    if isinstance(turn.event, SetInfo):
        after = external_update(session, turn.event.key, turn.event.value, turn.received_at)
        patch, pieces, stage = patch_between(session.form, after.form), (), after.stage or stage
    else:
        after = SessionState(
            stage=stage,
            form={**session.form, **(patch or {})},
            dialogue=session.dialogue,
            version=session.version,
            transcript=session.transcript,
        )
    told = [FormChanged(patch)] if patch else []
    text = [TextPiece(piece) for piece in pieces]
    outcome = Outcome(
        backend=name,
        reply=Reply(stage=stage, text="".join(pieces), patch=patch or {}),
        receipt=Receipt(backend=name, build="test", turn_id=receipt_of or turn.turn_id),
        total_ms=1.0,
    )
    middle = [*text, *told] if form_last else [*told, *text]
    return [StageDecided(stage), *middle[:1], *([waiting] if waiting else []), *middle[1:], Replied(outcome, after)]


def bad_reply(kind: FailureKind, *before: Step, name: BackendName = BackendName.LANGGRAPH) -> list[Step]:
    return [*before, Failed(Outcome(backend=name, failure=BackendFailure(kind=kind)))]
