"""Rates given on a command line, and draws that can be repeated.

A draw is a hash of seed, name and subject, so the same session is planted with the same differences in every run and in every process.
"""

import argparse
import hashlib
from collections.abc import Callable, Mapping, Sequence

_SPAN = 2**64


def is_drawn(rate: float, *, seed: int, name: str, subject: str) -> bool:
    """True for the share `rate` (0 to 1) of all subjects."""
    if rate <= 0:
        return False
    digest = hashlib.sha256(f"{seed}\x1f{name}\x1f{subject}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / _SPAN < rate


def rate_option(names: Sequence[str]) -> Callable[[str], tuple[str, float]]:
    """A type for argparse: `NAME=RATE`, with NAME out of `names` and RATE from 0 to 1."""

    def parse(text: str) -> tuple[str, float]:
        name, _, rate = text.partition("=")
        try:
            checked = checked_rates({name: float(rate or "1")}, names)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return name, checked[name]

    return parse


def rates_from_text(text: str, names: Sequence[str]) -> dict[str, float]:
    """`NAME=RATE,NAME=RATE`, as an environment variable holds it; empty for none. Raises ValueError."""
    pairs = (part.partition("=") for part in text.split(",") if part.strip())
    return checked_rates({name.strip(): float(rate or "1") for name, _, rate in pairs}, names)


def checked_rates(rates: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """The same rates. Raises ValueError for a name that is not known or a rate outside 0 to 1."""
    for name, rate in rates.items():
        if name not in names:
            raise ValueError(f"unknown name {name!r}; known: {', '.join(names)}")
        if not 0 <= rate <= 1:
            raise ValueError(f"{name}: a rate lies between 0 and 1")
    return dict(rates)
