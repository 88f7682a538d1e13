"""What a deployment lets through online that the default hands to a person. Data only; the default is the careful one."""

from dataclasses import dataclass

from domain.handoff_reason import HandoffReason

_R = HandoffReason
# A deployment may take these on itself. Dangers to people, and what the photo flow cannot show, always need a person.
ADMISSIBLE = frozenset(
    {
        _R.NON_MOTOR, _R.MOTORCYCLE, _R.NOT_AT_SCENE, _R.STALE_ACCIDENT, _R.NO_PLATE, _R.SPECIAL_VEHICLE, _R.MINOR_DRIVER,
        _R.NON_ID_DOCUMENT, _R.OTHER_PARTY_ABSENT, _R.VEHICLE_IMMOBILE, _R.DISPUTE, _R.NO_LICENCE,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`admits` holds reasons of ADMISSIBLE that no longer hand over. `heavy_vehicles` lets plate types 01 and 15 stay.
    `expressway_hands_over`: who is on a road without a place to stop gets a person at once, not only a warning."""

    admits: frozenset[HandoffReason] = frozenset()
    max_age_hours: float = 24
    heavy_vehicles: bool = False
    expressway_hands_over: bool = False


CAREFUL = Policy()
