"""Why a conversation was handed to a person: the taxonomy that both backends' outcomes are compared in."""

from enum import StrEnum

from domain.stages import StageCode


class HandoffReason(StrEnum):
    EXPLICIT_REQUEST = "EXPLICIT_REQUEST"
    UNCLEAR_LIMIT = "UNCLEAR_LIMIT"
    INJURY = "INJURY"
    DEATH = "DEATH"
    FIRE = "FIRE"
    ENTRAPMENT = "ENTRAPMENT"
    HAZMAT = "HAZMAT"
    DRUNK_DRIVING = "DRUNK_DRIVING"
    HIT_AND_RUN = "HIT_AND_RUN"
    NO_LICENCE = "NO_LICENCE"
    NO_PLATE = "NO_PLATE"
    DISPUTE = "DISPUTE"
    VIOLENCE = "VIOLENCE"
    NOT_AT_SCENE = "NOT_AT_SCENE"
    STALE_ACCIDENT = "STALE_ACCIDENT"
    NON_MOTOR = "NON_MOTOR"
    MOTORCYCLE = "MOTORCYCLE"
    MULTI_VEHICLE = "MULTI_VEHICLE"
    ZERO_VEHICLE = "ZERO_VEHICLE"
    SPECIAL_VEHICLE = "SPECIAL_VEHICLE"
    VEHICLE_IMMOBILE = "VEHICLE_IMMOBILE"
    MINOR_DRIVER = "MINOR_DRIVER"
    NON_ID_DOCUMENT = "NON_ID_DOCUMENT"
    OTHER_PARTY_ABSENT = "OTHER_PARTY_ABSENT"
    SAFETY_UNCERTAIN = "SAFETY_UNCERTAIN"
    MODEL_OUTPUT_INVALID = "MODEL_OUTPUT_INVALID"
    NO_RESPONSE = "NO_RESPONSE"
    PHOTO_FAILED = "PHOTO_FAILED"
    OTHER_COMPLEX = "OTHER_COMPLEX"


_DEFAULTS = {
    StageCode.HANDOFF_REQUESTED: HandoffReason.EXPLICIT_REQUEST,
    StageCode.HANDOFF_UNCLEAR: HandoffReason.UNCLEAR_LIMIT,
    StageCode.HANDOFF_COMPLEX: HandoffReason.OTHER_COMPLEX,
    StageCode.HANDOFF_NO_REPLY: HandoffReason.NO_RESPONSE,
    StageCode.HANDOFF_PHOTO_FAILED: HandoffReason.PHOTO_FAILED,
}


def default_reason(stage: StageCode) -> HandoffReason | None:
    """The reason a bare hand-off stage stands for, when its backend names none; None for every other stage."""
    return _DEFAULTS.get(stage)
