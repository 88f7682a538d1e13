"""One lane of a run: a proxy that nothing happens to, and eyes on the database and on the simulators' journal."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import asyncpg

from domain.thread_id import thread_id
from tests.chaos.evidence import Row, told_without_times
from tests.chaos.partner import OpenCall
from tests.chaos.script import Line
from tests.chaos.stand import TENANT, Stand, Victim

_SEEN = """
SELECT json_build_object(
    'session', (SELECT to_json(s) FROM app.accident_sessions s WHERE session_id = $1),
    'state', (SELECT to_json(s) FROM app.accident_state s WHERE session_id = $1),
    'events', (SELECT json_agg(e ORDER BY new_version) FROM app.accident_events e WHERE session_id = $1),
    'turns', (SELECT json_agg(json_build_object(
                  'turn_id', turn_id, 'tenant_id', tenant_id, 'client_id', client_id, 'event_id', event_id, 'version', version,
                  'status', status, 'event_type', event_type, 'after', after, 'output_text', output_text, 'outcome', outcome,
                  'text', input ->> 'text', 'backend', backend, 'request_id', request_id, 'committed_at', extract(epoch FROM committed_at))
                  ORDER BY version, committed_at)
              FROM app.turns WHERE session_id = $1),
    'records', (SELECT json_agg(json_build_object('key', idempotency_key, 'turn_id', turn_id, 'reply', response_data))
                FROM app.idempotency_records WHERE starts_with(idempotency_key, $1)),
    'outbox', (SELECT json_agg(json_build_object('outbox_id', outbox_id, 'turn_id', turn_id, 'kind', kind))
               FROM app.turn_outbox WHERE session_id = $1),
    'ledger', (SELECT json_agg(json_build_object('outbox_id', l.outbox_id, 'state', l.state))
               FROM shadow.ledger l JOIN app.turn_outbox o USING (outbox_id) WHERE o.session_id = $1),
    'comparisons', (SELECT json_agg(json_build_object('outbox_id', outbox_id)) FROM shadow.comparisons WHERE session_id = $1),
    'leases', (SELECT json_agg(l) FROM app.session_leases l WHERE session_id = $1),
    'checkpoints', (SELECT json_agg(checkpoint -> 'channel_values') FROM langgraph.checkpoints WHERE thread_id = $2),
    'stuck', (SELECT count(*) FROM pg_stat_activity
              WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND now() - state_change > interval '1 second')
)
"""


_REAL = ("accident_sessions", "accident_state", "accident_events", "turns", "turn_outbox", "session_leases")
_DIGEST = (
    "SELECT md5(string_agg(line, E'\\n' ORDER BY line)) FROM ("
    + " UNION ALL ".join(f"SELECT t::text AS line FROM app.{table} t WHERE session_id = $1" for table in _REAL)
    + " UNION ALL SELECT c::text FROM langgraph.checkpoints c WHERE thread_id = $2) AS lines"
)
_FENCE = """
INSERT INTO shadow.claims (tenant_id, session_id, worker, until)
SELECT DISTINCT tenant_id, session_id, 'fence', timestamptz 'infinity' FROM app.turn_outbox WHERE session_id <> $1
ON CONFLICT (tenant_id, session_id) DO UPDATE SET until = excluded.until
"""
_PENDING = """
SELECT count(*) FROM app.turn_outbox o LEFT JOIN shadow.ledger l USING (outbox_id) WHERE o.session_id = $1 AND l.outbox_id IS NULL
"""


class Lane:
    def __init__(self, stand: Stand, rescuer: Victim, eyes: asyncpg.Connection, http: aiohttp.ClientSession, design: str) -> None:
        self.stand = stand
        self.rescuer = rescuer
        self.design = design
        self.resting_tasks = 0
        self._eyes = eyes
        self._http = http
        self._twins: dict[tuple[Any, ...], tuple[Row, ...]] = {}

    async def seen(self, session: str) -> dict[str, Any]:
        """The fields of Evidence that are stored somewhere."""
        row: dict[str, Any] = json.loads(str(await self._eyes.fetchval(_SEEN, session, thread_id(TENANT, session))))
        async with self._http.get(f"http://127.0.0.1:{self.stand.ports['journal']}/journal", params={"prefix": session}) as response:
            journal = await response.json()
        lists = ("events", "turns", "records", "outbox", "ledger", "comparisons", "leases", "checkpoints")
        return {
            **{name: tuple(row[name] or ()) for name in lists},
            "session": row["session"],
            "state": row["state"],
            "stuck": row["stuck"],
            "asked": tuple(journal["asked"]),
            "chats": journal["chats"],
        }

    async def digest(self, session: str) -> str:
        """Of every row the session has outside the shadow's schema."""
        return str(await self._eyes.fetchval(_DIGEST, session, thread_id(TENANT, session)))

    async def fence_off(self, session: str) -> None:
        """Other cells' shadow jobs are claimed by nobody, for ever: a worker of this cell finds this cell's."""
        await self._eyes.execute(_FENCE, session)

    async def pending(self, session: str) -> int:
        return int(await self._eyes.fetchval(_PENDING, session) or 0)

    async def twin(self, backend: str, lines: tuple[Line, ...], *, without: int) -> dict[str, tuple[Row, ...]]:
        """What an untouched conversation answers, with the armed turn and as if it had never been said."""
        rest = (*lines[:without], *lines[without + 1 :])
        return {"with": await self._untouched(backend, lines), "without": await self._untouched(backend, rest)}

    async def _untouched(self, backend: str, lines: tuple[Line, ...]) -> tuple[Row, ...]:
        known = self._twins.get((backend, lines))
        if known is None:
            known = self._twins[backend, lines] = await self._play(backend, lines, f"twin-{self.rescuer.name}-{len(self._twins)}")
        return known

    async def _play(self, backend: str, lines: tuple[Line, ...], session: str) -> tuple[Row, ...]:
        answers: list[Row] = []
        for number, line in enumerate(lines):
            path = "/set_info" if line.write else "/chat"
            headers = {"X-API-Key": self.stand.keys[backend], "X-Request-ID": f"{session}.t{number}.a0"}
            call = await OpenCall("twin", self.rescuer.port, path, line.body(session), headers).ended()
            if not call.is_acked:
                raise RuntimeError(f"an untouched conversation was refused: {call.body.decode()}")
            answers.append(told_without_times(call.told) if call.is_chat else {})
        return tuple(answers)


@asynccontextmanager
async def open_lane(stand: Stand, *, design: str = "") -> AsyncGenerator[Lane]:
    eyes = await asyncpg.connect(stand.database.admin_dsn)
    try:
        async with stand.proxy(design=design) as rescuer, aiohttp.ClientSession() as http:
            lane = Lane(stand, rescuer, eyes, http, design)
            lane.resting_tasks = (await rescuer.hold.ask("census"))["tasks"]
            yield lane
    finally:
        await eyes.close()
