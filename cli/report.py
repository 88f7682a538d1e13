"""`crossfade report`: what the shadow found."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from cli.exit_codes import Exit
from cli.output import complain, console, messages
from domain.evidence import Overview
from reports.overview import overview_report
from reports.render import as_html, as_json, print_terminal
from wiring.database import Database, open_database
from wiring.services import open_overview
from wiring.settings import Settings

app = App(name="report", help="What the shadow found.")

_SPAN = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@app.command
def overview(
    *,
    since: str | None = None,
    latest: int = 20,
    json: bool = False,
    html: Annotated[Path | None, Parameter(help="Write one self-contained HTML file here.")] = None,
) -> int:
    """Agreement per kind, the ledger, the stage confusion matrix, differences by signature, and the newest ones.

    Parameters
    ----------
    since
        Turns received since then: 24h, 7d, 30m, or an ISO time. Everything by default.
    latest
        How many of the newest differences to show.
    json
        Print one JSON document instead of tables.
    """
    now = datetime.now(UTC)
    try:
        start = None if since is None else moment(since, now)
    except ValueError:
        complain("--since takes a span such as 24h or 7d, or an ISO time")
        return Exit.USAGE
    with open_database(Settings()) as database:
        report = overview_report(asyncio.run(read_overview(database, start, latest)), now)
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(as_html(report), encoding="utf-8")
        messages.print(f"written: {html}")
    if json:
        console.file.write(as_json(report).decode())
    elif html is None:
        print_terminal(report, console)
    return Exit.OK


async def read_overview(database: Database, since: datetime | None, latest: int) -> Overview:
    async with open_overview(database) as source:
        return await source.overview(since=since, latest=latest)


def moment(since: str, now: datetime) -> datetime:
    """A span back from now, or an ISO time (without an offset: UTC). Raises ValueError."""
    span = _SPAN.fullmatch(since)
    if span:
        return now - timedelta(**{_UNITS[span[2]]: int(span[1])})
    parsed = datetime.fromisoformat(since)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
