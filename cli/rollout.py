"""`crossfade rollout`: who is served by which backend."""

import asyncio
import copy
import getpass
import re
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter
from rich.table import Table

from cli.exit_codes import Exit
from cli.output import complain, console, messages, print_json
from domain.backend_name import BackendName
from domain.plan import PPM, Plan, plan_from_document
from wiring.database import Database, open_database
from wiring.services import open_plans
from wiring.settings import Settings

app = App(name="rollout", help="Who is served by which backend.")

_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,4})?)%?")


@app.command
def show(*, json: bool = False) -> int:
    """The plan in force."""
    with open_database(Settings()) as database:
        plan = asyncio.run(_latest(database))
    if json:
        print_json(_document(plan))
    else:
        _print(plan)
    return Exit.OK


@app.command(name="set")
def set_(
    *,
    caller: str | None = None,
    percent: Annotated[str | None, Parameter(help="Share of new sessions for LangGraph: 25 or 25%.")] = None,
    backend: Annotated[BackendName | None, Parameter(help="With --caller: all its new sessions. Alone: the default.")] = None,
    sample: Annotated[str | None, Parameter(help="Share of new sessions that is shadowed: 100 or 100%.")] = None,
    override: Annotated[
        Literal["fastgpt", "langgraph", "none"] | None,
        Parameter(help="Kill switch: every turn of everybody goes there; none lifts it."),
    ] = None,
    clear: Annotated[bool, Parameter(help="With --caller: drop its rule.", negative="")] = False,
    reason: str = "",
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    json: bool = False,
) -> int:
    """Publish a new plan: shares for everybody or one caller, and how much is shadowed. Only new sessions are affected.

    Parameters
    ----------
    caller
        A client id; without it the change is for everybody.
    reason
        Stored with the plan.
    dry_run
        Show the plan that would be published.
    json
        Print one JSON document.
    """
    try:
        change = _change(caller, percent, backend, sample, override, clear)
    except ValueError as error:
        complain(str(error))
        return Exit.USAGE
    with open_database(Settings()) as database:
        plan = asyncio.run(_publish(database, change, reason, dry_run))
    if json:
        print_json(_document(plan))
    else:
        messages.print(f"{'would be' if dry_run else 'published'}: version {plan.version}")
        _print(plan)
    return Exit.OK


def ppm(percent: str) -> int:
    """`25` or `25%` of a hundred. `0.25` may mean a quarter or a quarter of a percent, so it needs its sign. Raises ValueError."""
    match = _PERCENT.fullmatch(percent)
    if not match or float(match[1]) > 100:
        raise ValueError(f"{percent!r} is no percentage from 0 to 100")
    if "." in percent and float(match[1]) < 1 and not percent.endswith("%"):
        raise ValueError(f"{percent!r} is ambiguous: write {percent}% or {float(match[1]) * 100:g}%")
    return round(float(match[1]) * PPM / 100)


def _change(
    caller: str | None, percent: str | None, backend: BackendName | None, sample: str | None, override: str | None, clear: bool
) -> dict[str, Any]:
    """The wanted change as plain data. Raises ValueError."""
    if percent is None and backend is None and sample is None and override is None and not clear:
        raise ValueError("nothing to change: give --percent, --backend, --sample, --override or --clear")
    if override is not None and caller is not None:
        raise ValueError("--override is for everybody")
    if percent is not None and backend is not None:
        raise ValueError("--percent and --backend exclude each other")
    if clear and (caller is None or percent is not None or backend is not None):
        raise ValueError("--clear goes with --caller alone")
    return {
        "caller": caller,
        "ppm": None if percent is None else ppm(percent),
        "backend": backend,
        "sample_ppm": None if sample is None else ppm(sample),
        "override": override,
        "clear": clear,
    }


def changed_document(document: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Pure: the next plan's document."""
    after = copy.deepcopy(document)
    caller = change["caller"]
    if caller is None:
        if change["ppm"] is not None:
            after["traffic"] = {"langgraph_ppm": change["ppm"]}
        if change["backend"] is not None:
            after["default"] = str(change["backend"])
        if change["override"] is not None:
            after["override"] = None if change["override"] == "none" else change["override"]
        if change["sample_ppm"] is not None:
            after["shadow"]["sample_ppm"] = change["sample_ppm"]
        return after
    if change["clear"]:
        after["callers"].pop(caller, None)
    if change["ppm"] is not None:
        after["callers"][caller] = {"langgraph_ppm": change["ppm"]}
    if change["backend"] is not None:
        after["callers"][caller] = {"backend": str(change["backend"])}
    if change["sample_ppm"] is not None:
        after["shadow"].setdefault("callers", {})[caller] = {"sample_ppm": change["sample_ppm"]}
    return after


async def _latest(database: Database) -> Plan:
    async with open_plans(database) as plans:
        return await plans.latest()


async def _publish(database: Database, change: dict[str, Any], reason: str, dry_run: bool) -> Plan:
    async with open_plans(database) as plans:
        latest = await plans.latest()
        document = changed_document(dict(latest.document), change)
        if dry_run:
            return plan_from_document(document, version=latest.version + 1, author=getpass.getuser(), reason=reason)
        return await plans.publish(document, author=getpass.getuser(), reason=reason, based_on=latest.version)


def _document(plan: Plan) -> dict[str, Any]:
    return {"schema_version": 1, "version": plan.version, "author": plan.author, "reason": plan.reason, "plan": dict(plan.document)}


def _share(ppm_value: int) -> str:
    return f"{ppm_value * 100 / PPM:g} %"


def _print(plan: Plan) -> None:
    table = Table(
        title=f"Rollout plan, version {plan.version}", title_justify="left", caption=f"{plan.author}: {plan.reason or 'no reason given'}"
    )
    for column in ("who", "new sessions on LangGraph", "shadowed"):
        table.add_column(column)
    everybody = "override: all on " + plan.override if plan.override else f"{_share(plan.langgraph_ppm)}, the rest on {plan.default}"
    table.add_row("everybody", everybody, _share(plan.sample_ppm))
    for name in sorted({*plan.callers, *plan.caller_sample_ppm}):
        rule = plan.callers.get(name)
        told = "as everybody" if rule is None else f"all on {rule.backend}" if rule.backend else _share(rule.langgraph_ppm or 0)
        table.add_row(name, told, _share(plan.caller_sample_ppm.get(name, plan.sample_ppm)))
    console.print(table)
