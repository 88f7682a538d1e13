"""Who is talking to us: driver, passenger, witness, relative."""

import re

from domain.rules.field_error import FieldError
from domain.rules.wording import spoken_text

DRIVER = "当事人"
ROLES = (DRIVER, "乘客", "目击者", "家属或代报", "其他")

_FAMILY = "老公|老婆|爱人|孩子|儿子|女儿|父亲|母亲|爸|妈|朋友|同事|家人"
_DRIVER = r"我(?:自己)?(?:在)?开的?车|我开的|我是(?:司机|车主|驾驶|当事)|司机本人|驾驶人?本人"
_SYNONYMS = (
    (rf"(?:我|替)[^，。]{{0,4}}(?:{_FAMILY})[^，。]{{0,4}}(?:出|的车|开|撞|碰)|代报|替人报", "家属或代报"),
    (r"坐车的|乘客|坐在(?:后排|副驾)|我坐", "乘客"),
    (r"路过|目击|路人报", "目击者"),
    (rf"{_DRIVER}|^(?:司机|驾驶人|驾驶员|本人|车主|我自己|就是我)$", "当事人"),
)


def role_in(text: str) -> str | None:
    """The role a text states; None when it states none."""
    return next((role for pattern, role in _SYNONYMS if re.search(pattern, text)), None)


def reporter_role(raw: object, label: str) -> str:
    """One of ROLES. Raises FieldError: 报警人角色不正确."""
    text = spoken_text(raw, label, 20)
    role = text if text in ROLES else role_in(text)
    if role is None:
        raise FieldError("报警人角色不正确")
    return role
