"""The stage codes of the accident dialogue: one table of code, phase, names and whether the conversation ends there.

A stage is the step awaited *after* the reply that carries it: at 2001 the client opens the camera for the front view.
Codes 0000-0005, 1001, 1002 and the ranges come from the founding plan; the other names are ours (docs/open-questions.md).
"""

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    ACCIDENT_COLLECTION = "accident_collection"
    SINGLE_VEHICLE_PHOTO = "single_vehicle_photo"
    TWO_VEHICLE_PHOTO = "two_vehicle_photo"
    PARTY_VERIFICATION = "party_verification"
    HANDOFF = "handoff"
    COMPLETE = "complete"


class StageCode(StrEnum):
    COMPLETED = "0000"
    HANDOFF_REQUESTED = "0001"
    HANDOFF_UNCLEAR = "0002"
    HANDOFF_COMPLEX = "0003"
    HANDOFF_NO_REPLY = "0004"
    HANDOFF_PHOTO_FAILED = "0005"
    NOT_READY = "1001"
    COLLECTING = "1002"
    SINGLE_GUIDE = "2000"
    SINGLE_FRONT = "2001"
    SINGLE_REAR = "2002"
    SINGLE_IMPACT = "2003"
    SINGLE_PLATE = "2004"
    SINGLE_LICENCES = "2005"
    DOUBLE_GUIDE = "2010"
    DOUBLE_FRONT = "2011"
    DOUBLE_REAR = "2012"
    DOUBLE_IMPACT = "2013"
    DOUBLE_PLATE_1 = "2014"
    DOUBLE_PLATE_2 = "2015"
    DOUBLE_LICENCES = "2016"
    VERIFY_PARTY_1 = "3001"
    VERIFY_PARTY_2 = "3002"


@dataclass(frozen=True, slots=True)
class Stage:
    """`name` goes out as nextStageName; `label` is the English name for our own reports."""

    code: StageCode
    name: str
    label: str
    phase: Phase

    @property
    def is_terminal(self) -> bool:
        return self.phase in (Phase.HANDOFF, Phase.COMPLETE)


_S, _P = StageCode, Phase

STAGES: dict[StageCode, Stage] = {
    stage.code: stage
    for stage in (
        Stage(_S.COMPLETED, "完成", "completed", _P.COMPLETE),
        Stage(_S.HANDOFF_REQUESTED, "主动转人工", "hand-off on request", _P.HANDOFF),
        Stage(_S.HANDOFF_UNCLEAR, "语义连续无法识别", "repeatedly not understood", _P.HANDOFF),
        Stage(_S.HANDOFF_COMPLEX, "人伤或复杂情况转人工", "injury or complex case", _P.HANDOFF),
        Stage(_S.HANDOFF_NO_REPLY, "长时间无回复", "no reply", _P.HANDOFF),
        Stage(_S.HANDOFF_PHOTO_FAILED, "连续拍照识别失败", "photo recognition failures", _P.HANDOFF),
        Stage(_S.NOT_READY, "未准备好", "not ready", _P.ACCIDENT_COLLECTION),
        Stage(_S.COLLECTING, "信息采集中", "collecting facts", _P.ACCIDENT_COLLECTION),
        Stage(_S.SINGLE_GUIDE, "单车拍照引导", "single: guide", _P.SINGLE_VEHICLE_PHOTO),
        Stage(_S.SINGLE_FRONT, "单车-车前全景", "single: front view", _P.SINGLE_VEHICLE_PHOTO),
        Stage(_S.SINGLE_REAR, "单车-车后全景", "single: rear view", _P.SINGLE_VEHICLE_PHOTO),
        Stage(_S.SINGLE_IMPACT, "单车-碰撞部位", "single: impact close-up", _P.SINGLE_VEHICLE_PHOTO),
        Stage(_S.SINGLE_PLATE, "单车-车牌", "single: plate", _P.SINGLE_VEHICLE_PHOTO),
        Stage(_S.SINGLE_LICENCES, "单车-驾驶证行驶证", "single: licences", _P.SINGLE_VEHICLE_PHOTO),
        Stage(_S.DOUBLE_GUIDE, "双车拍照引导", "two: guide", _P.TWO_VEHICLE_PHOTO),
        Stage(_S.DOUBLE_FRONT, "双车-前方全景", "two: front view of both", _P.TWO_VEHICLE_PHOTO),
        Stage(_S.DOUBLE_REAR, "双车-后方全景", "two: rear view of both", _P.TWO_VEHICLE_PHOTO),
        Stage(_S.DOUBLE_IMPACT, "双车-碰撞部位", "two: contact point", _P.TWO_VEHICLE_PHOTO),
        Stage(_S.DOUBLE_PLATE_1, "双车-甲方车牌", "two: plate of party 1", _P.TWO_VEHICLE_PHOTO),
        Stage(_S.DOUBLE_PLATE_2, "双车-乙方车牌", "two: plate of party 2", _P.TWO_VEHICLE_PHOTO),
        Stage(_S.DOUBLE_LICENCES, "双车-双方证件", "two: licences of both", _P.TWO_VEHICLE_PHOTO),
        Stage(_S.VERIFY_PARTY_1, "甲方信息确认", "verify party 1", _P.PARTY_VERIFICATION),
        Stage(_S.VERIFY_PARTY_2, "乙方信息确认", "verify party 2", _P.PARTY_VERIFICATION),
    )
}
