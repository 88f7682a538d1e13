"""`crossfade session`: look at one session, move it to the other backend, erase what was said in it."""

import asyncio
import getpass
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table

from cli.exit_codes import Exit
from cli.output import complain, console, messages, print_json
from domain.backend_name import BackendName
from domain.errors import BackendError, SessionBusy, SessionErased
from rollout.handover import moved_by_operator
from wiring.database import Database, open_database
from wiring.services import open_operator
from wiring.settings import Settings

app = App(name="session", help="One session: show it, move it, erase it.")
_BUSY = "a turn of this session is running; try again"
_ERASED = "this session was erased"
_UNKNOWN = "there is no such session"


@app.command
def show(session: str, *, tenant: str, json: bool = False) -> int:
    """Where a session stands and who serves it; nothing of what was said."""
    settings = Settings()
    with open_database(settings) as database:
        try:
            told = asyncio.run(_show(settings, database, tenant, session))
        except SessionBusy:
            complain(_BUSY)
            return Exit.CONFLICT
        except SessionErased:
            complain(_ERASED)
            return Exit.NOT_FOUND
    if told is None:
        complain(_UNKNOWN)
        return Exit.NOT_FOUND
    if json:
        print_json({"schema_version": 1, **told})
        return Exit.OK
    table = Table(show_header=False)
    for name, value in told.items():
        table.add_row(name, str(value))
    console.print(table)
    return Exit.OK


@app.command
def move(session: str, *, tenant: str, to: BackendName, reason: Annotated[str, Parameter(help="Stored with the move.")] = "") -> int:
    """Give a session to the other backend, from its next turn on. Refused when something would be lost; that is then named."""
    settings = Settings()
    with open_database(settings) as database:
        try:
            return asyncio.run(_move(settings, database, tenant, session, to, reason))
        except SessionBusy:
            complain(_BUSY)
            return Exit.CONFLICT
        except SessionErased:
            complain(_ERASED)
            return Exit.NOT_FOUND


@app.command
def erase(
    session: str, *, tenant: str, yes: Annotated[bool, Parameter(help="Really; this cannot be taken back.", negative="")] = False
) -> int:
    """Erase what was said in a session: here, in the shadow's records, in checkpoints and upstream. Afterwards its id answers 410."""
    if not yes:
        complain("this cannot be taken back: repeat with --yes")
        return Exit.USAGE
    settings = Settings()
    with open_database(settings) as database:
        try:
            return asyncio.run(_erase(settings, database, tenant, session))
        except SessionBusy:
            complain(_BUSY)
            return Exit.CONFLICT


async def _show(settings: Settings, database: Database, tenant: str, session: str) -> dict[str, object] | None:
    async with open_operator(settings, database) as operator:
        held = await operator.sessions.hold(tenant, session)
        if held is None:
            return None
        await operator.sessions.release(held)
        opened, pin = held.opened, held.pin
        other = operator.backends.get(pin.backend.other)
        return {
            "tenant": tenant,
            "session": session,
            "client": held.client_id,
            "stage": opened.state.stage,
            "version": opened.state.version,
            "fields_known": sorted(key for key, value in opened.state.form.items() if value is not None),
            "pinned_to": pin.backend,
            "pinned_because": pin.reason,
            "served_by": opened.served_by,
            "upstream_in_step": opened.state.memory is not None,
            "lost_if_moved": list(other.lost(opened.state)) if other else [],
        }


async def _move(settings: Settings, database: Database, tenant: str, session: str, to: BackendName, reason: str) -> int:
    async with open_operator(settings, database) as operator:
        held = await operator.sessions.hold(tenant, session)
        if held is None:
            complain(_UNKNOWN)
            return Exit.NOT_FOUND
        if held.pin.backend is to:
            await operator.sessions.release(held)
            messages.print(f"already on {to}")
            return Exit.OK
        pin, made = moved_by_operator(held.pin, to, lost=operator.backends[to].lost(held.opened.state))
        await operator.sessions.move(held, pin, made, author=getpass.getuser(), reason=reason)
    if made.is_refused:
        complain(f"stays on {made.source}: {to} has no place for {', '.join(made.lost)}")
        return Exit.REFUSED
    messages.print(f"on {to} from its next turn on")
    return Exit.OK


async def _erase(settings: Settings, database: Database, tenant: str, session: str) -> int:
    """Ours first; what an upstream did not delete can be asked for again, its names are kept."""
    async with open_operator(settings, database) as operator:
        try:
            held = await operator.sessions.hold(tenant, session)
            if held is None:
                complain(_UNKNOWN)
                return Exit.NOT_FOUND
            await operator.sessions.erase(held)
        except SessionErased:
            messages.print("erased here before; asking the backends again")
        memories = await operator.sessions.memories(tenant, session)
        left: list[str] = []
        for name, backend in operator.backends.items():
            try:
                await backend.forget(tenant, session, memories)
            except BackendError as error:
                left.append(f"{name} ({error.failure.kind})")
    if settings.shadow_enabled:
        async with open_operator(settings, database, "shadow") as shadow:
            if (langgraph := shadow.backends.get(BackendName.LANGGRAPH)) is not None:  # a shadow chat of FastGPT ends with its replay
                await langgraph.forget(tenant, session, ())
    if left:
        complain(f"erased here, but not at {', '.join(left)}: run this again")
        return Exit.FAILED
    messages.print("erased")
    return Exit.OK
