"""Play one cell of the shadow: a good conversation, a shadow worker that something happens to, another worker that finishes."""

import asyncio

from tests.chaos.case import Case, NotReached
from tests.chaos.cells import WIRE_STEPS
from tests.chaos.evidence import Evidence
from tests.chaos.pg_wire import Trap
from tests.chaos.points import Arm
from tests.chaos.stand import Victim

SETTLED_SECONDS = 10.0


class ShadowCase(Case):
    """No turn is armed: the worker is, at its n-th job."""

    async def played(self) -> Evidence:
        async with self._lane.stand.shadow_cell:  # a worker takes whatever is pending: one such cell at a time
            return await self._played()

    async def _played(self) -> Evidence:
        for number in range(len(self._lines)):
            await self._take(number, self._lane.rescuer)
        await self._settled(self._lane.rescuer)
        await self._lane.fence_off(self.name)
        before = await self._lane.digest(self.name)
        await self._work()
        return await self._evidence((before, await self._lane.digest(self.name)))

    async def _work(self) -> None:
        cell, jobs = self._cell, len(self._lines)
        nth = 1 if cell.step in ("take_next", "taken", "give_back_next") else self._chance.randint(1, jobs)
        arm = None
        if cell.step not in WIRE_STEPS:
            arm = Arm(request_id=self.name, step=cell.step, action=cell.how, nth=nth)  # pyright: ignore[reportArgumentType]
        async with self._lane.stand.proxy(arm=arm, role="shadow", design=self._lane.design) as worker:
            trap = self._settling_trap(worker, nth)
            if trap is not None:
                await asyncio.wait_for(trap.has_sprung.wait(), SETTLED_SECONDS)
            elif await worker.hold.hear("reached", SETTLED_SECONDS) is None:
                raise NotReached(cell.step)
            if cell.how == "pause":
                await self._finished_elsewhere()
                worker.hold.tell("go")
                await asyncio.sleep(self._chance.random() * 0.1)
            elif cell.how == "kill":
                await worker.hold.until_gone()
        await self._finished_elsewhere()

    def _settling_trap(self, worker: Victim, nth: int) -> Trap | None:
        cell = self._cell
        if cell.moment is None:
            return None

        async def kill() -> None:
            worker.kill()

        trap = Trap(sql=WIRE_STEPS[cell.step], needle=self.name.encode(), moment=cell.moment, nth=nth, hook=kill)
        worker.wire.trap = trap
        return trap

    async def _finished_elsewhere(self) -> None:
        async with self._lane.stand.proxy(role="shadow", design=self._lane.design):
            deadline = asyncio.get_running_loop().time() + SETTLED_SECONDS
            while await self._lane.pending(self.name) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - rows of another process
                await asyncio.sleep(0.01)
