"""What a deployment may admit, and what nobody may: each switch moves one thing and nothing else."""

from typing import Any

import pytest
from pydantic import ValidationError

from domain.eligibility import ineligible
from domain.guards import Situation, holds
from domain.handoff_reason import HandoffReason
from domain.policy import ADMISSIBLE, CAREFUL, Policy
from domain.safety import detect, under
from domain.session import Dialogue
from domain.stages import StageCode
from domain.transitions import Guard
from tests.fakes.values import NOON
from wiring.settings import EligibilitySettings

pytestmark = pytest.mark.unit

R = HandoffReason
FACTS: dict[str, Any] = {
    "ywrysw": False, "ywfjdc": False, "ywmtc": False, "bjrjs": "当事人", "sgfssj": "2026-07-27 15:10:00", "sfsgxc": True, "jdcsl": 1,
    "sgyy": "倒车",
}  # fmt: skip


@pytest.mark.parametrize(
    "fact, reason, policy",
    [
        ({"ywmtc": True}, R.MOTORCYCLE, Policy(admits=frozenset({R.MOTORCYCLE}))),
        ({"ywfjdc": True}, R.NON_MOTOR, Policy(admits=frozenset({R.NON_MOTOR}))),
        ({"sfsgxc": False}, R.NOT_AT_SCENE, Policy(admits=frozenset({R.NOT_AT_SCENE}))),
        ({"hpzl1": "01"}, R.SPECIAL_VEHICLE, Policy(heavy_vehicles=True)),
        ({"hpzl2": "15"}, R.SPECIAL_VEHICLE, Policy(heavy_vehicles=True)),
        ({"sgfssj": "2026-07-25 15:20:00"}, R.STALE_ACCIDENT, Policy(max_age_hours=48)),
    ],
)
def test_a_switch_admits_its_own_case_and_opens_the_photos(fact: dict[str, Any], reason: HandoffReason, policy: Policy):
    assert ineligible(FACTS | fact, NOON) is reason
    assert ineligible(FACTS | fact, NOON, policy=policy) is None
    ready = Situation(stage=StageCode.COLLECTING, form=FACTS | fact, dialogue=Dialogue(), now=NOON, policy=policy)
    assert holds(Guard.SINGLE, ready)
    assert ineligible(FACTS | {"jdcsl": 3}, NOON, policy=policy) is R.MULTI_VEHICLE


@pytest.mark.parametrize("limit, form", [(48, "2026-07-25 15:19:00"), (1, "2026-07-27 14:19:00")])
def test_the_age_of_an_accident_is_limited_to_the_minute(limit: float, form: str):
    policy = Policy(max_age_hours=limit)
    assert ineligible({"sgfssj": form}, NOON, policy=policy) is R.STALE_ACCIDENT
    assert ineligible({"sgfssj": form.replace(":19:", ":20:")}, NOON, policy=policy) is None


def test_a_word_for_what_is_admitted_hands_nobody_over_and_dangers_still_do():
    text = "对方不承认是他的责任"
    assert under(CAREFUL, detect(text, None), text).reasons == (R.DISPUTE,)
    assert under(Policy(admits=frozenset({R.DISPUTE})), detect(text, None), text).reasons == ()
    for danger in ("有人受伤流血了", "车着火了", "他喝了酒"):
        assert under(Policy(admits=ADMISSIBLE), detect(danger, None), danger).reasons


def test_a_road_without_a_place_to_stop_can_be_a_reason_of_its_own():
    text = "我在高速上追尾了"
    assert under(CAREFUL, detect(text, None), text).reasons == ()
    assert under(Policy(expressway_hands_over=True), detect(text, None), text).reasons == (R.OTHER_COMPLEX,)


@pytest.mark.parametrize("reason", sorted(set(HandoffReason) - ADMISSIBLE))
def test_dangers_cannot_be_admitted_by_a_setting(reason: HandoffReason):
    with pytest.raises(ValidationError, match="always needs a person"):
        EligibilitySettings(admits=frozenset({reason}))
