"""A mainland mobile number: 11 digits from 13 to 19. No operator table: ranges change and numbers move between operators."""

import re

import phonenumbers
from phonenumbers import PhoneNumber, PhoneNumberType

from domain.rules.field_error import FieldError
from domain.rules.wording import digit_text, number_text

MOBILE = re.compile(r"1[3-9][0-9]{9}")
_CHINA_CODE = 86
_LOCAL_LANDLINE = re.compile(r"[2-9][0-9]{6,7}")  # said without its area code


def mobile(raw: object, label: str) -> str:
    """Eleven ASCII digits. Raises FieldError: landline, length, prefix."""
    text = re.sub(r"[()]", "", digit_text(number_text(raw, label, 30)))
    parsed = _parsed(text)
    number = str(parsed.national_number) if parsed is not None and parsed.country_code == _CHINA_CODE else text
    if MOBILE.fullmatch(number):
        return number
    is_landline = parsed is not None and phonenumbers.number_type(parsed) == PhoneNumberType.FIXED_LINE
    if is_landline or _LOCAL_LANDLINE.fullmatch(text):
        raise FieldError("请提供手机号码，不支持座机")
    if not re.fullmatch(r"[0-9]{11}", number):
        raise FieldError("手机号应为11位数字")
    raise FieldError("手机号应以13至19开头")


def _parsed(text: str) -> PhoneNumber | None:
    """Country code and national number, however the former was dialled; None for what is no number anywhere."""
    try:
        return phonenumbers.parse(text, "CN")
    except phonenumbers.NumberParseException:
        return None
