"""A clock that stands still until it is moved."""

from datetime import datetime, timedelta


class FixedClock:
    def __init__(self, at: datetime) -> None:
        self.at = at
        self.ms = 0.0

    def now(self) -> datetime:
        return self.at

    def monotonic_ms(self) -> float:
        self.ms += 1.0
        return self.ms

    def advance(self, delta: timedelta) -> None:
        self.at += delta
