"""A field written from outside (/set_info): it counts as confirmed and wins over what was being dictated."""

from dataclasses import replace
from datetime import datetime

from domain.eligibility import ineligible
from domain.fields import FIELDS, accept, derive, in_order, require_consistent
from domain.policy import CAREFUL, Policy
from domain.questions import fields_of, summary_of
from domain.safety import detect, under
from domain.session import FieldValue, SessionState, patch_between
from domain.stages import StageCode


def external_update(session: SessionState, key: str, value: object, now: datetime, policy: Policy = CAREFUL) -> SessionState:
    """The session after the write; the very same object when nothing changes.

    None clears. A finished conversation takes the value and keeps its stage; a fact that rules out the online flow moves every other
    one to 0003. A danger named in the cause moves nothing yet: this call has no words, so the next turn says them. A plate is also kept
    as a candidate, so that verification reads it back.
    Raises UnknownField, FieldError (domain/fields.py).
    """
    accepted = accept(key, value, now, session.form)
    changes = derive(key, accepted, session.form)
    form = in_order({**session.form, **changes})
    changed = patch_between(session.form, form)
    alarmed = _alarmed(session, value, policy) if key == "sgyy" else session
    if not changed:
        return alarmed  # two narratives may share a label, and only one of them name somebody who is hurt
    require_consistent(form, changed)
    after = _without_dictation(replace(alarmed, form=form), key, accepted, changed)
    reason = None if session.is_terminal else ineligible(form, now, changed, policy)
    if reason is None:
        return after
    return replace(after, stage=StageCode.HANDOFF_COMPLEX).with_dialogue(pending_question=None, handoff_reason=reason)


def _alarmed(session: SessionState, value: object, policy: Policy) -> SessionState:
    """What the caller wrote, not the label it was stored as, may name somebody who is hurt. Another wording takes no alarm back."""
    found = under(policy, detect(value, None), value).reasons if isinstance(value, str) and not session.is_terminal else ()
    alarms = tuple(dict.fromkeys((*session.dialogue.alarms, *found)))
    return session if alarms == session.dialogue.alarms else session.with_dialogue(alarms=alarms)


def _without_dictation(session: SessionState, key: str, accepted: FieldValue, changed: dict[str, FieldValue]) -> SessionState:
    """Drop what was said so far about the written fields, and the summary that no longer is what was confirmed."""
    dialogue = session.dialogue
    candidates = {name: value for name, value in dialogue.candidates.items() if name not in changed}
    if key.startswith("hphm") and accepted is not None:
        candidates[key] = accepted
    pending = dialogue.pending_question
    outdated = {summary_of(FIELDS[name].party) for name in changed if FIELDS[name].party}
    return session.with_dialogue(
        partials={name: digits for name, digits in dialogue.partials.items() if name not in changed},
        candidates=candidates,
        pending_question=None if set(fields_of(pending)).intersection(changed) else pending,
        confirmed=tuple(question for question in dialogue.confirmed if question not in outdated),
        clarification_counts={
            name: count for name, count in dialogue.clarification_counts.items() if not set(fields_of(name)).intersection(changed)
        },
    )
