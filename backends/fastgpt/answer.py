"""The body of one completions call, cut anywhere: bytes in, reply events out. Joins the look at the first bytes, the event decoder and
the translation. Sans-io: never awaits. Failures leave as BackendError."""

from backends.fastgpt.refusal import LONGEST_START, MAX_BODY_BYTES, BodyKind, error_from_body, json_object, kind_of_body
from backends.fastgpt.translate import FastGptReply, FinishedReply, ReplyPart
from contract.sse import MalformedStream, SseDecoder
from domain.errors import BackendError, FailureKind

MAX_ANSWER_BYTES = 4 * 1024 * 1024  # one JSON body with all node records; the longest one recorded has some hundred KiB


class FastGptAnswer:
    """Feed the body's bytes, then finish() once it ended, or break_off() when the connection did."""

    __slots__ = ("_body", "_decoder", "_held", "_is_json", "_is_stream", "_reply", "_status")

    def __init__(self, status: int, reply: FastGptReply) -> None:
        self._status = status
        self._reply = reply
        self._decoder = SseDecoder()
        self._held: bytes | None = b""  # the first bytes, until they tell what the body is
        self._is_stream = self._is_json = False
        self._body = b""  # of a body that is no stream

    @property
    def has_stopped(self) -> bool:
        return self._reply.has_stopped

    def feed(self, piece: bytes) -> list[ReplyPart]:
        """Raises BackendError."""
        if self._held is not None:
            self._held += piece
            if len(self._held.lstrip()) < LONGEST_START and len(self._held) < MAX_BODY_BYTES:
                return []
            piece = self._look_at(self._held)
        if self._is_stream:
            return self._translate(piece)
        if len(self._body) < (MAX_ANSWER_BYTES if self._is_json else MAX_BODY_BYTES):
            self._body += piece
            return []
        raise error_from_body(self._status, self._body)

    def finish(self) -> FinishedReply:
        """Raises BackendError. A last event without its blank line counts if it is whole; if not, the body was cut inside it."""
        rest: list[ReplyPart] = []
        if self._held is not None:  # a body shorter than the first look
            head = self._look_at(self._held)
            if self._is_stream:
                rest.extend(self._translate(head))
            else:
                self._body = head
        if self._is_stream:
            rest.extend(self._last_events())
        else:
            rest.extend(self._whole_answer())
        finished = self._reply.finish()
        finished.rest[:0] = rest
        return finished

    def break_off(self, failure: BackendError) -> FinishedReply:
        """The connection failed. After the stop chunk the answer stands, though node records may be missing; before it: raises."""
        if not self._reply.has_stopped:
            raise failure
        self._reply.report("tail_lost")
        return self._reply.finish()

    def _look_at(self, head: bytes) -> bytes:
        """Decide what the body is; the bytes to go on with."""
        self._held = None
        kind = kind_of_body(head)
        self._is_stream, self._is_json = kind is BodyKind.STREAM, kind is BodyKind.JSON
        return head.removeprefix(b"\xef\xbb\xbf") if self._is_stream else head

    def _whole_answer(self) -> list[ReplyPart]:
        """The parts of an answer in one JSON body. Raises BackendError: it is none."""
        payload = json_object(self._body)
        if payload is None or not isinstance(payload.get("choices"), list):
            raise error_from_body(self._status, self._body)
        return self._reply.read_whole(payload)

    def _translate(self, piece: bytes) -> list[ReplyPart]:
        try:
            events = self._decoder.feed(piece)
        except MalformedStream as error:
            raise BackendError(FailureKind.MALFORMED, str(error)) from error
        parts: list[ReplyPart] = []
        for event in events:
            parts.extend(self._reply.feed(event))
        return parts

    def _last_events(self) -> list[ReplyPart]:
        parts: list[ReplyPart] = []
        try:
            for event in self._decoder.finish():
                parts.extend(self._reply.feed(event))
        except MalformedStream:
            self._reply.report("tail_lost")
        except BackendError as error:
            if error.failure.kind is not FailureKind.MALFORMED or error.failure.note != "not_json":
                raise
            self._reply.report("tail_lost")
        return parts
