"""The partners' door over a real PostgreSQL, with backends a test chooses: everything but the upstreams is the real thing."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import asyncpg
import httpx
from starlette.types import ASGIApp

from contract.ports import Backend, Clock
from domain.backend_name import BackendName
from domain.plan import INITIAL_PLAN, PPM
from proxy.app import build_app
from proxy.auth.api_key import ApiKeyAuth, new_key
from proxy.plan_view import PlanView
from proxy.routes import Doors
from proxy.turn_path import TurnPath
from storage.clients import ClientRows, add_client
from storage.engine import open_pool
from storage.plans import PlanRows
from storage.turns import TurnRows
from wiring.database import Database

PEPPER = "pepper-of-tests"
SCOPES = ("chat:write", "session:read", "session:write")


@dataclass(slots=True)
class House:
    app: ASGIApp
    http: httpx.AsyncClient
    pool: asyncpg.Pool
    store: TurnRows
    plans: PlanRows
    view: PlanView
    doors: Doors
    database: Database
    backends: Mapping[BackendName, Any]
    keys: dict[str, str] = field(default_factory=dict)

    async def add_caller(self, name: str = "acme", *, tenant: str = "t1", scopes: tuple[str, ...] = SCOPES, **profile: Any) -> str:
        made = new_key(PEPPER)
        await add_client(
            self.database.migrator_dsn,
            tenant_id=tenant,
            client_id=name,
            key_id=made.key_id,
            credential_hash=made.secret_hash,
            scopes=list(scopes),
            profile=profile,
        )
        self.keys[name] = made.key
        return made.key

    async def call(self, path: str, body: Any, *, caller: str = "acme", **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else None
        return await self.http.post(
            path,
            content=content,
            json=None if content is not None else body,
            headers={"X-API-Key": self.keys[caller], **{name.replace("_", "-"): value for name, value in headers.items()}},
        )

    async def chat(
        self, session: str, text: str, *, stream: bool = False, form: bool = True, caller: str = "acme", **headers: str
    ) -> httpx.Response:
        path = "/chat?stream=true" if stream else "/chat"
        return await self.call(path, {"sessionId": session, "text": text, "needFormUpdate": form}, caller=caller, **headers)

    async def publish(self, **changes: Any) -> None:
        latest = await self.plans.latest()
        await self.plans.publish({**latest.document, **changes}, author="test", reason="", based_on=latest.version)
        await self.view.refresh()


@asynccontextmanager
async def open_house(
    database: Database,
    backends: Mapping[BackendName, Backend],
    clock: Clock,
    *,
    process_backend: BackendName | None = None,
    wait_seconds: float = 2.0,
    default: BackendName = BackendName.LANGGRAPH,
    shadow_enabled: bool = True,
) -> AsyncGenerator[House]:
    """Every session sampled for shadow; callers `acme` of tenant t1 and `rival` of tenant t2."""
    async with open_pool(database.app_dsn, name="test-house", size=8) as pool:
        store = TurnRows(pool, lease_seconds=30, wait_seconds=wait_seconds, keep_replies=timedelta(hours=1))
        plans = PlanRows(pool)
        view = PlanView(plans, poll_seconds=3600)
        path = TurnPath(store=store, backends=backends, plans=view, process_backend=process_backend, shadow_enabled=shadow_enabled)
        doors = Doors(auth=ApiKeyAuth(ClientRows(pool), clock, pepper=PEPPER), path=path, clock=clock)
        app = build_app(doors, {})
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://proxy") as http:
            house = House(
                app=app, http=http, pool=pool, store=store, plans=plans, view=view, doors=doors, database=database, backends=backends
            )
            await house.publish(
                default=default, callers={}, override=None, shadow={"sample_ppm": PPM, "callers": {}}, traffic=INITIAL_PLAN["traffic"]
            )
            for name, tenant in (("acme", "t1"), ("rival", "t2")):
                house.keys[name] = await _known_key(house, name, tenant)
            yield house


_known: dict[tuple[str, str], str] = {}  # a key is shown once, so the module's database and its keys belong together


async def _known_key(house: House, name: str, tenant: str) -> str:
    known = _known.get((house.database.name, name))
    if known is None:
        known = _known[house.database.name, name] = await house.add_caller(name, tenant=tenant)
    return known
