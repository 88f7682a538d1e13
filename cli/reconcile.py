"""`crossfade reconcile`: does every copy of a session say what the session says?"""

import asyncio
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from cli.exit_codes import Exit
from cli.output import complain, console, print_json
from rollout.reconcile import Examined, reconcile
from wiring.database import Database, open_database
from wiring.services import open_operator
from wiring.settings import Settings


def reconcile_command(
    *,
    tenant: str | None = None,
    session: str | None = None,
    mend: Annotated[bool, Parameter(negative="")] = False,
    json: bool = False,
) -> int:
    """Compare checkpoints and FastGPT chats with the sessions they copy; exit 1 when a difference is left.

    Parameters
    ----------
    tenant
        Only this tenant's sessions.
    session
        Only this one; needs --tenant.
    mend
        Give up a chat that differs (the next turn seeds a fresh one), drop a checkpoint that differs. The session is always right.
    json
        Print one JSON document.
    """
    if session is not None and tenant is None:
        complain("--session needs --tenant")
        return Exit.USAGE
    settings = Settings()
    with open_database(settings) as database:
        count, found = asyncio.run(_examine(settings, database, tenant, session, mend))
    if json:
        print_json({"schema_version": 1, "examined": count, "sessions": [_row(one) for one in found]})
    else:
        _print(count, found)
    return Exit.FAILED if any((one.differences and not one.is_mended) or one.unknown for one in found) else Exit.OK


async def _examine(
    settings: Settings, database: Database, tenant: str | None, session: str | None, mend: bool
) -> tuple[int, list[Examined]]:
    """How many were looked at, and those with something to tell."""
    count, found = 0, list[Examined]()
    async with open_operator(settings, database) as operator:
        async for one in reconcile(operator.sessions, operator.backends, tenant_id=tenant, session_id=session, mend=mend):
            count += 1
            if one.differences or one.unknown:
                found.append(one)
    return count, found


def _row(one: Examined) -> dict[str, object]:
    return {
        "tenant": one.tenant_id,
        "session": one.session_id,
        "differences": {str(name): list(names) for name, names in one.differences.items()},
        "unknown": {str(name): why for name, why in one.unknown.items()},
        "mended": one.is_mended,
    }


def _print(count: int, found: list[Examined]) -> None:
    if found:
        table = Table(title="Copies that differ from their session", title_justify="left")
        for column in ("tenant", "session", "backend", "what differs", "mended"):
            table.add_column(column)
        for one in found:
            for name, names in one.differences.items():
                table.add_row(one.tenant_id, one.session_id, name, ", ".join(names), "yes" if one.is_mended else "no")
            for name, why in one.unknown.items():
                table.add_row(one.tenant_id, one.session_id, name, f"not known: {why}", "no")
        console.print(table)
    console.print(f"{count} sessions examined, {len(found)} with something to tell", highlight=False)
