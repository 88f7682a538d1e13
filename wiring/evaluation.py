"""The subject of an evaluation: the LangGraph backend with its real HTTP client, and a tape between the two.

Without a model's address the scripted model is started as a process of its own; its deliberate mistakes are set in that process's
environment (SIM_MODEL_MISTAKES). No database: the graph needs none to decide.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backends.langgraph.accident.briefing import briefing
from backends.langgraph.accident.prompts import load_prompts
from backends.langgraph.backend import LangGraphBackend
from backends.langgraph.model.port import ChatMessage, ChatModel, TokenUse
from domain.draft import Draft
from domain.errors import BackendError
from domain.extraction import Extraction
from domain.fields import in_order
from domain.outcome import Failed, Replied
from domain.safety import SafetyFinding
from domain.session import SessionState
from domain.turn import Turn
from evals.seen import Call, Served, Usage
from wiring.backends import chat_model
from wiring.clock import FixedClock
from wiring.processes import Children
from wiring.settings import LlmSettings, Settings

SIMULATED = "sim-accident"  # the name of the model when none is configured

NEVER = 1_000_000  # failures in a row before the breaker opens: here every call is an observation, the ones after a bad spell too


class ModelUnreachable(Exception):
    """The model cannot be asked at all; the message is for an operator."""


@dataclass(slots=True, kw_only=True)
class _Recording:
    """One call while it runs."""

    messages: Sequence[ChatMessage]
    is_scripted: bool
    pieces: list[str] = field(default_factory=list[str])
    failure: str = ""
    usage: Usage | None = None

    def keep(self, piece: str | TokenUse) -> None:
        if isinstance(piece, TokenUse):
            self.usage = Usage(piece.prompt_tokens, piece.completion_tokens)
        else:
            self.pieces.append(piece)

    def call(self) -> Call:
        return Call(
            prompt_id=hashlib.sha256(json.dumps(self.messages, ensure_ascii=False).encode()).hexdigest()[:16],
            offered=_offered(self.messages),
            text="".join(self.pieces),
            failure=self.failure,
            usage=self.usage,
            is_scripted=self.is_scripted,
        )


class TapedModel:
    """Implements ChatModel around another one. Calls are kept by request id until they are taken."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._recordings: defaultdict[str, list[_Recording]] = defaultdict(list)
        self._scripts: dict[str, list[str]] = {}

    def script(self, request_id: str, replies: Sequence[str]) -> None:
        """Answer the next calls of this request with these; without any left the model is asked."""
        self._scripts[request_id] = list(replies)

    def taken(self, request_id: str) -> tuple[Call, ...]:
        self._scripts.pop(request_id, None)
        return tuple(one.call() for one in self._recordings.pop(request_id, []))

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def host(self) -> str:
        return self._model.host

    async def stream(self, messages: Sequence[ChatMessage], *, request_id: str) -> AsyncGenerator[str | TokenUse, None]:
        script = self._scripts.get(request_id)
        recording = _Recording(messages=messages, is_scripted=bool(script))
        self._recordings[request_id].append(recording)
        if script:
            recording.pieces.append(script.pop(0))
            yield recording.pieces[0]
            return
        try:
            async with aclosing(self._model.stream(messages, request_id=request_id)) as pieces:
                async for piece in pieces:
                    recording.keep(piece)
                    yield piece
        except BackendError as error:
            recording.failure = error.failure.kind
            raise

    async def probe(self) -> str | None:
        return await self._model.probe()

    async def aclose(self) -> None:
        await self._model.aclose()


class GraphSubject:
    """Implements evals.seen.Subject."""

    def __init__(self, model: ChatModel, *, tells_usage: bool, **backend: Any) -> None:
        self.tells_usage = tells_usage
        self._tape = TapedModel(model)
        # The clock only times the turns: what they decide by is their own receive time.
        self._backend = LangGraphBackend(self._tape, None, FixedClock(datetime.now(UTC)), **backend)

    async def serve(self, turn: Turn, session: SessionState, *, scripted: Sequence[str] = ()) -> Served:
        self._tape.script(turn.request_id, scripted)
        end = [event async for event in self._backend.reply(turn, session)][-1]
        assert isinstance(end, Replied | Failed)
        after = end.after if isinstance(end, Replied) else session
        return Served(turn=turn, before=session, after=after, outcome=end.outcome, calls=self._tape.taken(turn.request_id))

    async def ask(self, turn: Turn, session: SessionState) -> Call:
        request_id = f"{turn.request_id}-alone"
        try:
            async with aclosing(self._tape.stream(briefing(_unread(turn, session), load_prompts(), None), request_id=request_id)) as pieces:
                async for _ in pieces:
                    pass
        except BackendError:
            pass  # the tape has it
        return self._tape.taken(request_id)[0]

    async def aclose(self) -> None:
        await self._backend.aclose()


def _unread(turn: Turn, session: SessionState) -> Draft:
    """The message as if code had found nothing in it: the model has to find everything by itself."""
    return Draft(
        session=session,
        turn=turn,
        finding=SafetyFinding(),
        extraction=Extraction(),
        form=in_order(session.form),
        dialogue=session.dialogue,
        is_affirmative=None,
    )


def _offered(messages: Sequence[ChatMessage]) -> tuple[str, ...]:
    """The codes the prompt allows, as the model was told."""
    for message in messages:
        if message["role"] == "system" and message["content"].startswith("{"):
            return tuple(json.loads(message["content"])["allowed_next"])
    return ()


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A subject that is ready, and the name of its model for the report."""

    subject: GraphSubject
    model: str


@asynccontextmanager
async def open_subject(settings: Settings, log_dir: Path) -> AsyncGenerator[Evaluated]:
    """Raises MissingSetting, ChildFailed, ModelUnreachable."""
    async with Children(log_dir) as children:
        llm = settings.llm if settings.llm.base_url else await _simulated(settings, children)
        model = chat_model(llm.model_copy(update={"breaker_failures": NEVER}))
        subject = GraphSubject(model, tells_usage=llm.tells_use, on_invalid=settings.langgraph.on_invalid_prefix)
        try:
            if problem := await model.probe():
                raise ModelUnreachable(problem)
            yield Evaluated(subject, model.name)
        finally:
            await subject.aclose()


async def _simulated(settings: Settings, children: Children) -> LlmSettings:
    started = await children.start("sim-model", "sim.model", "--port", "0")
    url = f"http://127.0.0.1:{started['port']}/v1"
    return LlmSettings.model_validate(settings.llm.model_dump() | {"base_url": url, "api_key": "sim", "model": SIMULATED})
