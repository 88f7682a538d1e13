"""A person's name: Han with a middle dot, or Latin."""

import re

from domain.rules.field_error import FieldError
from domain.rules.wording import spoken_text

_LEAD = re.compile(r"^(?:我的)?(?:姓名|名字)?(?:我叫|我是|他叫|她叫|对方叫|叫做?|是|[:：])+\s*")
_TITLE = re.compile(r"(?:先生|女士|小姐|师傅)$")
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af〇"
_NAME = re.compile(rf"(?:[{_HAN}]{{2,20}}|[{_HAN}]+(?:·[{_HAN}]+)+|[^\W\d_][^\W\d_ .'-]*(?:[ .'-]+[^\W\d_]+)*\.?)")
_HAN_ONLY = re.compile(rf"[{_HAN}·]+")


def person_name(raw: object, label: str) -> str:
    """Two to 20 characters. Raises FieldError: 姓名格式不正确."""
    text = re.sub(r"[•・‧]", "·", spoken_text(raw, label, 20))
    name = _TITLE.sub("", _LEAD.sub("", text)).strip(" 。.!！") or text
    if not 2 <= len(name) <= 20 or not _NAME.fullmatch(name):
        raise FieldError("姓名格式不正确")
    if re.search(rf"[{_HAN}]", name) and not _HAN_ONLY.fullmatch(name):
        raise FieldError("姓名格式不正确")
    if re.fullmatch(r"姓.|.姓|不知道|不清楚|没有|不想说", name):
        raise FieldError("姓名格式不正确")
    return name
