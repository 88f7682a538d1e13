"""Everything an evaluation asks, answered rightly: what a test then spoils in one place."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from domain.backend_name import BackendName
from domain.errors import BackendFailure, FailureKind
from domain.handoff_reason import HandoffReason
from domain.outcome import Outcome, Reply
from domain.session import Dialogue, SessionState
from domain.stages import StageCode
from domain.turn import Turn, UserMessage
from evals.golden import Scenario, Step, scenarios
from evals.play import Played, Probed, Seen
from evals.probes import Probe, probes
from evals.seen import Call, Served, Usage

OFFERED = tuple(code.value for code in StageCode)
USAGE = Usage(900, 40)
NOON = datetime.fromisoformat("2026-07-27T15:20:00+08:00")


def text_of(code: str, **form: Any) -> str:
    return f"<state>{code}</state><form>{json.dumps(form, ensure_ascii=False)}</form>好的。"


def call(name: str, text: str) -> Call:
    return Call(prompt_id=name, offered=OFFERED, text=text, usage=USAGE)


@cache
def right_seen() -> Seen:
    return Seen(
        probed=tuple(_probed(probe) for probe in probes()), played=tuple(_played(scenario) for scenario in scenarios()), tells_usage=True
    )


def with_alone(seen: Seen, group: str, text: str) -> Seen:
    """The model says the same wrong thing to every probe of a group."""
    spoiled = (replace(one, alone=replace(one.alone, text=text)) if one.probe.group == group else one for one in seen.probed)
    return replace(seen, probed=tuple(spoiled))


def with_after(seen: Seen, group: str, spoil: Callable[[Served], SessionState]) -> Seen:
    """The service leaves another session behind after every probe of a group."""
    spoiled = (
        replace(one, served=replace(one.served, after=spoil(one.served))) if one.probe.group == group else one for one in seen.probed
    )
    return replace(seen, probed=tuple(spoiled))


def with_calls(seen: Seen, **changes: Any) -> Seen:
    """Every call the model got alone went otherwise; those in service stay."""
    return replace(seen, probed=tuple(replace(one, alone=replace(one.alone, **changes)) for one in seen.probed))


def with_turns(seen: Seen, spoil: Callable[[Served], Served]) -> Seen:
    """Every turn of every probe went otherwise."""
    return replace(seen, probed=tuple(replace(one, served=spoil(one.served)) for one in seen.probed))


def with_played(seen: Seen, spoil: Callable[[Served], SessionState]) -> Seen:
    played = (replace(one, turns=tuple(replace(turn, after=spoil(turn)) for turn in one.turns)) for one in seen.played)
    return replace(seen, played=tuple(played))


def _probed(probe: Probe) -> Probed:
    text = text_of(*_said(probe)[:1], **_said(probe)[1])
    turn = _turn(probe.name, probe.text, probe)
    after = _after(probe)
    return Probed(
        probe=probe, alone=call(f"{probe.name}-alone", text), served=_served(turn, probe.session, after, (call(probe.name, text),))
    )


def _said(probe: Probe) -> tuple[str, dict[str, Any]]:
    code = str(probe.session.stage)
    match probe.group:
        case "injury":
            return ("0003", {"safety": "present"}) if probe.truth == "hurt" else (code, {"safety": "none"})
        case "handoff":
            return ("0001" if probe.truth == "wish" else code), {}
        case "fields":
            return code, {"fields": probe.truth}
        case "answers":
            return code, {"answer": probe.truth}
        case "times":
            return code, {"fields": {"sgfssj_text": probe.text}}
        case "counts":
            return code, {"fields": {"jdcsl": probe.truth}}


def _after(probe: Probe) -> SessionState:
    before = probe.session
    if probe.truth == "hurt":
        return ended(before, StageCode.HANDOFF_COMPLEX, HandoffReason.INJURY)
    if probe.truth == "wish":
        return ended(before, StageCode.HANDOFF_REQUESTED, HandoffReason.EXPLICIT_REQUEST)
    if probe.group == "answers" and probe.truth != "valid":
        return before.with_dialogue(clarification_counts={before.dialogue.pending_question or "": 1})
    values: Mapping[str, Any] = {}
    if probe.group == "fields":
        values = probe.truth
    if probe.group == "counts":
        values = {"jdcsl": probe.truth}
    if probe.group == "times" and not probe.truth.startswith("never "):
        values = {"sgfssj": probe.truth}
    return before.with_form(values)


def ended(before: SessionState, stage: StageCode, reason: HandoffReason) -> SessionState:
    return replace(before, stage=stage, dialogue=Dialogue(handoff_reason=reason))


def _played(scenario: Scenario) -> Played:
    session, turns = SessionState(), list[Served]()
    for number, step in enumerate(scenario.steps):
        turn = _turn(scenario.name, step.said, None)
        turns.append(_step(turn, session, step, f"{scenario.name}-{number}"))
        session = turns[-1].after
    return Played(scenario=scenario, turns=tuple(turns))


def _step(turn: Turn, session: SessionState, step: Step, name: str) -> Served:
    if step.fails:
        failure = BackendFailure(kind=FailureKind.INVALID_STAGE, note="")
        return Served(turn=turn, before=session, after=session, outcome=Outcome(backend=BackendName.LANGGRAPH, failure=failure), calls=())
    reason = HandoffReason(step.reason) if step.reason else None
    after = replace(session.with_form(step.patch), stage=StageCode(step.stage)).with_dialogue(handoff_reason=reason)  # pyright: ignore
    return _served(turn, session, after, (call(name, text_of(step.stage)),))


def _turn(name: str, text: str, probe: Probe | None) -> Turn:
    now = (probe.now if probe else NOON).astimezone(UTC)
    return Turn(
        tenant_id="t", client_id="c", session_id=name, turn_id=name, event_id=name, text=text, event=UserMessage(text), received_at=now
    )


def _served(turn: Turn, before: SessionState, after: SessionState, calls: tuple[Call, ...]) -> Served:
    assert after.stage is not None
    outcome = Outcome(backend=BackendName.LANGGRAPH, reply=Reply(stage=after.stage, text="好的。"))
    return Served(turn=turn, before=before, after=after, outcome=outcome, calls=calls)
