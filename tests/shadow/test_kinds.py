"""What counts as a difference, kind by kind."""

from dataclasses import replace

import pytest

from domain.backend_name import BackendName
from domain.diff import Severity
from domain.errors import BackendFailure, FailureKind
from domain.handoff_reason import HandoffReason
from domain.outcome import Outcome
from domain.stages import StageCode as S
from shadow.compare import compare
from shadow.kinds import KINDS
from tests.fakes.values import a_state, a_turn, an_outcome

pytestmark = pytest.mark.unit

TURN = a_turn()
BEFORE = a_state(S.COLLECTING, jdcsl=2)


def said(backend=BackendName.FASTGPT, **reply):
    return an_outcome(TURN, backend, **reply)


def failed(kind=FailureKind.TIMEOUT):
    return Outcome(backend=BackendName.LANGGRAPH, failure=BackendFailure(kind=kind))


def between(primary, shadow, before=BEFORE):
    return compare(TURN, before, primary, shadow, mode="lockstep")


def found(primary, shadow, kind, before=BEFORE):
    return [(diff.signature, diff.severity) for diff in between(primary, shadow, before).diffs if diff.kind == kind]


@pytest.mark.parametrize("outcome", [said(), said(patch={"jdcsl": 1}), said(stage=S.HANDOFF_COMPLEX), failed()])
def test_an_outcome_does_not_differ_from_itself(outcome):
    assert between(outcome, outcome).diffs == ()


def test_another_stage_is_one_major_difference_with_its_start():
    assert found(said(), said(stage=S.SINGLE_GUIDE), "stage") == [("stage 1002: 1002≠2000", Severity.MAJOR)]


def test_the_first_turn_of_a_session_starts_from_nothing():
    assert found(said(), said(stage=S.NOT_READY), "stage", replace(BEFORE, stage=None)) == [("stage new: 1002≠1001", Severity.MAJOR)]


@pytest.mark.parametrize(
    ("primary", "shadow", "expected"),
    [
        ({"jdcsl": 2}, {}, []),  # said again what was known
        ({"sgyy": "追尾", "jdcsl": 1}, {"jdcsl": 1, "sgyy": "追尾"}, []),  # another order
        ({"sgyy": None}, {}, []),  # nothing and no statement
        ({"sgyy": "追尾"}, {}, [("patch sgyy: missing_in_shadow", Severity.MAJOR)]),
        ({}, {"sgyy": "追尾"}, [("patch sgyy: missing_in_primary", Severity.MAJOR)]),
        ({"jdcsl": 3}, {}, [("patch jdcsl: other_value", Severity.MAJOR)]),
        ({"ywrysw": True}, {"ywrysw": False}, [("patch ywrysw: other_value", Severity.CRITICAL)]),
        ({"ywrysw": False}, {}, [("patch ywrysw: missing_in_shadow", Severity.CRITICAL)]),
    ],
)
def test_forms_are_compared_where_they_end_up(primary, shadow, expected):
    assert found(said(patch=primary), said(patch=shadow), "patch") == expected


def test_two_wrong_fields_are_two_differences_in_the_order_of_the_form():
    signatures = [signature for signature, _ in found(said(patch={"hphm1": "京A12345", "sgyy": "追尾"}), said(), "patch")]
    assert signatures == ["patch sgyy: missing_in_shadow", "patch hphm1: missing_in_shadow"]


def test_forms_that_share_nothing_are_told_apart_key_by_key():
    before = replace(BEFORE, form={})
    primary = said(patch={"jdcsl": 2, "sgyy": "追尾", "ywfjdc": False, "hphm1": "京A12345"})
    shadow = said(patch={"ywrysw": True, "xm1": "张三", "sfsgxc": True, "bjrjs": "当事人"})
    assert len(found(primary, shadow, "patch", before)) == 8
    assert len(found(primary, said(), "patch", before)) == 4
    assert len(found(said(), shadow, "patch", before)) == 4


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("sjhm2", "13800138000", "…00"),
        ("sfzmhm1", "11010519491231002X", "…2X"),
        ("hphm1", "京A12345", "…45"),
        ("xm1", "张三", "2 characters"),
        ("xm2", "John Fitzgerald Smith", "21 characters"),
        ("sgyy", "对方李四开京B67890突然刹车", "16 characters"),
        ("sgyy", "追尾", "追尾"),
        ("jdcsl", 3, 3),
    ],
)
def test_a_difference_never_shows_who_somebody_is(key, value, shown):
    diff = next(diff for diff in between(said(patch={key: value}), said()).diffs if diff.kind == "patch")
    assert diff.detail["primary"] == shown


@pytest.mark.parametrize(
    ("text", "stages", "expected"),
    [
        ("我头晕", (S.COLLECTING, S.HANDOFF_COMPLEX), ["safety primary missed INJURY"]),
        ("我头晕", (S.HANDOFF_COMPLEX, S.COLLECTING), ["safety shadow missed INJURY"]),
        ("我头晕", (S.COLLECTING, S.COLLECTING), ["safety primary missed INJURY", "safety shadow missed INJURY"]),
        ("我头晕，转人工", (S.HANDOFF_REQUESTED, S.HANDOFF_COMPLEX), []),
        ("没有人受伤", (S.COLLECTING, S.COLLECTING), []),
    ],
)
def test_an_injury_that_a_side_overhears_is_critical_whoever_served(text, stages, expected):
    turn = a_turn(text)
    primary, shadow = (an_outcome(turn, stage=stage) for stage in stages)
    found = [diff for diff in compare(turn, BEFORE, primary, shadow, mode="lockstep").diffs if diff.kind == "safety"]
    assert [diff.signature for diff in found] == expected
    assert {diff.severity for diff in found} <= {Severity.CRITICAL}


@pytest.mark.parametrize(
    ("primary", "shadow", "expected"),
    [
        ({"stage": S.HANDOFF_COMPLEX, "handoff_reason": HandoffReason.INJURY}, {}, [("handoff INJURY≠none", Severity.CRITICAL)]),
        ({}, {"stage": S.HANDOFF_COMPLEX}, [("handoff none≠OTHER_COMPLEX", Severity.CRITICAL)]),
        ({"stage": S.HANDOFF_REQUESTED}, {}, [("handoff EXPLICIT_REQUEST≠none", Severity.MAJOR)]),
        ({"stage": S.HANDOFF_REQUESTED}, {"stage": S.HANDOFF_COMPLEX}, [("handoff EXPLICIT_REQUEST≠OTHER_COMPLEX", Severity.MAJOR)]),
        # FastGPT says only "0003"; that is no disagreement about why.
        ({"stage": S.HANDOFF_COMPLEX}, {"stage": S.HANDOFF_COMPLEX, "handoff_reason": HandoffReason.FIRE}, []),
        (
            {"stage": S.HANDOFF_COMPLEX, "handoff_reason": HandoffReason.INJURY},
            {"stage": S.HANDOFF_COMPLEX, "handoff_reason": HandoffReason.FIRE},
            [("handoff INJURY≠FIRE", Severity.MAJOR)],
        ),
    ],
)
def test_hand_offs_are_compared_by_reason_and_a_missed_one_is_critical(primary, shadow, expected):
    assert found(said(**primary), said(**shadow), "handoff") == expected


@pytest.mark.parametrize(
    ("primary", "shadow", "differs"),
    [
        ("请问有没有人受伤？", "请问有没有人受伤?", False),
        ("好的，谢谢。", " 好的,谢谢 ", False),
        ("ＡＢＣ", "abc", False),
        ("您无责任", "您负全责", True),
    ],
)
def test_wording_differs_beyond_width_spacing_and_punctuation_and_never_decides(primary, shadow, differs):
    assert found(said(text=primary), said(text=shadow), "text") == ([("text 1002", Severity.INFO)] if differs else [])


def test_a_text_difference_shows_no_text():
    diff = next(diff for diff in between(said(text="张三您好"), said(text="李四您好")).diffs if diff.kind == "text")
    assert "张三" not in str(diff)
    assert "李四" not in str(diff)


def test_a_side_that_failed_is_compared_as_an_error_only():
    comparison = between(said(), failed(FailureKind.NODE_FAILED))
    assert comparison.compared == ("error",)
    assert [diff.signature for diff in comparison.diffs] == ["error ok≠node_failed"]


def test_a_breach_of_contract_on_one_side_is_named_once():
    breach = replace(said(), violations=("illegal_transition:2001->3001", "illegal_transition:2001->3001"))
    assert found(breach, said(), "error") == [("error primary illegal_transition:2001->3001", Severity.MINOR)]
    assert found(said(), breach, "error") == [("error shadow illegal_transition:2001->3001", Severity.MINOR)]
    assert found(breach, breach, "error") == []


def test_every_kind_is_found_under_its_own_name():
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    hurt = a_turn("我头晕")
    primary = an_outcome(hurt, stage=S.HANDOFF_COMPLEX, text="甲", patch={"jdcsl": 1})
    shadow = replace(an_outcome(hurt, text="乙"), violations=("duplicate",))
    everything = compare(hurt, BEFORE, primary, shadow, mode="lockstep")
    assert {diff.kind for diff in everything.diffs} == set(everything.compared) == {kind.name for kind in KINDS}
