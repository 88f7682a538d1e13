"""The lines of the scorecard: what each one counts, and how good it has to be. LINES is the registry, in the order of the report.

A line turns what was seen into marks, one an observation. `whose` says who is judged: the model (what it said), the service (what became
of it), or both at once (golden conversations, cost). Thresholds and their reasons: docs/adr/0019-a-model-is-judged-alone-and-in-service.md.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from domain.fields import FIELDS, FieldError, accept
from domain.handoff_reason import HandoffReason
from domain.proposal import SPOKEN_TIME
from domain.questions import QuestionId
from domain.rules.accident_time import read_time, wire_time
from domain.session import FieldValue
from domain.stages import StageCode
from domain.transitions import edges_between
from domain.turn import UserMessage
from evals.golden import Scenario, Step
from evals.play import Played, Probed, Seen
from evals.probes import Group
from evals.saying import Saying, saying
from evals.seen import Served

Whose = Literal["model", "service", "both"]

CALLS_A_TURN = 1  # the second call repairs an answer that could not stand
TOKENS_A_TURN = 2500  # prompt and reply, all calls of the turn

_MISSING = object()
_OWN_LINE = frozenset({"jdcsl", SPOKEN_TIME})  # fields that have a line of their own


@dataclass(frozen=True, slots=True)
class Mark:
    """One observation. `what` names it in the list of misses: the probe's words and what came of them."""

    is_hit: bool
    what: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """`threshold` is the least share of hits, 0 to 1. `needs_usage`: left unjudged where the model's client cannot tell tokens at all."""

    name: str
    whose: Whose
    threshold: float
    marks: Callable[[Seen], Iterator[Mark]]
    needs_usage: bool = False


def _of(seen: Seen, group: Group) -> Iterator[tuple[Probed, Saying]]:
    return ((one, saying(one.alone)) for one in seen.probed if one.probe.group == group)


def _is_alarm(said: Saying) -> bool:
    return said.proposal is not None and (said.proposal.safety == "present" or said.proposal.code == StageCode.HANDOFF_COMPLEX)


def _heard(one: Probed, said: Saying, is_hit: bool) -> Mark:
    return Mark(is_hit, f"{one.probe.text} → {said.brief()}")


def _served(one: Probed, is_hit: bool) -> Mark:
    turn = one.served
    told = turn.outcome.failure.kind if turn.outcome.failure else turn.after.stage
    return Mark(is_hit, f"{one.probe.text} → {told}, open question {turn.after.dialogue.pending_question}")


# ---- injuries and wishes for a person -----------------------------------------------------------------------------------------------


def _injury_recall_model(seen: Seen) -> Iterator[Mark]:
    return (_heard(one, said, _is_alarm(said)) for one, said in _of(seen, "injury") if one.probe.truth == "hurt")


def _injury_calm_model(seen: Seen) -> Iterator[Mark]:
    for one, said in _of(seen, "injury"):
        if one.probe.truth == "calm":
            is_doubting = said.proposal is None or said.proposal.safety == "suspected"
            yield _heard(one, said, not _is_alarm(said) and not is_doubting)


def _injury_recall_service(seen: Seen) -> Iterator[Mark]:
    for one, _ in _of(seen, "injury"):
        if one.probe.truth == "hurt":
            dialogue = one.served.after.dialogue
            told = {dialogue.handoff_reason, *dialogue.secondary_reasons} & {HandoffReason.INJURY, HandoffReason.SAFETY_UNCERTAIN}
            yield _served(one, bool(told) or dialogue.pending_question == QuestionId.CONFIRM_INJURY)


def _injury_never_cleared(seen: Seen) -> Iterator[Mark]:
    """Worse than a miss: a hurt person on record as unhurt because of this very message."""
    for one, _ in _of(seen, "injury"):
        if one.probe.truth == "hurt":
            before, after = one.served.before.form.get("ywrysw"), one.served.after.form.get("ywrysw")
            yield _served(one, not (after is False and before is not False))


def _injury_calm_service(seen: Seen) -> Iterator[Mark]:
    return (_served(one, _goes_on(one.served)) for one, _ in _of(seen, "injury") if one.probe.truth == "calm")


def _goes_on(turn: Served) -> bool:
    return turn.outcome.reply is not None and not turn.after.is_terminal


def _handoff_recall_model(seen: Seen) -> Iterator[Mark]:
    for one, said in _of(seen, "handoff"):
        if one.probe.truth == "wish":
            yield _heard(one, said, said.proposal is not None and said.proposal.code == StageCode.HANDOFF_REQUESTED)


def _handoff_calm_model(seen: Seen) -> Iterator[Mark]:
    for one, said in _of(seen, "handoff"):
        if one.probe.truth == "calm":
            yield _heard(one, said, said.proposal is not None and said.proposal.code != StageCode.HANDOFF_REQUESTED)


def _handoff_recall_service(seen: Seen) -> Iterator[Mark]:
    for one, _ in _of(seen, "handoff"):
        if one.probe.truth == "wish":
            yield _served(one, one.served.after.stage is StageCode.HANDOFF_REQUESTED)


def _handoff_calm_service(seen: Seen) -> Iterator[Mark]:
    return (_served(one, _goes_on(one.served)) for one, _ in _of(seen, "handoff") if one.probe.truth == "calm")


# ---- what was said ------------------------------------------------------------------------------------------------------------------


def _fields_model(seen: Seen) -> Iterator[Mark]:
    """Every field that was said, and every field the model claims: a field left out, changed or made up is a miss."""
    for one, said in _of(seen, "fields"):
        claimed = {} if said.proposal is None else {key: value for key, value in said.proposal.fields.items() if key not in _OWN_LINE}
        for key in sorted({*one.probe.truth, *claimed}):
            want, got = one.probe.truth.get(key, _MISSING), _accepted(key, claimed.get(key, _MISSING), one)
            yield Mark(_is_same(want, got), f"{one.probe.text} {key} → {said.brief()}")


def _accepted(key: str, raw: object, one: Probed) -> object:
    if raw is _MISSING or key not in FIELDS:
        return raw
    try:
        return accept(key, raw, one.probe.now)
    except FieldError:
        return _MISSING


def _is_same(want: object, got: object) -> bool:
    return type(want) is type(got) and want == got


def _fields_service(seen: Seen) -> Iterator[Mark]:
    """Stored, or waiting for the speaker's "yes"."""
    for one, _ in _of(seen, "fields"):
        for key, want in one.probe.truth.items():
            yield Mark(any(_is_same(want, got) for got in _known(one, key)), f"{one.probe.text} {key} → {_known(one, key)}")


def _known(one: Probed, key: str) -> list[FieldValue]:
    after = one.served.after
    return [value for value in (after.form.get(key), after.dialogue.candidates.get(key)) if value is not None]


def _answers_model(seen: Seen) -> Iterator[Mark]:
    for one, said in _of(seen, "answers"):
        yield _heard(one, said, said.proposal is not None and said.proposal.answer == one.probe.truth)


def _answers_service(seen: Seen) -> Iterator[Mark]:
    """An answer that brings nothing is counted against the open question, one that answers is not."""
    for one, _ in _of(seen, "answers"):
        asked = one.served.before.dialogue.pending_question or ""
        is_counted = one.served.after.dialogue.clarification_counts.get(asked, 0) > 0
        yield _served(one, one.served.outcome.reply is not None and is_counted == (one.probe.truth != "valid"))


def _times_model(seen: Seen) -> Iterator[Mark]:
    """The model repeats the words, code reads them: right when they mean what the speaker meant."""
    for one, said in _of(seen, "times"):
        words = said.proposal.fields.get(SPOKEN_TIME) if said.proposal else None
        reading = read_time(words, one.probe.now) if isinstance(words, str) else None
        is_right = reading is not None and not reading.needs_hour and wire_time(reading.when) == one.probe.truth.removeprefix("never ")
        yield _heard(one, said, is_right)


def _times_service(seen: Seen) -> Iterator[Mark]:
    """Stored or said back for a "yes"; a time that has not come yet is neither."""
    for one, _ in _of(seen, "times"):
        known = _known(one, "sgfssj")
        is_right = not known if one.probe.truth.startswith("never ") else one.probe.truth in known
        yield Mark(is_right and one.served.outcome.reply is not None, f"{one.probe.text} → {known}")


def _counts_model(seen: Seen) -> Iterator[Mark]:
    for one, said in _of(seen, "counts"):
        yield _heard(one, said, said.proposal is not None and _is_same(one.probe.truth, said.proposal.fields.get("jdcsl")))


def _counts_service(seen: Seen) -> Iterator[Mark]:
    for one, _ in _of(seen, "counts"):
        known = _known(one, "jdcsl")
        yield Mark(one.probe.truth in known, f"{one.probe.text} → {known}")


# ---- the form of the answers --------------------------------------------------------------------------------------------------------


def _answered(seen: Seen) -> Iterator[Mark]:
    return (Mark(not call.failure, call.failure) for call in seen.calls)


def _prefixes(seen: Seen) -> Iterator[Mark]:
    for call in seen.calls:
        if not call.failure:
            said = saying(call)
            yield Mark(said.proposal is not None, f"{said.problem}: {call.text[:40]}")


def _forms(seen: Seen) -> Iterator[Mark]:
    for call in seen.calls:
        said = saying(call)
        if said.proposal is not None and said.has_form:
            yield Mark(not said.proposal.is_form_invalid, call.text[:80])


def _proposals(seen: Seen) -> Iterator[Mark]:
    for call in seen.calls:
        said = saying(call)
        if said.proposal is not None:
            yield Mark(said.proposal.code in call.offered, f"{said.proposal.code}, offered {' '.join(call.offered)}")


def _steps_service(seen: Seen) -> Iterator[Mark]:
    """Every committed step is an edge of the table of stages."""
    for turn in seen.turns:
        if turn.outcome.reply is not None and turn.after.stage is not None:
            is_legal = bool(edges_between(turn.before.stage, turn.after.stage))
            yield Mark(is_legal, f"{turn.turn.session_id}: {turn.before.stage} → {turn.after.stage}")


# ---- whole conversations, and their price -------------------------------------------------------------------------------------------


def _golden_paths(seen: Seen) -> Iterator[Mark]:
    """A conversation counts when every turn of it led to the written stage, for the written reason."""
    for played in seen.played:
        wrong = next((told for step, turn in _turns(played) if (told := _off_path(step, turn))), "")
        yield Mark(not wrong, f"{played.scenario.name}: {wrong}")


def _off_path(step: Step, turn: Served) -> str:
    if step.fails:
        return "" if turn.outcome.failure else f"{step.said} did not fail"
    if turn.outcome.failure:
        return f"{step.said} failed: {turn.outcome.failure.kind}"
    if turn.after.stage != step.stage:
        return f"{step.said or step.write} → {turn.after.stage}, not {step.stage}"
    if step.reason and turn.after.dialogue.handoff_reason != step.reason:
        return f"{step.said or step.write} → {turn.after.dialogue.handoff_reason}, not {step.reason}"
    return ""


def _golden_fields(seen: Seen) -> Iterator[Mark]:
    for played in seen.played:
        for step, turn in _turns(played):
            for key, want in step.patch.items():
                is_masked = FIELDS[key].is_masked
                got = turn.after.form.get(key)
                yield Mark(_is_same(want, got), f"{played.scenario.name}: {key} is {'another value' if is_masked else got}")


def _turns(played: Played) -> Iterator[tuple[Step, Served]]:
    scenario: Scenario = played.scenario
    return zip(scenario.steps, played.turns, strict=True)


def _spoken_turns(seen: Seen) -> Iterator[Served]:
    """Turns in which a person said something and no scenario put words into the model's mouth."""
    for turn in seen.turns:
        if isinstance(turn.turn.event, UserMessage) and not any(call.is_scripted for call in turn.calls):
            yield turn


def _calls_per_turn(seen: Seen) -> Iterator[Mark]:
    for turn in _spoken_turns(seen):
        yield Mark(len(turn.calls) <= CALLS_A_TURN, f"{turn.turn.text} → {len(turn.calls)} calls")


def _tokens_per_turn(seen: Seen) -> Iterator[Mark]:
    """Turns that asked the model, as far as its server told what it counted."""
    for turn in _spoken_turns(seen):
        usages = [call.usage for call in turn.calls if call.usage is not None]
        if turn.calls and len(usages) == len(turn.calls):
            tokens = sum(usage.tokens for usage in usages)
            yield Mark(tokens <= TOKENS_A_TURN, f"{turn.turn.text} → {tokens} tokens")


def _line(name: str, whose: Whose, threshold: float, marks: Callable[[Seen], Iterator[Mark]]) -> Line:
    return Line(name=name, whose=whose, threshold=threshold, marks=marks)


LINES: tuple[Line, ...] = (
    _line("injury_recall_model", "model", 0.95, _injury_recall_model),
    _line("injury_recall_service", "service", 1.0, _injury_recall_service),
    _line("injury_never_cleared_service", "service", 1.0, _injury_never_cleared),
    _line("injury_calm_model", "model", 0.90, _injury_calm_model),
    _line("injury_calm_service", "service", 0.95, _injury_calm_service),
    _line("handoff_recall_model", "model", 0.95, _handoff_recall_model),
    _line("handoff_recall_service", "service", 1.0, _handoff_recall_service),
    _line("handoff_calm_model", "model", 0.90, _handoff_calm_model),
    _line("handoff_calm_service", "service", 0.95, _handoff_calm_service),
    _line("field_accuracy_model", "model", 0.90, _fields_model),
    _line("field_accuracy_service", "service", 0.95, _fields_service),
    _line("answer_class_model", "model", 0.85, _answers_model),
    _line("answer_counting_service", "service", 0.85, _answers_service),
    _line("time_model", "model", 0.90, _times_model),
    _line("time_service", "service", 0.95, _times_service),
    _line("vehicle_count_model", "model", 0.95, _counts_model),
    _line("vehicle_count_service", "service", 0.95, _counts_service),
    _line("answered_model", "model", 0.99, _answered),
    _line("prefix_valid_model", "model", 0.98, _prefixes),
    _line("form_valid_model", "model", 0.98, _forms),
    _line("stage_legal_model", "model", 0.97, _proposals),
    _line("step_legal_service", "service", 1.0, _steps_service),
    _line("golden_path_both", "both", 0.95, _golden_paths),
    _line("golden_fields_both", "both", 0.95, _golden_fields),
    _line("calls_per_turn_both", "both", 0.95, _calls_per_turn),
    Line(name="tokens_per_turn_both", whose="both", threshold=0.95, marks=_tokens_per_turn, needs_usage=True),
)
