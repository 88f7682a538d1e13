"""Serve a turn from a FastGPT app: request (pure) → bytes (client) → meaning (answer, translate) → reply events.
One chat at a time is the session lease's care. Once sent, a turn is read to its end: the upstream's memory has moved."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx
import structlog

from backends.fastgpt.adoption import adopted_from, contradictions
from backends.fastgpt.answer import FastGptAnswer
from backends.fastgpt.chats import ChatReader
from backends.fastgpt.client import PROBE_CHAT, FastGptClient
from backends.fastgpt.config import FastGptConfig
from backends.fastgpt.examination import examined, release_family
from backends.fastgpt.recovery import Stored, may_be_stored, waits_for, whole_answer
from backends.fastgpt.request import CompletionRequest, chat_id_of, live_request, shadow_request, write_request
from backends.fastgpt.translate import FastGptReply, FinishedReply, ReplyPart
from backends.fastgpt.waiting import is_no_answer
from contract.ports import Backend, Clock, Examined, HeldSession
from domain.adoption import Adopted
from domain.backend_name import BackendName
from domain.errors import BackendError, BackendFailure, FailureKind
from domain.external_update import external_update
from domain.fields import FieldError, UnknownField
from domain.follow import follow
from domain.missed_alarms import missed_alarms
from domain.outcome import Failed, FormChanged, Outcome, Receipt, Replied, Reply, ReplyEvent, StageDecided, TextPiece
from domain.session import SessionState, patch_between
from domain.stages import StageCode
from domain.turn import SetInfo, Turn

log = structlog.get_logger(__name__)

# Where the conversation stands besides stage, form and words, and what the next turn would be decided wrongly without: a danger that was
# written and not yet acted on, numbers waiting for "yes", and how often something has failed.
_NEEDED = ("alarms", "candidates", "partials", "photo_failures", "no_response_count", "clarification_counts")


def _random_id() -> str:
    return uuid.uuid4().hex


class FastGptBackend(Backend):
    """`namespace="shadow"` replays: every turn in a fresh chat, seeded in its own call and deleted afterwards."""

    def __init__(
        self,
        config: FastGptConfig,
        transport: httpx.AsyncBaseTransport,
        clock: Clock,
        *,
        namespace: Literal["live", "shadow"] = "live",
        new_id: Callable[[], str] = _random_id,
    ) -> None:
        """Raises ValueError: a shadow without an app id could not delete its chats."""
        if namespace == "shadow" and not config.app_id:
            raise ValueError("the shadow namespace needs the app id, to delete its chats")
        self._config = config
        self._client = FastGptClient(config, transport)
        self._chats = ChatReader(self._client, config)
        self._clock = clock
        self._is_shadow = namespace == "shadow"
        self._new_id = new_id
        self._deletions: set[asyncio.Task[None]] = set()
        self._left_behind = 0
        self._names_seen: set[str] = set()

    @property
    def name(self) -> BackendName:
        return BackendName.FASTGPT

    @property
    def finishes_when_abandoned(self) -> bool:
        return True

    async def reply(self, turn: Turn, session: SessionState) -> AsyncGenerator[ReplyEvent]:
        watch = _Stopwatch(self._clock)
        if isinstance(turn.event, SetInfo):
            said = await self._told_of_write(turn, turn.event, session)
            for event in self._write_field(turn, turn.event, session, watch, said):
                yield event
            return
        request: CompletionRequest | None = None
        was_taken = True
        try:
            request = self._request(turn, session)
            reply = FastGptReply(self._config, session, turn.received_at, names_seen=self._names_seen)
            broken: BackendError | None = None
            try:
                async with self._client.completion(request.body, request_id=turn.request_id) as upstream:
                    answer = FastGptAnswer(upstream.status, reply)
                    while True:
                        try:
                            piece = await upstream.read()
                        except BackendError as error:
                            broken = error
                            break
                        if piece is None:
                            break
                        for part in answer.feed(piece):
                            watch.see(part)
                            yield part
                        if answer.has_stopped:
                            upstream.expect_end()
                finished = answer.break_off(broken) if broken else answer.finish()
            except BackendError as error:
                stored = None if self._is_shadow else await self._read_back(request, error.failure)
                if stored is None:
                    raise
                log.info("answer_read_back", turn_id=turn.turn_id, failure=error.failure.kind, note=error.failure.note)
                variables, whole = stored
                for part in reply.complete(whole.text, variables, whole.records):
                    watch.see(part)
                    yield part
                finished = reply.finish()
            for part in finished.rest:
                watch.see(part)
                yield part
            yield self._replied(turn, session, finished, watch, request.chat_id)
        except BackendError as error:
            was_taken = error.failure.kind is not FailureKind.UNREACHABLE
            yield self._failed(turn, error.failure, watch)
        except Exception as error:  # a mistake of ours is a failed turn, never a broken stream
            log.error("fastgpt_reply_crashed", error=type(error).__name__, turn_id=turn.turn_id)
            yield self._failed(turn, BackendFailure(kind=FailureKind.INTERNAL, note=type(error).__name__), watch)
        finally:
            if self._is_shadow and request is not None and was_taken:
                self._begin_deletion(request.chat_id)

    async def _read_back(self, request: CompletionRequest, failure: BackendFailure) -> tuple[Mapping[str, Any], Stored] | None:
        """The stored answer of a call whose own answer was lost, with the chat's variables; None when it is not there or not whole."""
        if not self._config.app_id or not may_be_stored(failure):
            return None
        try:
            async with asyncio.timeout(self._config.recovery_s):
                for wait in waits_for(failure):
                    await asyncio.sleep(wait)
                    records = await self._chats.records(request.chat_id)
                    details = await self._chats.details(request.chat_id, request.body["responseChatItemId"])
                    if (whole := whole_answer(request.body["responseChatItemId"], records, details)) is not None:
                        return (await self._chats.header(request.chat_id)).variables, whole
        except (BackendError, TimeoutError) as error:
            log.info("answer_not_read_back", reason=type(error).__name__)
        return None

    async def ready(self) -> str | None:
        """Nothing of ours is needed besides the settings, and without those there would be no backend."""
        return None

    async def probe(self) -> str | None:
        try:
            await self._client.check()
        except BackendError as error:
            return f"FastGPT: {error.failure.kind} ({error.failure.note})"
        return None

    async def examine(self) -> Examined:
        headers, refusal = await self._client.refused_call("v1")
        has_v2 = (await self._client.refused_call("v2"))[1] is not None
        declared = (await self._chats.header(PROBE_CHAT)).declared if self._config.app_id else None
        release = release_family(headers, refusal, has_v2=has_v2)
        return examined(self._config, release=release, has_v2=has_v2, refusal=refusal, declared=declared)

    def describe(self) -> str:
        return f"app {self._config.app_id} at {urlsplit(self._config.base_url).netloc}"

    def lost(self, session: SessionState) -> tuple[str, ...]:
        """What a fresh chat could not be told, because no variable of the workflow is known to hold it. Fields it has no variable for are
        not lost: they stay in the session, and in what /get_info tells."""
        held = session.dialogue.as_json()
        return tuple(key for key in _NEEDED if key in held and key not in self._config.pending_variables)

    async def adopt(self, turn: Turn) -> Adopted | None:
        template = self._config.adopt.get(turn.tenant_id)
        if template is None:
            return None
        chat_id = template.format(session=turn.session_id)
        header = await self._chats.header(chat_id)
        return adopted_from(self._config, turn, chat_id, header, await self._chats.records(chat_id)) if header.exists else None

    async def drift(self, held: HeldSession) -> tuple[str, ...]:
        """The chat that holds the session against it, as of its newest answer: a field written since then rides with the next call. A
        chat that is no longer trusted says nothing."""
        chat_id = held.opened.state.memory
        if chat_id is None or held.answered is None:
            return ()
        header = await self._chats.header(chat_id)
        records = await self._chats.records(chat_id) if header.exists else ()
        return contradictions(self._config, held, header, records)

    async def forget(self, tenant_id: str, session_id: str, memories: Sequence[str]) -> None:
        """Every chat that ever held the session. Raises BackendError at the first one that stays."""
        for chat_id in dict.fromkeys((chat_id_of(self._config, tenant_id, session_id), *memories)):
            await self._client.delete_chat(chat_id)

    async def aclose(self) -> None:
        """Waits for deletions under way, each of which is bounded. The transport stays its owner's."""
        if self._deletions:
            await asyncio.wait(set(self._deletions))

    def _request(self, turn: Turn, session: SessionState) -> CompletionRequest:
        if self._is_shadow:
            return shadow_request(self._config, turn, session, fresh_id=self._new_id())
        return live_request(self._config, turn, session, fresh_id=self._new_id()[:12])

    async def _told_of_write(self, turn: Turn, event: SetInfo, session: SessionState) -> tuple[str, ...]:
        """The old service's way, for workflows that need it: a call of its own in the session's chat, whose two records are deleted. What
        goes wrong there is a violation and does not cost the write: the value rides with the next call anyway."""
        said, chat_id = self._config.write_chat, session.memory
        if said is None or chat_id is None or self._is_shadow:
            return ()
        try:
            after = external_update(session, event.key, event.value, turn.received_at, turn.policy)
            request = write_request(self._config, turn, after, said, chat_id=chat_id)
            async with self._client.completion(request.body, request_id=turn.request_id) as upstream:
                while await upstream.read() is not None:
                    pass
            for data_id in (f"{turn.turn_id}-q", turn.turn_id):
                await self._client.delete_record(chat_id, data_id)
        except (BackendError, FieldError, UnknownField) as error:
            log.warning("write_chat_failed", turn_id=turn.turn_id, error=type(error).__name__)
            return ("write_chat_failed",)
        return ()

    def _write_field(
        self, turn: Turn, event: SetInfo, session: SessionState, watch: "_Stopwatch", violations: tuple[str, ...] = ()
    ) -> Iterator[ReplyEvent]:
        """A field written from outside never reaches the upstream as a turn: it rides along with the next completion."""
        try:
            after = external_update(session, event.key, event.value, turn.received_at, turn.policy)
        except (FieldError, UnknownField) as error:
            # The door refuses such values before a turn exists; here they can only be our mistake.
            yield self._failed(turn, BackendFailure(kind=FailureKind.INTERNAL, note=type(error).__name__), watch)
            return
        stage = after.stage or StageCode.NOT_READY
        patch = patch_between(session.form, after.form)
        yield StageDecided(stage)
        if patch:
            yield FormChanged(patch)
        reply = Reply(stage=stage, text="", patch=patch, handoff_reason=after.dialogue.handoff_reason)
        yield Replied(replace(self._outcome(turn, watch, reply=reply), violations=violations), after)

    def _replied(self, turn: Turn, session: SessionState, finished: FinishedReply, watch: "_Stopwatch", chat_id: str) -> Replied:
        told = finished.reply
        after = follow(session, turn, told.stage, {**told.patch, **finished.late}, told.handoff_reason)
        reply = replace(told, handoff_reason=after.dialogue.handoff_reason)
        if session.dialogue.options or finished.asked:
            after = after.with_dialogue(options=finished.asked.options if finished.asked else ())
        overheard = missed_alarms(turn, session, told.stage)
        if overheard:  # served as today, and somebody is told: this is what an alert listens for
            log.error("safety_missed", turn_id=turn.turn_id, reasons=overheard, stage_code=told.stage)
        unheard = ("answer_is_no_option",) if is_no_answer(session.dialogue.options, turn.text) else ()
        violations = (*finished.violations, *unheard, *(f"missed_safety:{reason}" for reason in overheard))
        outcome = self._outcome(turn, watch, reply=reply, memory=chat_id)
        return Replied(replace(outcome, violations=violations, model_calls=finished.model_calls), after)

    def _failed(self, turn: Turn, failure: BackendFailure, watch: "_Stopwatch") -> Failed:
        return Failed(self._outcome(turn, watch, failure=failure))

    def _outcome(
        self,
        turn: Turn,
        watch: "_Stopwatch",
        *,
        reply: Reply | None = None,
        failure: BackendFailure | None = None,
        memory: str | None = None,
    ) -> Outcome:
        return Outcome(
            backend=self.name,
            reply=reply,
            failure=failure,
            receipt=Receipt(backend=self.name, build=self._config.build, turn_id=turn.turn_id, memory=memory),
            first_text_ms=watch.first_text_ms,
            total_ms=watch.elapsed_ms(),
        )

    def _begin_deletion(self, chat_id: str) -> None:
        """Beside the reply, never before its end; the task is ours until it is done."""
        task = asyncio.get_running_loop().create_task(self._delete(chat_id))
        self._deletions.add(task)
        task.add_done_callback(self._deletions.discard)

    async def _delete(self, chat_id: str) -> None:
        try:
            await self._client.delete_chat(chat_id)
        except BackendError as error:
            self._left_behind += 1
            log.warning("shadow_chat_left_behind", kind=error.failure.kind, note=error.failure.note, left_behind=self._left_behind)
        else:
            log.debug("shadow_chat_deleted")


class _Stopwatch:
    """When the turn began, and when its first text came."""

    __slots__ = ("_begun_ms", "_now_ms", "first_text_ms")

    def __init__(self, clock: Clock) -> None:
        self._now_ms = clock.monotonic_ms
        self._begun_ms = self._now_ms()
        self.first_text_ms: float | None = None

    def see(self, part: ReplyPart) -> None:
        if self.first_text_ms is None and type(part) is TextPiece:
            self.first_text_ms = self.elapsed_ms()

    def elapsed_ms(self) -> float:
        return self._now_ms() - self._begun_ms
