"""Find phone numbers, identity numbers and plates in running text, and hide them from anyone who must not see them."""

import re
from datetime import date, datetime

from domain.rules.accident_time import CHINA
from domain.rules.field_error import FieldError
from domain.rules.identity_number import identity_number, identity_text, is_plausible_old_series
from domain.rules.mobile import MOBILE, mobile
from domain.rules.plate import AMBIGUOUS, HOMOPHONES, NAME_ENDINGS, PROVINCE_NAMES, PROVINCES, Plate, is_special_plate, plate
from domain.rules.wording import normal
from domain.session import FieldValue

_SAID_DIGIT = r"0-9零〇○洞一幺妖腰二两三四五六七拐八九勾"
_SAID_NUMBER = re.compile(rf"\+?[{_SAID_DIGIT}][{_SAID_DIGIT}\s\-—–_.·]{{4,60}}[{_SAID_DIGIT}](?:[xX]|叉|×|\*|艾克斯|埃克斯)?")
_GAP = r" ?[·•.\-]? ?"  # texts are normalised, so spaces stand alone
_HEARD = "".join(HOMOPHONES)
_SERIAL = rf"(?:[A-Za-z{_SAID_DIGIT}]{_GAP}){{4,6}}"
_SAID_PLATE = re.compile(
    rf"(?:(?:{'|'.join(PROVINCE_NAMES)})(?:{'|'.join(NAME_ENDINGS)})?|[{PROVINCES}{_HEARD}{AMBIGUOUS}]){_GAP}[A-Za-z]{_GAP}{_SERIAL}[港澳学警领挂]?"
    rf"|[{_SAID_DIGIT}]{{6}}使"
    rf"|[Ww][Jj]{_GAP}[{PROVINCES}]?{_GAP}{_SERIAL}[{PROVINCES}]?{_SERIAL}?"
    rf"|[军海空]{_GAP}[A-Za-z]{_GAP}{_SERIAL}"
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
    """A valid identity number in a text, of 18 characters, or of 15 that somebody may really hold (completed)."""
    today = now.astimezone(CHINA).date()
    return next((found for number in said_numbers(text) if (found := _identity(number, today)) is not None), None)


def _identity(number: str, today: date) -> str | None:
    if len(number) != 18 and not is_plausible_old_series(number, today):
        return None
    try:
        return identity_number(number, "", today)
    except FieldError:
        return None


def said_plate(text: str) -> Plate | None:
    """The first plate in a text. A spoken digit behind it may belong to the sentence (京A12345一辆): the last one may be dropped."""
    for said in _plates_in(text):
        for piece in (said, said[:-1]):
            try:
                return plate(piece, "")
            except FieldError:
                continue
    return None


def said_special_plate(text: str) -> bool:
    """The text names a plate of the forces, the armed police or the old government series."""
    return any(is_special_plate(said) for said in _plates_in(text))


def said_unclear_province(text: str) -> bool:
    """The text names a plate whose first word may be two provinces: it has to be said again."""
    return any(said.startswith(AMBIGUOUS) for said in _plates_in(text))


def _plates_in(text: str) -> list[str]:
    return [match.group().strip() for match in _SAID_PLATE.finditer(normal(text))]


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
