"""Inside a victim: the steps of a turn by name, and what happens at the armed one. The production code knows nothing of this.

A step is armed for one request only, found by its X-Request-ID, which the outermost ASGI wrapper puts into REQUEST.
"""

import asyncio
import os
import signal
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tests.chaos.control import Leash

REQUEST: ContextVar[str] = ContextVar("chaos_request", default="")
OWNER: ContextVar[str] = ContextVar("chaos_owner", default="")

Action = Literal["kill", "cancel", "hang_up", "pause"]
CANCEL_SECONDS = 0.5  # how long a step waits for a cancellation that must come through another task

# Steps that belong to the connection, not to the turn: there a cancellation hits the task that writes.
_OF_THE_CONNECTION = frozenset({"accepted", "before_done", "done_sent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """`nth`: at the n-th time the request reaches the step."""

    request_id: str
    step: str
    action: Action
    nth: int = 1

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Points:
    """`reach` is awaited by the wrappers at every step; without an arm it costs a comparison."""

    def __init__(self, arm: Arm | None, leash: Leash) -> None:
        self._arm = arm
        self._leash = leash
        self._seen = 0
        self._owner: asyncio.Task[Any] | None = None

    def own(self) -> None:
        """The task that calls this is the one that runs the armed turn from here on."""
        if self._arm is not None and REQUEST.get() == self._arm.request_id:
            self._owner = asyncio.current_task()

    def cancel_owner(self) -> None:
        """For the wire, which knows better than the turn's own code when a statement is on its way."""
        if self._owner is not None:
            self._owner.cancel()

    async def reach(self, step: str) -> None:
        arm = self._arm
        if arm is None or step != arm.step or REQUEST.get() != arm.request_id:
            return
        self._seen += 1
        if self._seen != arm.nth:
            return
        self._leash.say({"reached": step})
        match arm.action:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "cancel":
                task = asyncio.current_task() if step in _OF_THE_CONNECTION or self._owner is None else self._owner
                assert task is not None
                task.cancel()
                await asyncio.sleep(CANCEL_SECONDS)
            case "hang_up" | "pause":
                await self._leash.until_let_go()
