"""What is sent upstream for one turn: the chat it belongs to and the body of the call. Pure.
Live: the new message alone (FastGPT adds everything else it is sent to the stored history) and the fields as we know them. Shadow: a chat
nobody used before, seeded in the same call with all that the live conversation had reached."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote

from backends.fastgpt.config import FastGptConfig
from domain.events import is_blank
from domain.session import SessionState
from domain.turn import Turn

_CHINA = timezone(timedelta(hours=8), "Asia/Shanghai")
_DIGEST_CHARS = 32
STARTED = "【会话开始】"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    chat_id: str
    body: Mapping[str, Any]


def live_request(config: FastGptConfig, turn: Turn, session: SessionState, *, fresh_id: str) -> CompletionRequest:
    """The session's chat while FastGPT's memory of it is in step with ours; else a chat nobody used before, seeded like a shadow's: the
    session was served elsewhere, or a turn moved FastGPT's memory and was never committed here."""
    is_new = session.stage is None
    chat_id = chat_id_of(config, turn.tenant_id, turn.session_id)
    if session.memory is None and not (is_new and not session.loose_turns):
        chat_id = f"{chat_id}-{fresh_id}"
    elif session.memory is not None:
        chat_id = session.memory
    if session.memory is None and not is_new:
        variables, earlier = _seed(config, session)
    else:
        variables, earlier = dict(config.extra), list[dict[str, str]]()
        if config.resend_form == "always":
            variables |= _form_variables(config, session)
    if config.send_now:
        variables[config.now_variable] = china_time(turn.received_at)
    return _request(chat_id, turn.turn_id, variables, earlier, _spoken(turn))


def write_request(config: FastGptConfig, turn: Turn, after: SessionState, said: str, *, chat_id: str) -> CompletionRequest:
    """Tell the session's chat of a written field at once, in the words its workflow knows. Not streamed: nobody hears the answer."""
    request = _request(chat_id, turn.turn_id, {**config.extra, **_form_variables(config, after)}, [], said)
    return CompletionRequest(chat_id=chat_id, body={**request.body, "stream": False, "detail": False})


def shadow_request(config: FastGptConfig, turn: Turn, session: SessionState, *, fresh_id: str) -> CompletionRequest:
    """`fresh_id`: never used before. It also names the answer, because some releases refuse an answer id they have seen."""
    variables, earlier = _seed(config, session)
    variables[config.now_variable] = china_time(turn.received_at)
    return _request(f"{config.chat_id_prefix}shadow-{fresh_id}", fresh_id, variables, earlier, _spoken(turn))


def _seed(config: FastGptConfig, session: SessionState) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """All that a conversation had reached, for a chat that has no memory of it: variables and earlier messages."""
    variables: dict[str, Any] = {**config.extra, **_form_variables(config, session)}
    if session.stage is not None:
        variables[config.stage_variable] = session.stage.value
    dialogue = session.dialogue.as_json() if config.pending_variables else {}
    variables |= {name: dialogue[key] for key, name in config.pending_variables.items() if key in dialogue}
    return variables, [{"role": message.role, "content": message.text} for message in session.transcript]


def _spoken(turn: Turn) -> str:
    """A conversation may open without a word; FastGPT refuses an empty question, and its workflow knows this one."""
    return STARTED if is_blank(turn.text) else turn.text


def chat_id_of(config: FastGptConfig, tenant_id: str, session_id: str) -> str:
    """The live chat of a session. One key opens every chat of the app, so the id must not be guessable: a keyed hash of tenant and
    session, the tenant escaped so that no two pairs share a message."""
    tenant = quote(tenant_id, safe="")
    digest = hmac.digest(config.chat_secret.encode(), f"{tenant}:{session_id}".encode(), "sha256").hex()[:_DIGEST_CHARS]
    return config.chat_id_template.format(prefix=config.chat_id_prefix, digest=digest, tenant=tenant_id, session=session_id)


def china_time(moment: datetime) -> str:
    return moment.astimezone(_CHINA).strftime("%Y-%m-%d %H:%M:%S")


def _form_variables(config: FastGptConfig, session: SessionState) -> dict[str, Any]:
    """What the form holds. A field that was cleared travels as an empty text, which erases it upstream too; one that was never known
    does not travel: it would erase what the workflow may know."""
    form = session.form
    return {name: "" if form[key] is None else form[key] for key, name in config.variables.items() if key in form}


def _request(chat_id: str, answer_id: str, variables: dict[str, Any], earlier: list[dict[str, str]], text: str) -> CompletionRequest:
    """The question gets an id of its own: releases that keep both records delete one record an id."""
    question = {"dataId": f"{answer_id}-q", "role": "user", "content": text}
    body: dict[str, Any] = {"chatId": chat_id, "stream": True, "detail": True, "responseChatItemId": answer_id}
    if variables:
        body["variables"] = variables
    body["messages"] = [*earlier, question]
    return CompletionRequest(chat_id=chat_id, body=body)
