"""`crossfade contract check`: does an address answer as partners were promised?"""

import asyncio
import os
import re
from typing import Annotated

import httpx
from cyclopts import App, Parameter
from rich.markup import escape
from rich.table import Table

from cli.exit_codes import Exit
from cli.output import complain, console, print_json
from conformance.caller import Caller, KeyRejected
from conformance.checks import Result, run_checks

app = App(name="contract", help="The partners' wire.")
SECONDS = 60.0


@app.command
def check(
    url: str,
    *,
    key: Annotated[str | None, Parameter(help="The API key; without it CROSSFADE_KEY is taken.")] = None,
    core: Annotated[bool, Parameter(help="Leave out what Crossfade adds to the service it replaces.", negative="")] = False,
    json: bool = False,
) -> int:
    """Play a partner against a service: about 90 short calls in sessions of its own, each promise judged by itself.

    Parameters
    ----------
    url
        Where /chat, /set_info and /get_info are: http://host:8000
    json
        Print one JSON document.
    """
    api_key = key or os.environ.get("CROSSFADE_KEY")
    if not api_key:
        complain("give --key, or set CROSSFADE_KEY")
        return Exit.USAGE
    if not _is_address(url):
        complain("the address must begin with http:// or https:// and name a host")
        return Exit.USAGE
    try:
        results = asyncio.run(_run(url, api_key, core=core))
    except KeyRejected:
        complain("the service does not accept this key")
        return Exit.REFUSED
    except httpx.HTTPError as error:
        complain(f"the service did not answer ({type(error).__name__})")
        return Exit.UNREACHABLE
    has_failed = not all(result.has_passed for result in results)
    if json:
        rows = [
            {"check": one.check.name, "says": one.check.says, "passed": one.has_passed, "expected": one.expected, "seen": one.seen}
            for one in results
        ]
        print_json({"schema_version": 1, "ok": not has_failed, "checks": rows})
    else:
        _print(results)
    return Exit.FAILED if has_failed else Exit.OK


def _is_address(url: str) -> bool:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parsed.scheme in ("http", "https") and bool(re.fullmatch(r"[A-Za-z0-9.:-]+", parsed.host))


async def _run(url: str, api_key: str, *, core: bool) -> list[Result]:
    async with httpx.AsyncClient(base_url=url.rstrip("/"), timeout=SECONDS) as http:
        return [result async for result in run_checks(Caller(http, api_key, core=core, seconds=SECONDS))]


def _print(results: list[Result]) -> None:
    table = Table(title="The partners' wire", title_justify="left")
    for column in ("", "check", "promise", "expected", "seen"):
        table.add_column(column)
    for one in results:
        mark = "[green]✓[/]" if one.has_passed else "[red]✗[/]"
        table.add_row(mark, one.check.name, one.check.says, escape(one.expected), escape(one.seen))  # a service may say anything
    console.print(table)
    passed = sum(one.has_passed for one in results)
    console.print(f"{passed} of {len(results)} promises kept", highlight=False)
