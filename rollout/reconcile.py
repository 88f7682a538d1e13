"""Find where a backend's own copy of a session contradicts the session, and mend it. The session is right: what is mended is the copy.

A chat that says otherwise is given up, and the next turn seeds a fresh one; a checkpoint that says otherwise is dropped, and the next turn
writes it anew.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

from contract.ports import Backend, HeldSession, SessionStore
from domain.backend_name import BackendName
from domain.errors import BackendError, SessionBusy, SessionErased

PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """`differences` by backend; `unknown` says why a copy could not be looked at; `is_mended` only when there was something to mend."""

    tenant_id: str
    session_id: str
    differences: Mapping[BackendName, tuple[str, ...]]
    unknown: Mapping[BackendName, str]
    is_mended: bool = False


async def reconcile(
    store: SessionStore, backends: Mapping[BackendName, Backend], *, tenant_id: str | None, session_id: str | None, mend: bool
) -> AsyncGenerator[Examined]:
    """One session, or all of a tenant's or of everybody's, in order. A busy session is told as unknown and left alone."""
    if session_id is not None:
        if tenant_id is None:
            raise ValueError("a session id needs its tenant")
        if (found := await _examined(store, backends, tenant_id, session_id, mend)) is not None:
            yield found
        return
    after = ("", "")
    while page := await store.known(tenant_id=tenant_id, after=after, limit=PAGE):
        for tenant, session in page:
            if (found := await _examined(store, backends, tenant, session, mend)) is not None:
                yield found
        after = page[-1]


async def _examined(
    store: SessionStore, backends: Mapping[BackendName, Backend], tenant_id: str, session_id: str, mend: bool
) -> Examined | None:
    try:
        held = await store.hold(tenant_id, session_id)
    except SessionErased:
        return None
    except SessionBusy:
        return Examined(tenant_id=tenant_id, session_id=session_id, differences={}, unknown=dict.fromkeys(backends, "busy"))
    if held is None:
        return None
    is_given_back = False
    try:
        differences, unknown = await _compared(backends, held)
        if differences and mend:
            is_given_back = await _mended(store, backends, held, differences)
        return Examined(
            tenant_id=tenant_id, session_id=session_id, differences=differences, unknown=unknown, is_mended=bool(differences) and mend
        )
    finally:
        if not is_given_back:
            await store.release(held)


_Differences = dict[BackendName, tuple[str, ...]]


async def _compared(backends: Mapping[BackendName, Backend], held: HeldSession) -> tuple[_Differences, dict[BackendName, str]]:
    differences: _Differences = {}
    unknown: dict[BackendName, str] = {}
    for name, backend in backends.items():
        try:
            if names := await backend.drift(held):
                differences[name] = names
        except BackendError as error:
            unknown[name] = error.failure.kind
    return differences, unknown


async def _mended(
    store: SessionStore, backends: Mapping[BackendName, Backend], held: HeldSession, differences: Mapping[BackendName, tuple[str, ...]]
) -> bool:
    """True when the session was given back by it."""
    is_given_up = False
    for name in differences:
        if held.opened.state.memory is not None and name is held.opened.served_by:
            is_given_up = True
        else:
            await backends[name].forget(held.tenant_id, held.session_id, ())
    if is_given_up:
        await store.distrust(held)
    return is_given_up
