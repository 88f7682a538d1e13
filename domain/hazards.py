"""Dangers and complications other than injuries, by lexicon: what takes a case to a person even when nobody is hurt.

One row a category. `certain` words raise it; the same words under a linked negation do not; `doubtful` words ask one question first.
"""

import re
from dataclasses import dataclass

from domain.handoff_reason import HandoffReason
from domain.injury import Verdict
from domain.questions import QuestionId
from domain.rules.wording import normal

_R, _Q = HandoffReason, QuestionId
_NOTHING = re.compile(r"(?!)")
_NEGATED = re.compile(r"(?:没有?|未|无|不是|不存在|没得|冇|木有|并没有?)(?:人|任何|什么|发生|出现|看到|闻到|被|有|在|再)*$")
_ASKED = re.compile(r"有没有|是不是|不知道|不清楚|不确定|会不会|好像不|吗|\?")
_INNOCENT = re.compile(r"酒店|查酒驾|白酒厂|加气站|加油站|火车站|火锅|着急")
_CLAUSE = re.compile(r"[,，。.!！;；、\n]|但是|不过|可是")


@dataclass(frozen=True, slots=True)
class Hazard:
    reason: HandoffReason
    certain: re.Pattern[str]
    doubtful: re.Pattern[str] = _NOTHING
    question: QuestionId | None = None  # what a doubtful word asks


HAZARDS: tuple[Hazard, ...] = (
    Hazard(_R.FIRE, re.compile(r"着火|起火|冒烟|自燃|火苗|爆炸|烧起来"), re.compile(r"烟小了|没冒烟了|糊味|焦味"), _Q.CONFIRM_FIRE),
    Hazard(
        _R.ENTRAPMENT,
        re.compile(r"被困|困在车|卡住(?:了)?(?:出不来|动不了)|卡在车里|夹住(?:了)?(?:人|腿|脚|出不来)|压在车下|出不来"),
        re.compile(r"卡住|夹住"),
        _Q.CONFIRM_TRAPPED,
    ),
    Hazard(
        _R.HAZMAT,
        re.compile(r"危险品|危化|油罐车|罐车|化学品|泄漏|泄露|漏油|汽油味|煤气|天然气|农药|有毒|漏气"),
        re.compile(r"漏水|漏液|奇怪的味"),
        _Q.CONFIRM_HAZMAT,
    ),
    Hazard(_R.DRUNK_DRIVING, re.compile(r"喝(?:了)?(?:点|一?杯|两杯|很多|不少)?酒|酒味|酒驾|醉驾|喝醉|喝多了|毒驾|吸毒")),
    Hazard(
        _R.HIT_AND_RUN,
        re.compile(r"逃逸|肇事逃|(?:对方|他|她|那人|那车|司机|前车|后车)[^,，。]{0,8}(?:跑了|逃了|开走了|溜了|跑掉)|跑路了|找不到对方"),
    ),
    Hazard(
        _R.NO_LICENCE,
        re.compile(r"(?:没有?|无)(?:驾驶证|驾照|驾驶本)|无证驾|驾照(?:被)?(?:吊销|扣了|过期)"),
        re.compile(r"没带(?:驾驶证|驾照)|驾照没带|驾驶证没带"),
        _Q.CONFIRM_LICENCE,
    ),
    Hazard(_R.NO_PLATE, re.compile(r"无牌|没(?:有)?(?:上)?(?:车)?牌照?(?!子)|没上牌|套牌|假牌|临牌|临时牌|没(?:有)?保险|脱保")),
    Hazard(_R.VIOLENCE, re.compile(r"打人|打我|动手|打起来|打架|持刀|拿(?:刀|棍)|威胁我")),
    Hazard(_R.DISPUTE, re.compile(r"不认账|不承认|有争议|扯皮|吵起来|吵架|谈不拢|不肯认|不让走|堵着不")),
    Hazard(
        _R.VEHICLE_IMMOBILE,
        re.compile(r"(?:车|车子)[^,，。]{0,4}(?:动不了|开不走|不能动|开不动)|要拖车|叫拖车|爆胎|气囊(?:都)?(?:弹|爆|打)"),
    ),
    Hazard(_R.SPECIAL_VEHICLE, re.compile(r"警车|军车|校车|公交车?|大客车|大巴|大货车|半挂|救护车撞|消防车")),
    Hazard(
        _R.OTHER_PARTY_ABSENT, re.compile(r"(?:对方|车主)(?:人)?不在|停着被(?:撞|刮)|停在(?:路边|那)?被(?:撞|刮)|联系不上(?:对方|车主)")
    ),
    Hazard(_R.NON_ID_DOCUMENT, re.compile(r"(?:只有|用|是)(?:护照|港澳|台胞证|军官证|回乡证|通行证)|没有?身份证")),
    Hazard(_R.OTHER_COMPLEX, re.compile(r"不想活|撞死(?:他|她|你|他们)|自杀|同归于尽")),
)

QUESTION_REASONS: dict[str, HandoffReason] = {hazard.question: hazard.reason for hazard in HAZARDS if hazard.question}


def hazards(text: str) -> dict[HandoffReason, Verdict]:
    """What a text says about each category, PRESENT or UNCERTAIN; a category that is not named or is denied is not in the result."""
    plain = _INNOCENT.sub("", re.sub(r"\s+", "", normal(text)))
    found: dict[HandoffReason, Verdict] = {}
    for clause in filter(None, _CLAUSE.split(plain)):
        for hazard in HAZARDS:
            verdict = _read(clause, hazard)
            if verdict is not Verdict.NONE and found.get(hazard.reason) is not Verdict.PRESENT:
                found[hazard.reason] = verdict
    return found


def _read(clause: str, hazard: Hazard) -> Verdict:
    doubtful = hazard.doubtful.search(clause)
    certain = hazard.certain.search(clause)
    if certain is None:
        is_open = doubtful is not None and not _NEGATED.search(clause[: doubtful.start()])
        return Verdict.UNCERTAIN if is_open else Verdict.NONE
    if _NEGATED.search(clause[: certain.start()]):
        return Verdict.UNCERTAIN if doubtful else Verdict.NONE
    if _ASKED.search(clause):
        return Verdict.UNCERTAIN if hazard.question else Verdict.NONE
    return Verdict.PRESENT
