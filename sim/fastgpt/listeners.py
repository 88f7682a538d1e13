"""Who hears a run: the writer of an event stream, or nobody (a client that waits for the whole answer).

A client that closed its socket is noticed at the next write or look; from then on nothing is written and the run stops by itself.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from sim.fastgpt import wire
from sim.fastgpt.variables import dumps

DROP_AFTER_TEXTS = 2


class Nobody:
    """Waits for the end. A client that gave up is not noticed: the run finishes and is saved whole."""

    is_gone = False

    async def node_began(self, name: str) -> None:
        """Nobody is told."""

    async def node_ended(self, record: Mapping[str, Any]) -> None:
        """Nobody is told."""

    async def text(self, piece: str) -> None:
        """Nobody is told."""

    async def fixed_text(self, text: str) -> None:
        """Nobody is told."""

    async def variables(self, values: Mapping[str, Any]) -> None:
        """Nobody is told."""


class EventWriter:
    """Writes events. `detail` names them all and lets the others than text through; `tells_nodes` is the v2 route's node records.

    `drops` plants a socket that dies while answering.
    """

    def __init__(self, request: web.Request, response: web.StreamResponse, *, detail: bool, tells_nodes: bool, drops: bool) -> None:
        self._request = request
        self._response = response
        self._detail = detail
        self._tells_nodes = tells_nodes and detail
        self._drops = drops
        self._texts = 0
        self._is_broken = False
        self._lock = asyncio.Lock()

    @property
    def is_gone(self) -> bool:
        transport = self._request.transport
        return self._is_broken or transport is None or transport.is_closing()

    async def node_began(self, name: str) -> None:
        await self._detailed("flowNodeStatus", dumps({"status": "running", "name": name}))

    async def node_ended(self, record: Mapping[str, Any]) -> None:
        if self._tells_nodes:
            await self._detailed("flowNodeResponse", dumps(record))

    async def text(self, piece: str) -> None:
        await self.answer("answer", wire.text_chunk(piece))
        await self._count_text()

    async def fixed_text(self, text: str) -> None:
        await self.answer("fastAnswer", wire.text_chunk(text))
        await self._count_text(DROP_AFTER_TEXTS)

    async def variables(self, values: Mapping[str, Any]) -> None:
        await self._detailed("updateVariables", dumps(values))

    async def duration(self, value: float | int) -> None:
        await self._detailed("workflowDuration", dumps({"durationSeconds": value}))

    async def flow_responses(self, records: list[dict[str, Any]]) -> None:
        await self._detailed("flowResponses", dumps(records))

    async def answer(self, name: str, data: str) -> None:
        """An event that both modes see: named with detail, bare without."""
        await self._write(wire.event_lines(name if self._detail else None, data))

    async def error(self, data: str) -> None:
        """Always named, whatever the mode."""
        await self._write(wire.event_lines("error", data))

    async def beat(self, every_s: float) -> None:
        """An empty piece of text every so often, until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            await self.answer("answer", wire.text_chunk(""))

    async def _detailed(self, name: str, data: str) -> None:
        if self._detail:
            await self._write(wire.event_lines(name, data))

    async def _count_text(self, amount: int = 1) -> None:
        self._texts += amount
        if self._drops and self._texts >= DROP_AFTER_TEXTS and self._request.transport is not None:
            await asyncio.sleep(0)
            self._request.transport.abort()
            self._is_broken = True

    async def _write(self, lines: list[bytes]) -> None:
        # The lock keeps a heartbeat from coming between the two lines of an event.
        async with self._lock:
            if self.is_gone:
                return
            try:
                for line in lines:
                    await self._response.write(line)
            except (ConnectionError, RuntimeError):
                self._is_broken = True
