"""One stream of turn events, two renderings: a JSON answer or SSE records. Pure: events in, bytes out."""

from collections.abc import Mapping
from dataclasses import dataclass

from contract.wire import Profile, TextChunker, chat_answer, done_event, form_event, stage_event, text_event
from domain.outcome import FormChanged, StageDecided, TextPiece
from domain.session import FieldValue
from domain.stages import StageCode
from proxy.turn_path import Committed, TurnEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How this caller wants this turn told."""

    session_id: str
    need_form_update: bool
    use_text_chunk: bool
    profile: Profile


class JsonRenderer:
    """Collects a turn; `answer` is complete once Committed was fed."""

    def __init__(self, manner: Manner) -> None:
        self._manner = manner
        self._stage: StageCode | None = None
        self._patch: Mapping[str, FieldValue] = {}
        self._text: list[str] = []
        self.answer = b""

    def feed(self, event: TurnEvent) -> None:
        match event:
            case StageDecided(stage):
                self._stage = stage
            case FormChanged(patch):
                self._patch = patch
            case TextPiece(text):
                self._text.append(text)
            case Committed(version):
                assert self._stage is not None
                self.answer = chat_answer(
                    session_id=self._manner.session_id,
                    text="".join(self._text),
                    stage=self._stage,
                    patch=self._patch,
                    version=version,
                    need_form_update=self._manner.need_form_update,
                    profile=self._manner.profile,
                )


class SseRenderer:
    """Tells a turn as it happens: stage_code, formUpdate, text_delta…, done."""

    def __init__(self, manner: Manner) -> None:
        self._manner = manner
        self._chunker = TextChunker() if manner.use_text_chunk else None
        # A client that must have its form before any text waits for the text; the others never do.
        self._held: list[bytes] | None = [] if self._waits_for_form else None

    @property
    def _waits_for_form(self) -> bool:
        return self._manner.need_form_update and self._manner.profile.form_update_position == "before_text"

    def feed(self, event: TurnEvent) -> bytes:
        match event:
            case StageDecided(stage):
                return stage_event(stage)
            case FormChanged(patch):
                form = form_event(patch, self._manner.profile) if self._manner.need_form_update else b""
                return form + self._release()
            case TextPiece(text):
                return self._say(text)
            case Committed(version):
                rest = b"".join(map(text_event, self._chunker.finish())) if self._chunker else b""
                return self._release() + rest + done_event(self._manner.session_id, version)

    def _say(self, text: str) -> bytes:
        told = b"".join(map(text_event, self._chunker.feed(text))) if self._chunker else text_event(text)
        if self._held is None:
            return told
        self._held.append(told)
        return b""

    def _release(self) -> bytes:
        held, self._held = self._held or (), None
        return b"".join(held)
