"""What a caller is told when something fails: one table from error type to code, HTTP status and text. No text holds the caller's data."""

from dataclasses import dataclass

import orjson

from contract.wire import Profile
from domain.errors import BackendFailure, ErrorType, FailureKind, Refusal


@dataclass(frozen=True, slots=True)
class Answer:
    """`legacy` is the HTTP status old clients know; `semantic` the one that says the same as the code. `{}` takes the refusal's detail."""

    code: str
    legacy: int
    semantic: int
    message: str
    name: str = ""  # X-Error-Type, when it is not the type's own name


ANSWERS: dict[ErrorType, Answer] = {
    ErrorType.AUTHENTICATION_FAILED: Answer("401", 401, 401, "身份认证失败"),
    ErrorType.PERMISSION_DENIED: Answer("403", 403, 403, "没有访问权限"),
    ErrorType.SESSION_NOT_FOUND: Answer("404", 200, 404, "会话不存在"),
    ErrorType.INVALID_FIELD: Answer("400", 200, 400, "{}"),
    ErrorType.INVALID_FIELD_VALUE: Answer("400", 200, 422, "{}"),
    ErrorType.INVALID_REQUEST: Answer("400", 200, 422, "请求参数错误：{}"),
    ErrorType.MALFORMED_BODY: Answer("400", 400, 400, "请求参数错误：{}", name="INVALID_REQUEST"),
    ErrorType.PAYLOAD_TOO_LARGE: Answer("413", 413, 413, "请求内容过大"),
    ErrorType.SESSION_CONFLICT: Answer("409", 200, 409, "会话正在处理中，请稍后重试"),
    ErrorType.SESSION_ERASED: Answer("410", 200, 410, "会话数据已删除"),
    ErrorType.IDEMPOTENCY_CONFLICT: Answer("409", 200, 409, "幂等键与请求内容不一致"),
    ErrorType.MODEL_UNAVAILABLE: Answer("500", 200, 503, "服务繁忙，请稍后重试"),
    ErrorType.STATE_PERSISTENCE_FAILED: Answer("500", 200, 503, "系统繁忙，请稍后重试"),
    ErrorType.INTERNAL_ERROR: Answer("500", 200, 500, "系统内部错误"),
}


@dataclass(frozen=True, slots=True)
class ErrorEnvelope:
    error_type: str
    status: int
    code: str
    message: str

    def body(self, session_id: str | None = None) -> bytes:
        row = {"code": self.code, "msg": self.message}
        return orjson.dumps(row if session_id is None else {**row, "sessionId": session_id})


def envelope(refusal: Refusal, profile: Profile) -> ErrorEnvelope:
    answer = ANSWERS[refusal.error_type]
    return ErrorEnvelope(
        error_type=answer.name or refusal.error_type,
        status=answer.legacy if profile.http_status_mode == "legacy" else answer.semantic,
        code="500" if profile.legacy_codes else answer.code,
        message=answer.message.format(refusal.detail),
    )


def refusal_of(failure: BackendFailure) -> Refusal:
    """A backend that gave no answer is "busy, try again", whatever broke; our own mistakes say so."""
    return Refusal(ErrorType.INTERNAL_ERROR if failure.kind is FailureKind.INTERNAL else ErrorType.MODEL_UNAVAILABLE)
