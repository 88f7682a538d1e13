"""Find phone numbers, identity numbers and plates in running text, and hide them from anyone who must not see them."""

import re
from datetime import datetime

from domain.rules.accident_time import CHINA
from domain.rules.field_error import FieldError
from domain.rules.identity_number import identity_number, identity_text
from domain.rules.mobile import MOBILE, mobile
from domain.rules.plate import PROVINCE_NAMES, PROVINCES, Plate, plate
from domain.rules.wording import normal
from domain.session import FieldValue

_SAID_DIGIT = r"0-9零〇○洞一幺妖腰二两三四五六七拐八九勾"
_SAID_NUMBER = re.compile(rf"\+?[{_SAID_DIGIT}][{_SAID_DIGIT}\s\-—–_.·]{{4,60}}[{_SAID_DIGIT}](?:[xX]|叉|×|\*|艾克斯|埃克斯)?")
_SAID_PLATE = re.compile(
    rf"(?:{'|'.join(PROVINCE_NAMES)}|[{PROVINCES}])\s*[·•.\-]?\s*[A-Za-z]\s*[·•.\-]?\s*(?:[A-Za-z{_SAID_DIGIT}]\s*[·•.\-]?\s*){{4,6}}[港澳学警领挂]?"
    rf"|[{PROVINCES}]?[0-9]{{6}}使"
)


def said_numbers(text: str) -> list[str]:
    """Runs of digits, written or spoken, at least six long, as identity text (digits and a last X); a run with spaces also piece by piece,
    because a space may stand inside a number or between two."""
    runs = [match.group() for match in _SAID_NUMBER.finditer(normal(text))]
    pieces = [piece for run in runs if " " in run for piece in run.split(" ")]
    return [identity_text(run) for run in (*runs, *pieces)]


def said_mobile(text: str) -> str | None:
    for number in said_numbers(text):
        try:
            return mobile(number, "")
        except FieldError:
            continue
    return None


def said_identity(text: str, now: datetime) -> str | None:
    """A valid 18-character identity number in a text."""
    for number in said_numbers(text):
        try:
            if len(number) == 18:
                return identity_number(number, "", now.astimezone(CHINA).date())
        except FieldError:
            continue
    return None


def said_plate(text: str) -> Plate | None:
    for match in _SAID_PLATE.finditer(normal(text)):
        try:
            return plate(match.group().strip(), "")
        except FieldError:
            continue
    return None


def number_candidates(text: str, party: int, now: datetime) -> dict[str, FieldValue]:
    """Whole valid numbers of one party, by field; they still need a "yes"."""
    found = {f"sfzmhm{party}": said_identity(text, now), f"sjhm{party}": said_mobile(text)}
    return {key: value for key, value in found.items() if value is not None}


def hidden(text: str) -> str:
    """The text for a model: plates, identity and phone numbers and other long digit runs replaced by what kind of thing they are."""
    plain = normal(text)
    masked = _SAID_NUMBER.sub(lambda match: _mark(identity_text(match.group())), _SAID_PLATE.sub("⟦PLATE⟧", plain))
    return text if masked == plain else masked


def _mark(number: str) -> str:
    if len(number) in (15, 18):
        return "⟦ID⟧"
    if MOBILE.search(number) and len(number) <= 15:
        return "⟦PHONE⟧"
    return f"⟦DIGITS:{len(number)}⟧"
