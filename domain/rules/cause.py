"""The cause of an accident: a label of the list when one fits, else the short narrative with long digit runs masked."""

import re

from domain.rules.wording import ascii_digits, spoken_text

MAX_CHARS = 200

# A manoeuvre the user names wins over what was hit; within a group the first one in the text does.
_MANOEUVRES = {
    "追尾": r"追尾|追了尾|顶上前车|撞(?:上|到)?(?:了)?前车",
    "变道": r"变道|并线|变更车道|加塞",
    "倒车": r"倒车|倒的时候|往后倒",
    "溜车": r"溜车",
    "开关车门": r"开关?车门|开门(?:撞|碰|刮)",
    "逆行": r"逆行",
    "未按规定让行": r"让行|没让|未让",
    "违反交通信号": r"闯红灯|违反交通信号|闯灯",
    "掉头": r"掉头|调头",
    "会车": r"会车",
    "刮擦": r"刮擦|刮蹭|剐蹭|擦碰|[刮剐蹭]了|[刮剐]到",
    "撞固定物": r"撞固定物|撞[到上了]*(?:护栏|柱子?|墙|树|电线杆|路灯|石墩|隔离)",
}
CAUSES = (*_MANOEUVRES, "其他")
_PATTERNS = {label: re.compile(pattern) for label, pattern in _MANOEUVRES.items()}
_LONG_NUMBER = re.compile(r"[0-9]{6,}|[0-9](?:[ -]?[0-9]){10,}")  # the second: a phone or identity number written in groups
_FACILITIES = r"护栏|电线杆|绿化带|路灯|隔离[墩带栏]|信号灯|路牌|指示牌|限高杆|道闸|消防栓|花坛|栅栏|树|柱子|墙"
_STRUCK = r"(?:撞|碰|蹭|刮|怼|顶|冲|抱)"
_FACILITY = re.compile(
    rf"(?<!没有)(?<!没)(?<!差点)(?<!差一点就){_STRUCK}[^,，。没]{{0,6}}(?:{_FACILITIES})|(?:{_FACILITIES})[^,，。]{{0,5}}(?:撞|怼|蹭|"
    rf"倒了|断了|凹)"
)


def cause_label(text: str) -> str | None:
    """The first label a text names; hitting a fixed object is only said when no manoeuvre is."""
    found = {label: match.start() for label, pattern in _PATTERNS.items() if (match := pattern.search(text))}
    moved = {label: at for label, at in found.items() if label != "撞固定物"}
    return min(moved or found, key=lambda label: found[label], default=None)


def cause(raw: object, label: str) -> str:
    """A label, or the narrative. Raises FieldError."""
    text = ascii_digits(spoken_text(raw, label, MAX_CHARS))
    return cause_label(text) or _LONG_NUMBER.sub("*", text)


def names_facility(text: str) -> bool:
    """A public facility was hit: the case may need a report to its owner."""
    return _FACILITY.search(text) is not None
