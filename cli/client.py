"""`crossfade client`: who may call."""

import asyncio
from dataclasses import asdict
from typing import Annotated

from cyclopts import App, Parameter
from pydantic import TypeAdapter, ValidationError

from cli.exit_codes import Exit
from cli.output import complain, messages, print_json
from contract.wire import Profile
from proxy.auth.api_key import new_key
from storage.clients import ClientExists, add_client, set_client_status
from wiring.database import open_database
from wiring.local_secrets import secret_or_local
from wiring.settings import Settings

SCOPES = ("chat:write", "session:read", "session:write")

app = App(name="client", help="Partner teams and their API keys.")


@app.command
def add(
    client_id: str,
    *,
    tenant: str,
    scope: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = SCOPES,
    profile: str = "{}",
    json: bool = False,
) -> int:
    """Create a client and print its key, this once: only a keyed hash is stored.

    Parameters
    ----------
    client_id
        Its name in plans, logs and reports.
    tenant
        The tenant whose sessions it sees.
    scope
        What it may do; all three by default.
    profile
        How its envelopes differ, as JSON: {"http_status_mode": "semantic"} (docs/contract.md lists the switches).
    json
        Print one JSON document.
    """
    try:
        switches = asdict(TypeAdapter(Profile).validate_json(profile))
    except ValidationError as error:
        complain(f"--profile: {error.errors(include_input=False)[0]['msg']}")
        return Exit.USAGE
    unknown = set(scope) - set(SCOPES)
    if unknown:
        complain(f"unknown scope {', '.join(sorted(unknown))}; there are {', '.join(SCOPES)}")
        return Exit.USAGE
    settings = Settings()
    made = new_key(secret_or_local(settings.auth.key_pepper, settings.state_dir, "key_pepper"))
    with open_database(settings) as database:
        try:
            asyncio.run(
                add_client(
                    database.migrator_dsn,
                    tenant_id=tenant,
                    client_id=client_id,
                    key_id=made.key_id,
                    credential_hash=made.secret_hash,
                    scopes=list(scope),
                    profile=switches,
                )
            )
        except ClientExists:
            complain(f"client {client_id} exists already")
            return Exit.CONFLICT
    if json:
        print_json({"schema_version": 1, "client_id": client_id, "tenant_id": tenant, "key": made.key, "scopes": list(scope)})
    else:
        messages.print("The key is shown this once:")
        print(made.key)
    return Exit.OK


@app.command
def disable(client_id: str, *, json: bool = False) -> int:
    """Refuse a client's key, on every proxy within about a second."""
    return _set_status(client_id, "disabled", json)


@app.command
def enable(client_id: str, *, json: bool = False) -> int:
    """Let a disabled client in again."""
    return _set_status(client_id, "active", json)


def _set_status(client_id: str, status: str, json: bool) -> int:
    with open_database(Settings()) as database:
        done = asyncio.run(set_client_status(database.migrator_dsn, client_id, status))
    if not done:
        complain(f"there is no client {client_id}")
        return Exit.NOT_FOUND
    if json:
        print_json({"schema_version": 1, "client_id": client_id, "status": status})
    else:
        messages.print(f"{client_id} is {status}")
    return Exit.OK
