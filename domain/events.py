"""What a text means as an input: one of the clients' bracketed event strings, or something a person said.

Only a text that is one bracketed string as a whole can be an event; anything outside the brackets makes it an ordinary message, so nobody
can fake an event inside a sentence. A bracketed text that is no event is an ordinary message without its brackets.
"""

import re

from domain.rules.wording import NUMERAL, ascii_digits, normal, numeral
from domain.stages import StageCode
from domain.turn import InputEvent, NoResponse, PhotoCompleted, PhotoRecognitionFailed, SessionStarted, UserMessage

_OPENING, _CLOSING, _AFTER_CLOSING = "【[〔〖「『(（<《", "】]〕〗」』)）>》", "。.!！~ "
_COUNT = rf"(?P<count>[0-9]{{1,3}}|{NUMERAL})"
_PHOTO_DONE = re.compile(r"(?:用户|客户端)?已?(?:拍摄|拍照片|拍照)已?(?:完成|成功|完毕)(?:[:：,，]?(?P<step>2[0-9]{3}))?")
_PHOTO_FAILED = re.compile(
    rf"(?:客户端|用户)?已?(?:连续)?第?(?:{_COUNT}次)?(?:拍摄|拍照)?(?:照片)?识别(?:失败|不通过|错误)(?:[:：,，-]?(?P<reason>.*))?",
    re.DOTALL,
)
_NO_RESPONSE = re.compile(
    rf"(?:用户|客户)?(?:长时间|超时)?已?(?:连续{_COUNT}次)?(?:长时间)?(?:无|未|没有|没)(?:回复|应答|响应|回应|说话)(?:超时)?"
)
_STARTED = re.compile(r"(?:会话|对话|通话)?(?:开始|接通)|用户(?:进入|接入)")
_EVENT_WORDS = re.compile(r"拍摄|拍照|识别|回复")
_DROPPED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_MAX_REASON_CHARS = 100


def clean_text(raw: str) -> str:
    """The text without NUL, lone surrogates and control characters; line feeds and tabs stay."""
    return _DROPPED.sub("", raw)


def is_blank(text: str) -> bool:
    """True when nothing is left to see: spaces, invisible characters, nothing."""
    return not normal(text)


def event_from_text(text: str) -> InputEvent:
    """What one text of a caller means. Blank text is a started session: only the door knows whether that is allowed."""
    folded = normal(text)
    if not folded:
        return SessionStarted()
    inside = _inside(folded)
    if inside is None:
        return UserMessage(text)
    return _event(inside) or UserMessage(inside or text)


def is_unrecognised_event(text: str) -> bool:
    """A bracketed text that talks like an event and is none: worth counting, a client may have invented a variant."""
    inside = _inside(normal(text))
    return inside is not None and _event(inside) is None and _EVENT_WORDS.search(inside) is not None


def _inside(folded: str) -> str | None:
    """What stands in the brackets of a text that is one bracketed string as a whole, full stops after it apart; None for any other."""
    body = folded.rstrip(_AFTER_CLOSING)
    is_bracketed = len(body) > 1 and body[0] in _OPENING and body[-1] in _CLOSING
    return body[1:-1].strip() if is_bracketed else None


def _event(inside: str) -> InputEvent | None:
    plain = re.sub(r"\s+", "", ascii_digits(inside))
    if match := _PHOTO_DONE.fullmatch(plain):
        return _photo_completed(match["step"])
    if match := _NO_RESPONSE.fullmatch(plain):
        count = _count(match["count"])
        return None if count == 0 else NoResponse(count)
    if match := _PHOTO_FAILED.fullmatch(plain):
        count = _count(match["count"])
        return None if count == 0 else PhotoRecognitionFailed(count, _reason(match["reason"]))
    return SessionStarted() if _STARTED.fullmatch(plain) else None


def _photo_completed(step: str | None) -> InputEvent | None:
    if step is None:
        return PhotoCompleted()
    return PhotoCompleted(StageCode(step)) if step in StageCode.__members__.values() else None


def _count(text: str | None) -> int | None:
    """1 to 99; None when the text gives none; 0 when it is out of range, which makes the string an ordinary message."""
    if text is None:
        return None
    number = numeral(text)
    return number if number is not None else 0


def _reason(text: str | None) -> str:
    reason = (text or "")[:_MAX_REASON_CHARS]
    return "未说明" if reason in ("", "原因") else reason
