"""Turn FastGPT's server-sent events into reply events: what the stream means, never how it arrived.
Sans-io: feed events, get reply events; never awaits, reads no clock. A failure leaves as BackendError; what is served although it breaks
the contract is named in `violations`, without data. Unknown events and heartbeats pass unread."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import orjson

from backends.fastgpt.config import FastGptConfig
from backends.fastgpt.form import FormReader, records_within
from backends.fastgpt.refusal import error_from_payload
from backends.fastgpt.waiting import Asked, asked_by
from contract.sse import ServerSentEvent
from contract.state_prefix import BodyText, FormBlock, Irregularity, MalformedReply, PrefixEvent, StatePrefixParser, StateTag
from domain.errors import BackendError, FailureKind
from domain.events import clean_text
from domain.handoff_reason import HandoffReason, default_reason
from domain.outcome import FormChanged, Reply, StageDecided, TextPiece
from domain.session import FieldValue, SessionState
from domain.stages import StageCode
from domain.transitions import edges_between

ReplyPart = StageDecided | FormChanged | TextPiece

_DONE = "[DONE]"
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # half of a character beyond U+FFFF: a strict JSON reader refuses it when it is alone
_HALF = re.compile(r"[\ud800-\udfff]")
MAX_ANSWER_CHARS = 200_000  # ten times the longest answer that was recorded
_SHORTEST_REPEAT = 8  # characters of both halves together: 好的好的 is how people talk
_NOTHING: list[ReplyPart] = []  # shared, never changed: most events say nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedReply:
    """`rest`: the parts that only the end of the stream released. `late`: fields learnt after the form was told. They belong to the
    form from now on, but not to this reply, which a caller may already have read."""

    rest: list[ReplyPart]
    reply: Reply
    late: Mapping[str, FieldValue]
    violations: tuple[str, ...]
    model_calls: int
    asked: Asked | None = None  # a node that waits for the user's choice


class FastGptReply:
    """One answer to one turn. `now` is the turn's receive time: relative times in field values are read against it."""

    __slots__ = (
        "_answering_nodes",
        "_asked",
        "_chars",
        "_form",
        "_half",
        "_has_text",
        "_model_calls",
        "_node_failed",
        "_parser",
        "_patch",
        "_raw",
        "_session",
        "_spoken",
        "_stage",
        "_stopped",
        "_violations",
    )

    def __init__(self, config: FastGptConfig, session: SessionState, now: datetime, *, names_seen: set[str] | None = None) -> None:
        """`names_seen`: variables that this app has told before; shared by the answers of one backend."""
        self._session = session
        self._parser = StatePrefixParser()
        self._violations: dict[str, None] = {}
        self._form = FormReader(config, session.form, now, self.report, names_seen)
        self._patch: dict[str, FieldValue] | None = None  # what FormChanged said; None: not said yet
        self._stage: StageCode | None = None
        self._spoken: list[str] = []
        self._half = ""  # the first half of a character that the model cut in two
        self._has_text = False  # any text at all, tag included
        self._stopped = False
        self._node_failed = False
        self._model_calls = 0
        self._chars = 0
        self._raw: list[str] = []  # as it came, tag included
        self._asked: Asked | None = None
        self._answering_nodes: set[str] = set()

    @property
    def has_stopped(self) -> bool:
        """True once the stop chunk came: only node records may follow, and a broken connection breaks nothing any more."""
        return self._stopped

    @property
    def received(self) -> str:
        """All text so far, as it came."""
        return "".join(self._raw)

    def complete(self, text: str, variables: Mapping[str, Any], records: list[Mapping[str, Any]]) -> list[ReplyPart]:
        """Go on from what the server has stored of this very answer, instead of from a stream that is lost. `text` is the whole of it and
        begins with what was received. Raises BackendError as feed does."""
        if not text.startswith(self.received):
            raise BackendError(FailureKind.MALFORMED, "stored_otherwise")
        self._form.see_variables(variables)
        self._read_records(records)
        rest = text[len(self.received) :]
        parts = self._say(rest) if rest else _NOTHING
        self._stopped = True
        self.report("read_back")
        return parts

    def report(self, violation: str) -> None:
        self._violations[violation] = None

    def feed(self, event: ServerSentEvent) -> list[ReplyPart]:
        """Raises BackendError: an error event, an unknown stage, a reply that does not begin with a state tag, broken JSON."""
        name = event.name
        if name == "answer" or name == "fastAnswer" or name is None:
            return self._read_answer(event.data)
        if name == "updateVariables":
            self._form.see_variables(_object(event))
        elif name == "flowNodeResponse":
            self._read_records([_object(event)])
        elif name == "flowResponses":
            self._read_records(_records(event))
        elif name == "interactive":
            return self._read_question(_object(event))
        elif name == "error":
            raise error_from_payload(_object(event))
        return _NOTHING

    def read_whole(self, payload: Mapping[str, Any]) -> list[ReplyPart]:
        """An answer that came as one JSON body: never asked for, and sent all the same by whatever stands between. Fields come first, as
        nothing was told yet. Raises BackendError as feed does."""
        variables, records = payload.get("newVariables"), payload.get("responseData")
        if isinstance(variables, dict):
            self._form.see_variables(cast("Mapping[str, Any]", variables))
        if isinstance(records, list):
            self._read_records([row for row in cast("list[Any]", records) if isinstance(row, dict)])
        self._node_failed = self._node_failed or bool(payload.get("error"))
        choices = payload.get("choices")
        choice: Any = cast("list[Any]", choices)[0] if isinstance(choices, list) and choices else None
        message: Any = cast("Mapping[str, Any]", choice).get("message") if isinstance(choice, dict) else None
        content: Any = cast("Mapping[str, Any]", message).get("content") if isinstance(message, dict) else None
        self._stopped = True
        parts: list[ReplyPart] = []
        for item in cast("list[Any]", content if isinstance(content, list) else [{"text": content}]):
            row = cast("Mapping[str, Any]", item) if isinstance(item, dict) else {}
            if "interactive" in row:
                parts.extend(self._read_question(row))
            elif words := _joined([row]):
                parts.extend(self._say(words))
        return parts

    def finish(self) -> FinishedReply:
        """The body has ended. Raises BackendError: no stop chunk, no text, no state tag."""
        if not self._stopped:
            raise BackendError(FailureKind.INTERRUPTED, "no_stop")
        if not self._has_text:
            raise self._unusable(FailureKind.EMPTY)
        try:
            rest = self._parts(self._parser.finish())
        except MalformedReply as error:
            raise self._unusable(FailureKind.MALFORMED, error.reason) from error
        text = "".join(self._spoken)
        if not text.strip():
            raise self._unusable(FailureKind.EMPTY)
        if self._node_failed:
            self.report("node_failed")
        rest.extend(self._form_change())
        if _is_said_twice(text):
            self.report("answer_said_twice")
        if len(self._answering_nodes) > 1:
            self.report("two_nodes_answered")
        late = self._late_fields()
        stage, patch = self._stage, self._patch or {}
        assert stage is not None  # the parser finished, so it has seen the tag
        reply = Reply(stage=stage, text=text, patch=patch, handoff_reason=self._reason(stage, {**patch, **late}))
        violations = tuple(self._violations)
        return FinishedReply(rest=rest, reply=reply, late=late, violations=violations, model_calls=self._model_calls, asked=self._asked)

    def _read_answer(self, data: str) -> list[ReplyPart]:
        if data == _DONE:
            return _NOTHING
        payload = _json_with_halves(data)
        choices = payload.get("choices") if isinstance(payload, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return _NOTHING
        choice = cast("Mapping[str, Any]", choices[0])
        if choice.get("finish_reason"):
            self._stopped = True
        delta = choice.get("delta")
        content = delta.get("content") if isinstance(delta, dict) else None
        if isinstance(content, list):
            content = _joined(cast("list[Any]", content))
        return self._say(content) if content and isinstance(content, str) else _NOTHING

    def _read_records(self, records: list[Mapping[str, Any]]) -> None:
        for root in records:
            for record in records_within(root):
                self._node_failed = self._node_failed or has_failed(record)
                self._model_calls += "model" in record
                if speaks(record):
                    self._answering_nodes.add(str(record.get("nodeId")))
                self._form.see_record(record)

    def _read_question(self, payload: Mapping[str, Any]) -> list[ReplyPart]:
        """A node that waits for the user: its question belongs to the answer, the run state beside it does not."""
        self.report("interactive")
        kind, question = _question(payload.get("interactive"))
        self._asked = asked_by(payload.get("interactive"))
        if kind == "paymentPause":
            raise BackendError(FailureKind.REFUSED, "paymentPause")
        if not question:
            return _NOTHING
        return self._say(f"\n{question}" if self._has_text else question)

    def _say(self, text: str) -> list[ReplyPart]:
        self._has_text = True
        self._raw.append(text)
        self._chars += len(text)
        if self._chars > MAX_ANSWER_CHARS:
            raise BackendError(FailureKind.MALFORMED, "answer_without_end")
        text = self._joined_halves(text)
        try:
            return self._parts(self._parser.feed(clean_text(text)))  # what no database takes is taken out before anybody sees it
        except MalformedReply as error:
            raise self._unusable(FailureKind.MALFORMED, error.reason) from error

    def _joined_halves(self, text: str) -> str:
        """Text whose characters are whole. A half at the end waits for the next piece; one that never meets its other is dropped."""
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if not _HALF.search(text):
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")

    def _parts(self, pieces: list[PrefixEvent]) -> list[ReplyPart]:
        parts: list[ReplyPart] = []
        for piece in pieces:
            match piece:
                case BodyText(text):
                    if not self._spoken:
                        parts.extend(self._form_change())
                    self._spoken.append(text)
                    parts.append(TextPiece(text))
                case StateTag(code):
                    parts.append(StageDecided(self._decide(code)))
                case Irregularity(name):
                    self.report(name)
                case FormBlock(text):
                    self._form.see_block(text)
        return parts

    def _decide(self, code: str) -> StageCode:
        try:
            stage = self._stage = StageCode(code)
        except ValueError as error:
            raise BackendError(FailureKind.INVALID_STAGE, code) from error
        before = self._session.stage
        if not edges_between(before, stage):
            self.report(f"illegal_transition:{before or 'none'}->{stage}")
        return stage

    def _form_change(self) -> list[ReplyPart]:
        """At most once: before the first text when anything is known by then, else at the end, when everything is."""
        if self._patch is not None:
            return _NOTHING
        patch = self._form.patch()
        if not patch:
            return _NOTHING
        self._patch = patch
        return [FormChanged(patch)]

    def _late_fields(self) -> dict[str, FieldValue]:
        said = self._patch or {}
        late = {key: value for key, value in self._form.patch().items() if key not in said or said[key] != value}
        for key in late:
            self.report(f"late_field:{key}")
        return late

    def _reason(self, stage: StageCode, patch: Mapping[str, FieldValue]) -> HandoffReason | None:
        injured = patch.get("ywrysw", self._session.form.get("ywrysw"))
        if stage is StageCode.HANDOFF_COMPLEX and injured is True:
            return HandoffReason.INJURY
        return default_reason(stage)

    def _unusable(self, kind: FailureKind, note: str = "") -> BackendError:
        """Nothing to serve: a node that failed explains it better than the missing words do."""
        return BackendError(FailureKind.NODE_FAILED) if self._node_failed else BackendError(kind, note)


def speaks(record: Mapping[str, Any]) -> bool:
    """Whether a model's node gave its words to the answer. Fixed replies may stand beside them; two models' words are an accident."""
    return record.get("moduleType") == "chatNode" and bool(record.get("historyPreview")) and record.get("hideInUI") is not True


def has_failed(record: Mapping[str, Any]) -> bool:
    """Whether a node failed and its workflow did not catch it. The place of the message differs by release and node type."""
    if record.get("errorCaptured") is True:
        return False
    if record.get("error") or record.get("errorText") or record.get("httpErrorResult"):
        return True
    result = record.get("httpResult")
    return isinstance(result, dict) and bool(result.get("error"))


def _is_said_twice(text: str) -> bool:
    """Whether two nodes gave the same answer: the second half repeats the first, the line between them apart."""
    words = text.strip()
    middle, is_odd = divmod(len(words), 2)
    return (
        len(words) >= _SHORTEST_REPEAT and words[:middle].strip() == words[middle + is_odd * words[middle : middle + 1].isspace() :].strip()
    )


def _json_with_halves(data: str) -> Any:
    """JSON whose texts may hold halves of characters: what JavaScript writes when a model's piece ends inside one."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if not _ESCAPED_HALF.search(data):
            raise BackendError(FailureKind.MALFORMED, "not_json") from error
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BackendError(FailureKind.MALFORMED, "not_json") from error


def _json(data: str) -> Any:
    """JSON without halves of characters: what no database takes must not reach a form."""
    value = _json_with_halves(data)
    if not _ESCAPED_HALF.search(data):
        return value
    return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "ignore"))


def _object(event: ServerSentEvent) -> Mapping[str, Any]:
    value = _json(event.data)
    if not isinstance(value, dict):
        raise BackendError(FailureKind.MALFORMED, "not_an_object")
    return cast("Mapping[str, Any]", value)


def _records(event: ServerSentEvent) -> list[Mapping[str, Any]]:
    """A list, or the object with digit keys that a list becomes when it is spread."""
    value = _json(event.data)
    rows: list[Any] = []
    if isinstance(value, list):
        rows = cast("list[Any]", value)
    elif isinstance(value, dict):
        rows = [row for key, row in cast("Mapping[str, Any]", value).items() if key.isdigit()]
    return [row for row in rows if isinstance(row, dict)]


def _joined(content: list[Any]) -> str:
    """Content as an array of parts: {"type":"text","text":{"content":…}} or {"text":…}; other parts hold no words of the answer."""
    words: list[str] = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, dict):
            text = text.get("content")
        if isinstance(text, str):
            words.append(text)
    return "".join(words)


def _question(interactive: Any) -> tuple[str, str]:
    """Type and question of an interactive node; the real one may be nested in a loop, a tool or a child app."""
    node = interactive
    while isinstance(node, dict):
        params = node.get("params")
        child = params.get("childrenResponse") if isinstance(params, dict) else None
        if isinstance(child, dict):
            node = child
            continue
        description = params.get("description") if isinstance(params, dict) else None
        return str(node.get("type") or ""), description if isinstance(description, str) else ""
    return "", ""
