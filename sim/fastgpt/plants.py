"""Differences planted on purpose, so that a comparison can prove it sees them. Each has a rate per session.

early_photo: photos one question too early · time_off: "ten minutes ago" stored as now · plate_raw: last digit of a plate wrong ·
deaf_injury: symptoms not heard · handoff_as_complex: 0003 where 0001 is right · rude_text: another wording with a false promise ·
node_error: the chat node fails and says so only in its record · drop_mid_stream: the socket drops while answering · garbage: bytes that
are no answer · http_error_body: an error body under HTTP 200 · html_504: a gateway's page after the work was done.
"""

from collections.abc import Mapping

from sim.chance import checked_rates, is_drawn

PLANTS = (
    "early_photo",
    "time_off",
    "plate_raw",
    "deaf_injury",
    "handoff_as_complex",
    "rude_text",
    "node_error",
    "drop_mid_stream",
    "garbage",
    "http_error_body",
    "html_504",
)


class Planting:
    """The rates in force. A session keeps its draw for as long as the rate stays above it."""

    def __init__(self, rates: Mapping[str, float], seed: int) -> None:
        self._rates = checked_rates(rates, PLANTS)
        self._seed = seed

    def change(self, rates: Mapping[str, float]) -> dict[str, float]:
        """Set some rates; the others stay. Raises ValueError and changes nothing when a name or a rate is wrong."""
        self._rates |= checked_rates(rates, PLANTS)
        return dict(self._rates)

    def rates(self) -> dict[str, float]:
        return dict(self._rates)

    def for_session(self, chat_id: str) -> frozenset[str]:
        return frozenset(name for name, rate in self._rates.items() if is_drawn(rate, seed=self._seed, name=name, subject=chat_id))
