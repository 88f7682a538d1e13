"""The one place that asks the machine for the time."""

import time
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000


class FixedClock:
    """Stands still at `moment`; `settings` refuse it in production."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000
