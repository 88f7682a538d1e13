"""Local time of the place the workflow serves. A request's `now` beats the wall clock; it counts for that request alone."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

LOCAL = timezone(timedelta(hours=8), "Asia/Shanghai")
NOW_VARIABLE = "now"


def local_now(sent: Mapping[str, Any], wall: datetime | None = None) -> datetime:
    """Without zone, because the flow knows local time only. An unreadable `now` is passed over."""
    told = sent.get(NOW_VARIABLE)
    if isinstance(told, str):
        try:
            at = datetime.fromisoformat(told.strip())
        except ValueError:
            at = None
        if at is not None:
            return (at if at.tzinfo is None else at.astimezone(LOCAL)).replace(tzinfo=None)
    return (wall or datetime.now(UTC)).astimezone(LOCAL).replace(tzinfo=None)
