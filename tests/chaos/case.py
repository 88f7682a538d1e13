"""Play one cell with one seed: good turns, the armed one, the partner's retries on another proxy, a good turn; then gather the evidence.

The seed decides which turn is armed, how the answer is asked for again, and how long everybody waits.
"""

import asyncio
import random
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from tests.chaos.cells import ANYWHERE, WIRE_STEPS, Cell
from tests.chaos.evidence import Call, Evidence
from tests.chaos.lane import Lane
from tests.chaos.partner import OpenCall
from tests.chaos.pg_wire import Trap
from tests.chaos.points import Arm
from tests.chaos.script import Line, lines_for
from tests.chaos.stand import TENANT, Victim

RETRY_SECONDS = 12.0
SETTLE_SECONDS = 3.0
DARK_SECONDS = 0.15
TURN_SECONDS = 0.04  # about as long as a turn takes
ASKING = (1, 2, 3, 4)  # turns that ask the model on both backends, and whose text comes in several pieces
LONG = (3, 4)  # turns whose text has at least three pieces, however it is cut
NEEDS_MODEL = ("model_next", "model_called", "mid_text")


class NotReached(Exception):
    """The armed step was never taken: the cell tests nothing."""


class Case:
    def __init__(self, lane: Lane, cell: Cell, seed: int) -> None:
        self._lane = lane
        self._cell = cell
        self._chance = random.Random(f"{cell.name}:{seed}")
        self.name = f"{uuid.uuid4().hex[:10]}-{seed}"
        self._armed = self._chance.choice(_armable(cell))
        self._lines = lines_for(cell.kind, self._armed)
        self._in_chunks = self._chance.random() < 0.3
        self._calls: list[Call] = []
        self._attempts: dict[int, int] = {}
        self._leftovers: dict[str, dict[str, int]] = {}

    async def played(self) -> Evidence:
        """Raises NotReached, TimeoutError."""
        async with self._victim(self._cell.step, attempt=0) as victim:
            for number in range(self._armed):
                await self._take(number, victim)
            if self._chance.random() < 0.5:
                await self._read(victim)
            await self._armed_turn(victim)
            if self._cell.how == "pause":
                await self._aftermath()
                victim.hold.tell("go")
                await self._settled(victim)
            else:
                if self._chance.random() < 0.5:  # the retry may come while the first attempt is still at it
                    await self._settled(victim)
                await self._aftermath()
                await self._settled(victim)
        await self._settled(self._lane.rescuer)
        return await self._evidence()

    async def _evidence(self, digests: tuple[str, ...] = ()) -> Evidence:
        twin = await self._lane.twin(self._cell.backend, self._lines, without=self._armed)
        seen = await self._lane.seen(self.name)
        return Evidence(
            backend=self._cell.backend,
            calls=tuple(sorted(self._calls, key=lambda call: call.sent_at)),
            armed=f"{self.name}.t{self._armed}",
            identity=self._cell.identity,
            leftovers=self._leftovers,
            resting_tasks=self._lane.resting_tasks,
            was_overtaken=self._cell.how == "pause",
            tenant=TENANT,
            twin=twin,
            digests=digests,
            **seen,
        )

    # --- the victim ---------------------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _victim(self, step: str, *, attempt: int) -> AsyncGenerator[Victim]:
        cell, request_id = self._cell, self._request_id(self._armed, attempt)
        arm = None
        if step not in WIRE_STEPS and step != ANYWHERE:
            nth = self._chance.randint(1, 2) if step == "mid_text" and self._armed in LONG else 1
            arm = Arm(request_id=request_id, step=step, action="kill" if attempt else cell.how, nth=nth)  # type: ignore[arg-type]
        elif cell.how == "cancel":
            arm = Arm(request_id=request_id, step="", action="cancel")  # so that its owner is known
        async with self._lane.stand.proxy(arm=arm, design=self._lane.design) as victim:
            if not attempt:
                victim.wire.trap = self._trap(victim, request_id)
            yield victim

    def _trap(self, victim: Victim, request_id: str) -> Trap | None:
        cell = self._cell
        if cell.moment is None:
            return None
        step = cell.step if cell.step in WIRE_STEPS else "commit_statement"
        trap = Trap(sql=WIRE_STEPS[step], needle=request_id.encode(), moment=cell.moment, dark=cell.dark)
        if step in ("open_statement", "checkpoint_statement", "acknowledge_statement"):  # they do not carry the request's id
            trap.needle = self.name.encode()
            trap.nth = 1 if step == "acknowledge_statement" else self._armed + 1
        if cell.moment == "held":

            async def hook() -> None:
                match cell.how:
                    case "kill":
                        victim.kill()
                    case "cancel":
                        await victim.hold.ask("cancel")
                    case _:
                        self._open.hang_up()
                        await asyncio.sleep(self._chance.random() * 0.02)

            trap.hook = hook
        return trap

    async def _armed_turn(self, victim: Victim) -> None:
        cell, trap = self._cell, victim.wire.trap
        self._open = self._call(self._armed, victim)
        if cell.step == ANYWHERE:
            await self._strike(victim)
        elif cell.how in ("hang_up", "pause") and trap is None:
            await self._reached(victim)
            self._open.hang_up()
            await asyncio.sleep(self._chance.random() * 0.02)
            if cell.how == "hang_up":
                victim.hold.tell("go")
        self._calls.append(await self._open.ended())
        if trap is not None and not trap.has_sprung.is_set():
            raise NotReached(f"{cell.step} on the wire")
        if cell.dark:
            await asyncio.sleep(self._chance.random() * DARK_SECONDS)
            victim.wire.light()
        if cell.step not in WIRE_STEPS and cell.step != ANYWHERE:
            await self._reached(victim)
        if cell.how == "kill":
            await victim.hold.until_gone()

    async def _strike(self, victim: Victim) -> None:
        """Somewhere in the turn, or just behind its end."""
        await asyncio.sleep(self._chance.random() * TURN_SECONDS)
        match self._cell.how:
            case "kill":
                victim.kill()
            case "cancel":
                victim.hold.tell("cancel")
            case "cut":
                victim.wire.darken()
            case _:
                self._open.hang_up()

    async def _reached(self, victim: Victim) -> None:
        with suppress(TimeoutError):
            if await victim.hold.hear("reached", 3.0) is not None:
                return
        raise NotReached(self._cell.step)

    # --- what the partner does about it -------------------------------------------------------------------------------------------------

    async def _aftermath(self) -> None:
        cell, rescuer, late = self._cell, self._lane.rescuer, self._chance.random() < 0.4
        if cell.then:
            async with self._victim(cell.then, attempt=1) as second:
                self._calls.append(await self._call(self._armed, second).ended())
                await self._reached(second)
        if cell.identity != "none":
            if self._chance.random() < 0.3:
                await asyncio.gather(self._retry(self._armed), self._retry(self._armed))
            else:
                await self._retry(self._armed)
            await self._read(rescuer)
            if not late:
                await self._retry(self._armed, stream=self._chance.random() < 0.5)
        await self._retry(self._armed + 1)
        if cell.identity != "none" and late:  # an old request that comes once more, after newer ones
            await self._retry(self._armed, stream=self._chance.random() < 0.5)
        await self._read(rescuer)
        await self._retry(self._armed + 2)

    async def _retry(self, number: int, *, stream: bool | None = None) -> None:
        """Until it is answered, as a partner does. A partner without keys does the same with what was refused."""
        deadline = asyncio.get_running_loop().time() + RETRY_SECONDS
        while True:
            call = await self._call(number, self._lane.rescuer, stream=stream).ended()
            self._calls.append(call)
            if call.is_acked or asyncio.get_running_loop().time() > deadline:
                return
            await asyncio.sleep(0.02 + self._chance.random() * 0.05)

    async def _take(self, number: int, proxy: Victim) -> None:
        self._calls.append(await self._call(number, proxy).ended())

    async def _read(self, proxy: Victim) -> None:
        headers = {"X-API-Key": self._lane.stand.keys[self._cell.backend], "X-Request-ID": f"{self.name}.r{len(self._calls)}.a0"}
        self._calls.append(await OpenCall(proxy.name, proxy.port, "/get_info", {"sessionId": self.name, "key": "all"}, headers).ended())

    def _call(self, number: int, proxy: Victim, *, stream: bool | None = None) -> OpenCall:
        attempt = self._attempts.get(number, 0)
        self._attempts[number] = attempt + 1
        line: Line = self._lines[number]
        body = line.body(self.name, in_chunks=self._in_chunks)
        headers = {"X-API-Key": self._lane.stand.keys[self._cell.backend], "X-Request-ID": self._request_id(number, attempt)}
        if self._cell.identity == "key":
            headers["Idempotency-Key"] = f"{self.name}-{number}"
        elif self._cell.identity == "event" and line.write is None:
            body["eventId"] = f"{self.name}-{number}"
        wants_stream = self._cell.stream if stream is None else stream
        path = "/set_info" if line.write else "/chat?stream=true" if wants_stream else "/chat"
        return OpenCall(proxy.name, proxy.port, path, body, headers)

    def _request_id(self, number: int, attempt: int) -> str:
        return f"{self.name}.t{number}.a{attempt}"

    # --- what is left -------------------------------------------------------------------------------------------------------------------

    async def _settled(self, proxy: Victim) -> None:
        """Wait until a proxy that lives has nothing in hand, and note what it has left."""
        deadline = asyncio.get_running_loop().time() + SETTLE_SECONDS
        while not proxy.hold.is_gone:
            left = await proxy.hold.ask("census")
            if left is None:
                return
            self._leftovers[proxy.name] = left
            if left["connections_in_use"] == 0 and left["tasks"] <= self._lane.resting_tasks:
                return
            if asyncio.get_running_loop().time() > deadline:
                return
            await asyncio.sleep(0.01)


def _armable(cell: Cell) -> tuple[int, ...]:
    """Which turns something can happen to. The first one makes the session, where its step allows that."""
    if cell.kind == "same_write":
        return 2, 3, 4
    is_any = cell.kind == "chat" and not {cell.step, cell.then}.intersection(NEEDS_MODEL)
    return (0, *ASKING) if is_any else ASKING
