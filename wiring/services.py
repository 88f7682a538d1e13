"""Opens what a process needs, in order, and closes it in reverse. Nothing else in the house opens a connection."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

import asyncpg
from starlette.types import ASGIApp

from contract.ports import Backend, Clock, OverviewSource, PlanStore, SessionStore
from domain.backend_name import BackendName
from domain.errors import StoreUnavailable
from proxy.app import build_app
from proxy.auth.api_key import ApiKeyAuth
from proxy.health import Check
from proxy.plan_view import PlanView
from proxy.routes import Doors
from proxy.turn_path import TurnPath
from shadow.worker import ShadowWorker
from storage.clients import ClientRows
from storage.engine import open_engine, open_pool
from storage.evidence import EvidenceRows
from storage.plans import PlanRows
from storage.sessions import SessionRows
from storage.shadow_queue import ShadowRows
from storage.turns import TurnRows
from wiring.backends import MissingSetting, Namespace, open_backends
from wiring.clock import SystemClock
from wiring.database import Database
from wiring.local_secrets import secret_or_local
from wiring.settings import Settings


@dataclass(frozen=True, slots=True)
class Proxy:
    app: ASGIApp
    doors: Doors


@asynccontextmanager
async def open_proxy(settings: Settings, database: Database, clock: Clock | None = None) -> AsyncGenerator[Proxy]:
    """The partners' door with everything behind it. At the end streamed turns get `shutdown_seconds` to finish."""
    clock = clock or SystemClock()
    async with (
        open_pool(database.app_dsn, name="crossfade-proxy", size=settings.database.pool_size) as pool,
        open_backends(settings, database, clock, "live") as backends,
    ):
        store = _turn_rows(pool, settings)
        serving = the_only_one(settings.agent_backend, backends)
        plans = PlanView(PlanRows(pool), poll_seconds=settings.rollout.poll_seconds)
        await plans.refresh()
        path = TurnPath(
            store=store,
            backends=backends,
            plans=plans,
            process_backend=serving,
            shadow_enabled=settings.shadow_enabled and len(backends) > 1,
        )
        pepper = secret_or_local(settings.auth.key_pepper, settings.state_dir, "key_pepper")
        doors = Doors(auth=ApiKeyAuth(ClientRows(pool), clock, pepper=pepper), path=path, clock=clock, policy=settings.policy)
        keeping_fresh = asyncio.create_task(plans.keep_fresh())
        try:
            yield Proxy(build_app(doors, _readiness(store, plans, backends)), doors)
        finally:
            keeping_fresh.cancel()
            with suppress(asyncio.CancelledError):
                await keeping_fresh
            await _finish(doors.tasks, settings.server.shutdown_seconds)


def the_only_one(agent_backend: BackendName | None, backends: Mapping[BackendName, Backend]) -> BackendName | None:
    """What serves everything in this process: AGENT_BACKEND, or the one backend this build has, whatever plans and pins of before say.
    Raises MissingSetting: AGENT_BACKEND names a backend that was taken out."""
    if agent_backend is not None and agent_backend not in backends:
        raise MissingSetting(f"AGENT_BACKEND is {agent_backend}, which this build does not have")
    return next(iter(backends)) if len(backends) == 1 else agent_backend


async def _finish(tasks: set[asyncio.Task[None]], seconds: float) -> None:
    """Let turns end by themselves, then end them."""
    if tasks:
        _, late = await asyncio.wait(set(tasks), timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=1.0)


def _readiness(store: TurnRows, plans: PlanView, backends: Mapping[BackendName, Backend]) -> Mapping[str, Check]:
    async def postgresql() -> str | None:
        try:
            await store.ping()
        except StoreUnavailable:
            return "unreachable"
        return None

    async def rollout_plan() -> str | None:
        return None if plans.is_known else "never read"

    async def configuration() -> str | None:
        return None  # settings that do not hold stop the process before it listens

    own = {"configuration": configuration, "postgresql": postgresql, "rollout_plan": rollout_plan}
    return own | {f"backend_{name}": backend.ready for name, backend in backends.items()}


@asynccontextmanager
async def open_shadow_worker(settings: Settings, database: Database, *, worker: str) -> AsyncGenerator[ShadowWorker]:
    """Everything as the shadow role: it cannot write a business table or a live checkpoint."""
    clock = SystemClock()
    async with (
        open_pool(database.shadow_dsn, name="crossfade-shadow", size=settings.shadow.lanes + 2) as pool,
        open_backends(settings, database, clock, "shadow") as backends,
    ):
        queue = ShadowRows(pool, worker=worker, claim_seconds=settings.shadow.claim_seconds, policy=settings.policy)
        yield ShadowWorker(queue, backends, idle_seconds=settings.shadow.idle_seconds)


@dataclass(frozen=True, slots=True)
class Operator:
    """What `crossfade session` and `crossfade reconcile` work with."""

    sessions: SessionStore
    backends: Mapping[BackendName, Backend]


@asynccontextmanager
async def open_operator(settings: Settings, database: Database, namespace: Namespace = "live") -> AsyncGenerator[Operator]:
    """Raises MissingSetting when a backend cannot be built."""
    async with (
        open_pool(database.app_dsn, name="crossfade-operator", size=4) as pool,
        open_backends(settings, database, SystemClock(), namespace) as backends,
    ):
        yield Operator(SessionRows(pool, _turn_rows(pool, settings)), backends)


def _turn_rows(pool: asyncpg.Pool, settings: Settings) -> TurnRows:
    return TurnRows(
        pool,
        lease_seconds=settings.session.lease_seconds,
        wait_seconds=settings.session.wait_seconds,
        keep_replies=timedelta(hours=settings.session.keep_replies_hours),
    )


@asynccontextmanager
async def open_plans(database: Database) -> AsyncGenerator[PlanStore]:
    async with open_pool(database.app_dsn, name="crossfade-rollout", size=2) as pool:
        yield PlanRows(pool)


@asynccontextmanager
async def open_overview(database: Database) -> AsyncGenerator[OverviewSource]:
    async with open_engine(database.reader_dsn, name="crossfade-report") as engine:
        yield EvidenceRows(engine)
