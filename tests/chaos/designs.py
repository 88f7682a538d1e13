"""Wrong designs, each switched on in a victim by name: what the harness must catch (test_designs.py)."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """`install` puts it in, in the victim's process only, before wiring builds the proxy. `broken` is the invariant that must notice."""

    install: Callable[[], None]
    broken: str


def _nothing() -> None:
    """The product as it is."""


DESIGNS: dict[str, Design] = {"": Design(install=_nothing, broken="")}
