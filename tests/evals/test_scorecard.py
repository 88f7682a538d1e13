"""The verdict over what was seen: right answers pass, each line can fail alone and is named, too little is never enough."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cli.eval import tell
from cli.exit_codes import Exit
from domain.handoff_reason import HandoffReason
from domain.stages import StageCode
from evals.lines import LINES
from evals.play import Seen
from evals.scorecard import LEAST, Scorecard, UnknownLine, checked, scorecard
from evals.seen import Served, Usage
from tests.evals.seeing import call, ended, right_seen, text_of, with_after, with_alone, with_calls, with_played, with_turns

pytestmark = pytest.mark.unit

NOW = datetime(2026, 12, 1, tzinfo=UTC)
Spoil = Callable[[Seen], Seen]


def _as_before(turn: Served):
    return turn.before


def _handed_over(turn: Served):
    return ended(turn.before, StageCode.HANDOFF_REQUESTED, HandoffReason.EXPLICIT_REQUEST)


def _twice(turn: Served) -> Served:
    return replace(turn, calls=(*turn.calls, *(replace(one, prompt_id=f"{one.prompt_id}-again") for one in turn.calls)))


def _dear(turn: Served) -> Served:
    return replace(turn, calls=tuple(replace(one, usage=Usage(3000, 10)) for one in turn.calls))


SPOILED: dict[str, Spoil] = {
    "injury_recall_model": lambda seen: with_alone(seen, "injury", text_of("1002", safety="none")),
    "injury_recall_service": lambda seen: with_after(seen, "injury", _as_before),
    "injury_never_cleared_service": lambda seen: with_after(seen, "injury", lambda turn: turn.before.with_form({"ywrysw": False})),
    "injury_calm_model": lambda seen: with_alone(seen, "injury", text_of("0003", safety="present")),
    "injury_calm_service": lambda seen: with_after(
        seen, "injury", lambda turn: ended(turn.before, StageCode.HANDOFF_COMPLEX, HandoffReason.INJURY)
    ),
    "handoff_recall_model": lambda seen: with_alone(seen, "handoff", text_of("1002")),
    "handoff_recall_service": lambda seen: with_after(seen, "handoff", _as_before),
    "handoff_calm_model": lambda seen: with_alone(seen, "handoff", text_of("0001")),
    "handoff_calm_service": lambda seen: with_after(seen, "handoff", _handed_over),
    "field_accuracy_model": lambda seen: with_alone(seen, "fields", text_of("1002", fields={"sgyy": "逆行", "xm1": "赵六"})),
    "field_accuracy_service": lambda seen: with_after(seen, "fields", _as_before),
    "answer_class_model": lambda seen: with_alone(seen, "answers", text_of("1002", answer="valid")),
    "answer_counting_service": lambda seen: with_after(seen, "answers", _as_before),
    "time_model": lambda seen: with_alone(seen, "times", text_of("1002", fields={"sgfssj_text": "三天前"})),
    "time_service": lambda seen: with_after(seen, "times", lambda turn: turn.before.with_form({"sgfssj": "2026-07-28 15:00:00"})),
    "vehicle_count_model": lambda seen: with_alone(seen, "counts", text_of("1002", fields={"jdcsl": "2"})),
    "vehicle_count_service": lambda seen: with_after(seen, "counts", _as_before),
    "answered_model": lambda seen: with_calls(seen, text="", failure="timeout"),
    "prefix_valid_model": lambda seen: with_calls(seen, text="状态1002：好的"),
    "form_valid_model": lambda seen: with_calls(seen, text='<state>1002</state><form>{"fields":</form>好的'),
    "stage_legal_model": lambda seen: with_calls(seen, offered=("2016",)),
    "step_legal_service": lambda seen: with_turns(
        seen, lambda turn: replace(turn, after=replace(turn.after, stage=StageCode.DOUBLE_PLATE_1))
    ),
    "golden_path_both": lambda seen: with_played(seen, lambda turn: replace(turn.after, stage=StageCode.COLLECTING)),
    "golden_fields_both": lambda seen: with_played(seen, lambda turn: replace(turn.after, form={})),
    "calls_per_turn_both": lambda seen: with_turns(seen, _twice),
    "tokens_per_turn_both": lambda seen: with_turns(seen, _dear),
}


def _told(card: Scorecard) -> int:
    return tell(card, model="m", made_at=NOW, json=False, html=None)


def test_right_answers_pass_every_line_at_a_hundred_percent():
    card = scorecard(right_seen())
    assert {score.name: score.rate for score in card.scores if score.rate != 1.0} == {}
    assert _told(card) == Exit.OK


def test_there_is_a_spoiled_run_for_every_line():
    assert set(SPOILED) == {line.name for line in LINES}


@pytest.mark.parametrize("name", SPOILED)
def test_a_line_below_its_threshold_fails_the_run_and_is_named(name: str, capsys: pytest.CaptureFixture[str]):
    card = scorecard(SPOILED[name](right_seen()))
    assert {score.name: score.verdict for score in card.scores}[name] == "fails"
    assert _told(card) == Exit.FAILED == 1
    assert f"error {name}:" in capsys.readouterr().err


@pytest.mark.parametrize("name", SPOILED)
def test_a_line_fails_just_below_its_threshold_and_holds_at_it(name: str):
    """The threshold is raised to the very rate, and a hair above it."""
    spoiled = SPOILED[name](right_seen())
    rate = next(score.rate for score in scorecard(spoiled).scores if score.name == name)
    assert rate is not None
    assert rate < 1

    def verdict(threshold: float) -> str:
        return next(score.verdict for score in scorecard(spoiled, {name: threshold}).scores if score.name == name)

    assert (verdict(rate), verdict(rate + 1e-6)) == ("holds", "fails")


def test_nothing_seen_is_no_data_and_no_data_fails(capsys: pytest.CaptureFixture[str]):
    card = scorecard(Seen(probed=(), played=(), tells_usage=True))
    assert {score.verdict for score in card.scores} == {"no_data"}
    assert {score.rate for score in card.scores} == {None}
    assert _told(card) == Exit.FAILED
    assert "injury_recall_model: 0 observations are no data" in capsys.readouterr().err


def test_few_right_answers_are_no_data_either():
    seen = right_seen()
    hurt = [one for one in seen.probed if one.probe.truth == "hurt"][: LEAST - 1]
    card = scorecard(replace(seen, probed=tuple(hurt)))
    score = next(score for score in card.scores if score.name == "injury_recall_model")
    assert (score.n, score.hits, score.verdict) == (LEAST - 1, LEAST - 1, "no_data")


def test_tokens_are_left_unjudged_only_where_the_client_cannot_tell_them():
    silent = with_turns(right_seen(), lambda turn: replace(turn, calls=tuple(replace(one, usage=None) for one in turn.calls)))
    silent = replace(silent, played=())

    def verdict(seen: Seen) -> str:
        return next(score.verdict for score in scorecard(seen).scores if score.name == "tokens_per_turn_both")

    assert verdict(silent) == "no_data"
    assert verdict(replace(silent, tells_usage=False)) == "not_told"


def test_one_prompt_asked_twice_is_one_observation():
    seen = right_seen()
    same = with_calls(seen, prompt_id="the same")
    n = {score.name: score.n for score in scorecard(seen).scores}["prefix_valid_model"]
    assert {score.name: score.n for score in scorecard(same).scores}["prefix_valid_model"] == n - len(seen.probed) + 1


def test_a_reply_that_a_scenario_wrote_is_not_held_against_the_model():
    seen = right_seen()
    played = replace(
        seen.played[0],
        turns=tuple(replace(turn, calls=(replace(call("x", "no prefix"), is_scripted=True),)) for turn in seen.played[0].turns),
    )
    card = scorecard(replace(seen, played=(played, *seen.played[1:])))
    assert {score.name for score in card.scores if score.whose == "model" and score.rate != 1.0} == set()


@pytest.mark.parametrize("wrong", [{"injury_recall": 0.9}, {"time_model": 1.5}, {"time_model": -0.1}])
def test_a_threshold_for_nothing_or_out_of_range_is_refused(wrong: dict[str, float]):
    with pytest.raises(UnknownLine):
        checked(wrong)
