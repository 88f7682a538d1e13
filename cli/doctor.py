"""`crossfade doctor`: is everything that a turn needs there?"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from cli.exit_codes import Exit
from cli.output import console, print_json
from contract.ports import Backend
from domain.errors import BackendError, StoreUnavailable
from storage.engine import DATABASE_ERRORS, check_connection
from wiring.backends import MissingSetting, open_backends
from wiring.clock import SystemClock
from wiring.database import Database, open_database
from wiring.services import open_plans
from wiring.settings import Settings


def doctor(*, json: bool = False) -> int:
    """Check settings, database, roles, plan and both backends; say what is wrong in words.

    Parameters
    ----------
    json
        Print one JSON document.
    """
    settings = Settings()
    with open_database(settings) as database:
        found = asyncio.run(_examine(settings, database))
    problems = {name: one.problem for name, one in found.items()}
    if json:
        print_json(
            {
                "schema_version": 1,
                "ok": not any(problems.values()),
                "checks": {name: problem or "ok" for name, problem in problems.items()},
                "serving": {name: one.what for name, one in found.items() if one.what},
                "facts": {name: dict(one.facts) for name, one in found.items() if one.facts},
            }
        )
    else:
        for name, one in found.items():
            told = f" ({one.what})" if one.what else ""
            console.print(f"[red]✗[/] {name}{told}: {one.problem}" if one.problem else f"[green]✓[/] {name}{told}", highlight=False)
            for fact, words in one.facts.items():
                console.print(f"    {fact}: {words}", highlight=False)
    return Exit.FAILED if any(problems.values()) else Exit.OK


@dataclass(frozen=True, slots=True)
class _Found:
    problem: str | None
    what: str = ""  # what was looked at, when its name does not say it
    facts: Mapping[str, str] = field(default_factory=dict[str, str])


async def _examine(settings: Settings, database: Database) -> dict[str, _Found]:
    found = {"settings": _Found(None)}
    roles = {"app": database.app_dsn, "shadow": database.shadow_dsn, "reader": database.reader_dsn, "migrator": database.migrator_dsn}
    for name, dsn in roles.items():
        found[f"database as {name}"] = _Found(await _problem(lambda dsn=dsn: check_connection(dsn)))
    found["rollout plan"] = _Found(await _problem(lambda: _plan(database)))
    try:
        async with open_backends(settings, database, SystemClock(), "live") as backends:
            for name, backend in backends.items():
                found[f"backend {name}"] = await _backend(backend)
    except MissingSetting as error:
        found["backends"] = _Found(str(error))
    return found


async def _backend(backend: Backend) -> _Found:
    problem, facts = await backend.probe(), dict[str, str]()
    if problem is None:
        try:
            examined = await backend.examine()
        except BackendError as error:
            problem = f"could not be looked at: {error.failure.kind} ({error.failure.note})"
        else:
            problem, facts = "; ".join(examined.problems) or None, dict(examined.facts)
    return _Found(problem, backend.describe(), facts)


async def _problem(check: Callable[[], Awaitable[None]]) -> str | None:
    try:
        await check()
    except (*DATABASE_ERRORS, StoreUnavailable, RuntimeError) as error:
        return f"{type(error).__name__}; did `crossfade migrate` run?"
    return None


async def _plan(database: Database) -> None:
    async with open_plans(database) as plans:
        await plans.latest()
