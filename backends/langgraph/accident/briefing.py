"""What the model is sent for one turn: instructions, the state as JSON, a window of the conversation, the message. Pure.

Order: system (base prompt), system (turn context as JSON), the past (history.py), user (`<user>…</user>`). Identity numbers, phones
and plates never leave, whole or in pieces: they are replaced by what kind of thing they are, in the history too. So are names once they are
known; the message that tells one must hold it, or the model could not read it. Form values that are masked are sent as true.
"""

import json
from dataclasses import replace
from typing import Any

from backends.langgraph.accident.history import Secrets, history, quoted
from backends.langgraph.accident.prompts import Prompts
from backends.langgraph.model.port import ChatMessage
from domain.decision import Rejection
from domain.draft import Draft, asked_line
from domain.fields import FIELDS
from domain.judgement import allowed_next, expected_stage, if_agreed
from domain.questions import missing_facts, missing_of_party, party_of
from domain.rules.accident_time import CHINA
from domain.speech import question_line
from domain.stages import STAGES, StageCode

_WEEKDAYS = "一二三四五六日"


def briefing(draft: Draft, prompts: Prompts, rejection: Rejection | None) -> list[ChatMessage]:
    """`rejection`: why the first answer could not stand; it becomes a corrective note."""
    allowed = allowed_next(draft)
    meanings = {code.value: prompts.meanings[code.value] for code in allowed}
    listed = "、".join(f"{code}（{meaning}）" for code, meaning in meanings.items())
    who = "对方" if party_of(draft.session.stage) == 2 else "用户本人"
    base = prompts.base.replace("{allowed_next}", listed).replace("{phase_note}", prompts.phase_note(draft.stage, who=who))
    secrets = _secrets(draft)
    context = _context(draft, prompts, secrets, allowed, meanings)
    if rejection is not None:
        context["retry_note"] = prompts.retry.format(
            reason=rejection.reason, allowed_next="、".join(meanings), missing="、".join(rejection.missing) or "无"
        )
    return [
        {"role": "system", "content": base},
        {"role": "system", "content": json.dumps(context, ensure_ascii=False, separators=(",", ":"))},
        *history(draft.session.transcript, secrets),
        {"role": "user", "content": f"<user>{quoted(draft.text, replace(secrets, names=frozenset()))}</user>"},
    ]


def _context(draft: Draft, prompts: Prompts, secrets: Secrets, allowed: tuple[StageCode, ...], meanings: dict[str, str]) -> dict[str, Any]:
    session, party = draft.session, party_of(draft.session.stage)
    now = draft.turn.received_at.astimezone(CHINA)
    onward = if_agreed(draft)
    asked = question_line(draft.pending, session.stage, session.form, session.dialogue)
    return {
        "stage": draft.stage.value,
        "stage_name": STAGES[draft.stage].name,
        "allowed_next": meanings,
        "known": {key: _shown(key, value) for key, value in session.form.items() if value is not None},
        "missing": list(missing_of_party(party, draft.form) if party else missing_facts(draft.form)),
        "pending_question": {
            "id": draft.pending,
            "text": quoted(prompts.render((asked,)), secrets),
            "unclear_count": session.dialogue.clarification_counts.get(draft.pending or "", 0),
        },
        "extracted_this_turn": {key: _shown(key, value) for key, value in draft.changed().items()},
        "now": f"{now:%Y-%m-%d %H:%M} 周{_WEEKDAYS[now.weekday()]}",
        "next_question": quoted(prompts.render((asked_line(onward, expected_stage(onward, allowed)),)), secrets),
    }


def _secrets(draft: Draft) -> Secrets:
    known = [*draft.form.items(), *draft.session.form.items(), *draft.session.dialogue.candidates.items()]
    names = {value for key, value in known if key.startswith("xm") and isinstance(value, str) and value}
    return Secrets(names=frozenset(names), has_pieces=bool(party_of(draft.session.stage)))


def _shown(key: str, value: object) -> object:
    return True if FIELDS[key].is_masked else value
