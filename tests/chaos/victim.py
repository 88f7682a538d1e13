"""A real proxy or shadow worker in a process of its own, built by wiring, armed at one step, on a leash. Runs in a fork of the nursery."""

import asyncio
import gc
import os
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import uvicorn

from cli.loop import run
from tests.chaos.control import Leash
from tests.chaos.designs import DESIGNS
from tests.chaos.points import REQUEST, Arm, Points
from tests.chaos.wrappers import install
from wiring.database import Database
from wiring.services import open_proxy, open_shadow_worker
from wiring.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a victim is to be. JSON only: it travels to the nursery. `database` and `settings` are the fields of those classes."""

    leash: str
    log: str
    database: dict[str, Any]
    settings: dict[str, Any]
    role: str = "proxy"  # or "shadow"
    arm: dict[str, Any] | None = None
    design: str = ""


class _Server(uvicorn.Server):
    """Tells the leash where it listens; nothing but its own end stops it."""

    leash: Leash

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.leash.say({"port": self.servers[0].sockets[0].getsockname()[1]})


async def live(order: Order) -> None:
    leash = Leash(order.leash)
    points = Points(Arm(**order.arm) if order.arm else None, leash)
    pools = _watched_pools()
    leash.orders = {"census": lambda: census(pools), "cancel": points.cancel_owner}
    install(points)
    DESIGNS[order.design].install()
    obeying = asyncio.create_task(leash.obey())
    await (_serve(order, leash) if order.role == "proxy" else _replay(order, leash))
    obeying.cancel()


async def _serve(order: Order, leash: Leash) -> None:
    async with open_proxy(Settings(**order.settings), Database(**order.database)) as proxy:
        server = _Server(
            uvicorn.Config(proxy.app, port=0, http="httptools", lifespan="off", access_log=False, log_config=None, server_header=False)
        )
        server.leash = leash
        await server.serve()


async def _replay(order: Order, leash: Leash) -> None:
    """A shadow worker. It serves no request, so all it does counts as the armed one."""
    REQUEST.set(order.arm["request_id"] if order.arm else "")
    leash.say({"port": 0})
    async with open_shadow_worker(Settings(**order.settings), Database(**order.database), worker=f"w{os.getpid()}") as worker:
        await worker.run(lanes=1)


def census(pools: list[asyncpg.Pool]) -> dict[str, int]:
    """What a turn must not leave behind in a process that lives on."""
    return {
        "tasks": len(asyncio.all_tasks()),
        "connections_in_use": sum(pool.get_size() - pool.get_idle_size() for pool in pools),
    }


def _watched_pools() -> list[asyncpg.Pool]:
    opened: list[asyncpg.Pool] = []
    create = asyncpg.create_pool

    def watching(*args: Any, **named: Any) -> asyncpg.Pool:
        pool = create(*args, **named)
        opened.append(pool)
        return pool

    asyncpg.create_pool = watching
    return opened


def be(order: Order) -> None:
    """The child's whole life. Never returns."""
    log = os.open(order.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    gc.freeze()
    try:
        run(live(order))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)
