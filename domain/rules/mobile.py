"""A mainland mobile number: 11 digits from 13 to 19. No operator table: ranges change and numbers move between operators."""

import re

from domain.rules.field_error import FieldError
from domain.rules.wording import digit_text, number_text

MOBILE = re.compile(r"1[3-9][0-9]{9}")
_PREFIX = re.compile(r"^(?:\+?86|0086)(?=1[3-9][0-9]{9}$)")


def mobile(raw: object, label: str) -> str:
    """Eleven ASCII digits. Raises FieldError: landline, length, prefix."""
    number = _PREFIX.sub("", re.sub(r"[()]", "", digit_text(number_text(raw, label, 30))))
    if MOBILE.fullmatch(number):
        return number
    if re.fullmatch(r"0[0-9]{9,11}|[2-9][0-9]{6,7}", number):
        raise FieldError("请提供手机号码，不支持座机")
    if not re.fullmatch(r"[0-9]{11}", number):
        raise FieldError("手机号应为11位数字")
    raise FieldError("手机号应以13至19开头")
