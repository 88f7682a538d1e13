"""The partners' wire: bodies of /chat, /set_info and /get_info, their answers, and the SSE events of a streamed turn.

This is the one module that knows the legacy bytes. They are an inference from the founding plan, so what real partners may prove wrong is
a switch of `Profile`, chosen for each client. JSON is compact UTF-8 without escapes; key order is the order written here.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, cast

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator, with_config

from contract.sse import encode_event
from domain.errors import ErrorType, Refusal
from domain.events import clean_text
from domain.fields import FIELDS, GROUPS, unknown_field
from domain.session import FieldValue, Form
from domain.stages import STAGES, StageCode

MAX_TEXT_CHARS = 2000
NOT_AN_OBJECT = "请求体不是合法的JSON对象"
BLANK_TEXT = "text不能为空"


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How one client's envelopes differ from the default (docs/contract.md)."""

    http_status_mode: Literal["legacy", "semantic"] = "legacy"  # legacy: business errors travel in HTTP 200
    legacy_codes: bool = False  # every error code becomes "500"
    form_update_shape: Literal["flat", "grouped"] = "flat"
    form_update_position: Literal["when_known", "before_text"] = "when_known"
    legacy_events: bool = True  # bracketed event strings are events, not text

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> "Profile":
        """Unknown switches are refused by the operator's command that stores them, so here they cannot occur."""
        return Profile(**row)


# --- requests ---------------------------------------------------------------------------------------------------------------------------


def _text_of_number(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


SessionId = Annotated[str, BeforeValidator(_text_of_number), Field(pattern=r"^[A-Za-z0-9._:-]{1,64}$")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=False, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        keep = {"value"}  # /set_info: a null value clears a field
        return {key: value for key, value in cast("dict[str, Any]", row).items() if value is not None or key in keep}


class ChatBody(_Body):
    session_id: SessionId = Field(alias="sessionId")
    text: str
    need_form_update: bool = Field(default=False, alias="needFormUpdate")
    use_text_chunk: bool = Field(default=False, alias="useTextChunk")
    event_id: str | None = Field(default=None, alias="eventId", pattern=r"^[A-Za-z0-9._:-]{1,128}$")


class SetInfoBody(_Body):
    session_id: SessionId = Field(alias="sessionId")
    key: str = Field(min_length=1, max_length=64)
    value: Any


class GetInfoBody(_Body):
    session_id: SessionId = Field(alias="sessionId")
    key: str = Field(min_length=1, max_length=64)


Body = TypeVar("Body", bound=_Body)

_LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def object_from_bytes(body: bytes) -> dict[str, Any]:
    """The JSON object of a request. Raises Refusal(MALFORMED_BODY): no JSON, no object, not UTF-8, or nested beyond reason."""
    try:
        row = orjson.loads(body)
    except orjson.JSONDecodeError:
        row = _object_with_surrogates(body)
    if not isinstance(row, dict):
        raise Refusal(ErrorType.MALFORMED_BODY, NOT_AN_OBJECT)
    return cast("dict[str, Any]", row)


def _object_with_surrogates(body: bytes) -> Any:
    r"""Half of a \ud83d\ude00 pair is legal JSON that orjson refuses; callers cut texts in the middle of an emoji. The standard library
    reads it; what to do with the half is the field's business (clean_text drops it, a session id with one is none)."""
    if not _LONE_SURROGATE.search(body):
        raise Refusal(ErrorType.MALFORMED_BODY, NOT_AN_OBJECT)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(ErrorType.MALFORMED_BODY, NOT_AN_OBJECT) from None


def body_from_object(model: type[Body], row: Mapping[str, Any]) -> Body:
    """Raises Refusal(INVALID_REQUEST) naming the first field at fault and nothing of its value."""
    try:
        return model.model_validate(row)
    except ValidationError as error:
        place = error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"]
        raise Refusal(ErrorType.INVALID_REQUEST, str(place[0]) if place else "") from None


def text_from_body(body: ChatBody) -> str:
    """The cleaned text, perhaps blank. Raises Refusal(INVALID_REQUEST) when it is longer than MAX_TEXT_CHARS."""
    text = clean_text(body.text)
    if len(unicodedata.normalize("NFKC", text)) > MAX_TEXT_CHARS:
        raise Refusal(ErrorType.INVALID_REQUEST, "text")
    return text


def value_from_body(body: SetInfoBody) -> object:
    """The value of /set_info, JSON-decoded once when it is JSON text, else as it is. Raises Refusal for objects and arrays."""
    value = body.value
    if isinstance(value, str):
        value = clean_text(value)
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    if isinstance(value, (dict, list)):
        label = FIELDS[body.key].label if body.key in FIELDS else body.key
        raise Refusal(ErrorType.INVALID_FIELD_VALUE, f"{label}类型不正确")
    return clean_text(value) if isinstance(value, str) else value


# --- answers ----------------------------------------------------------------------------------------------------------------------------


def chat_answer(
    *, session_id: str, text: str, stage: StageCode, patch: Form, version: int, need_form_update: bool, profile: Profile
) -> bytes:
    return orjson.dumps(
        {
            "code": "200",
            "msg": "success",
            "sessionId": session_id,
            "outputText": text,
            "nextStageCode": stage,
            "nextStageName": STAGES[stage].name,
            "formUpdate": form_update(patch, profile) if need_form_update else {},
            "stateVersion": version,
        }
    )


SET_INFO_ANSWER = b'{"code":"200","msg":"success"}'


def get_info_answer(value: object) -> bytes:
    """`value` travels as JSON inside a JSON string."""
    return orjson.dumps({"code": "200", "msg": "success", "value": orjson.dumps(value).decode()})


def info_value(form: Form, key: str) -> object:
    """What /get_info tells of a key: `all`, a group or one field. Raises Refusal(INVALID_FIELD)."""
    if key == "all":
        return {group: _group(form, group) for group in GROUPS}
    if key in GROUPS:
        return _group(form, key)
    if key in FIELDS:
        return form.get(key)
    raise Refusal(ErrorType.INVALID_FIELD, str(unknown_field(key)))


def _group(form: Form, group: str) -> dict[str, FieldValue]:
    return {key: form.get(key) for key in GROUPS[group]}


def form_update(patch: Form, profile: Profile) -> dict[str, Any]:
    ordered = {key: patch[key] for key in FIELDS if key in patch}
    if profile.form_update_shape == "flat":
        return dict(ordered)
    grouped = {group: {key: ordered[key] for key in keys if key in ordered} for group, keys in GROUPS.items()}
    return {group: fields for group, fields in grouped.items() if fields}


# --- streamed answers -------------------------------------------------------------------------------------------------------------------


def stage_event(stage: StageCode) -> bytes:
    return encode_event("stage_code", orjson.dumps({"nextStageCode": stage, "nextStageName": STAGES[stage].name}))


def form_event(patch: Form, profile: Profile) -> bytes:
    return encode_event("formUpdate", orjson.dumps({"formUpdate": form_update(patch, profile)}))


def text_event(text: str) -> bytes:
    return encode_event("text_delta", orjson.dumps({"text": text}))


def done_event(session_id: str, version: int) -> bytes:
    return encode_event("done", orjson.dumps({"code": "200", "msg": "success", "sessionId": session_id, "stateVersion": version}))


def error_event(code: str, message: str) -> bytes:
    return encode_event("error", orjson.dumps({"code": code, "msg": message}))


_CHUNK_ENDS = frozenset("。！？；，\n")
_CHUNK_CHARS = 40


class TextChunker:
    """Cuts running text for speech synthesis: after a mark, or at 40 characters. Cuts depend on the text alone."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> Sequence[str]:
        chunks: list[str] = []
        for char in text:
            self._held += char
            if char in _CHUNK_ENDS or len(self._held) == _CHUNK_CHARS:
                chunks.append(self._held)
                self._held = ""
        return chunks

    def finish(self) -> Sequence[str]:
        held, self._held = self._held, ""
        return [held] if held else []
