"""Sessions that are already under way when a run begins: made by statement, so that no turn has to be played to get there.

Each stands before its first photo of two vehicles, all facts known, and belongs to one backend.
"""

import itertools
from collections.abc import Callable

import asyncpg
import orjson

from domain.backend_name import BackendName
from domain.stages import STAGES, StageCode
from storage.engine import plain_dsn

SEEDED = 4_000
PHOTO = "【拍摄完成】"
PHOTO_TAKEN = "照片已".encode()  # what every answer to a photo that counted begins with
PHOTOS = 6  # turns until the last photo is taken
QUESTION = "请问照片要怎么拍"  # a natural turn that stays where it is
_STAGE = StageCode.DOUBLE_FRONT
QUESTION_REPLY = f"<state>{_STAGE}</state>请站到车头前方，拍下两车全貌。"
FACTS = {
    "ywrysw": False, "ywfjdc": False, "ywmtc": False, "bjrjs": "当事人",
    "sgfssj": "2026-07-27 15:10:00", "sfsgxc": True, "jdcsl": 2, "sgyy": "追尾",
}  # fmt: skip

_SEED = """
WITH made AS (
    INSERT INTO app.accident_sessions (tenant_id, session_id, client_id, status, phase, stage_code, state_version,
                                       backend, route_reason, plan_version, bucket, is_sampled)
    SELECT $1, $2 || '-' || n, $1, 'active', $3, $4, 1, $5, 'default', 1, 0, false FROM generate_series(0, $6::integer - 1) AS n
    RETURNING tenant_id, session_id, state_version
)
INSERT INTO app.accident_state (tenant_id, session_id, form_data, dialogue, state_version)
SELECT tenant_id, session_id, $7::jsonb, '{"pending_question": "PHOTO"}', state_version FROM made
"""

# What a session's turns leave for good. A row's size is its own bytes, as stored; indexes come on top in proportion.
_BYTES = """
SELECT sum(bytes)::float8 / sum(turns) FROM (
    SELECT sum(pg_column_size(t.*)) AS bytes, count(*) AS turns FROM app.turns t WHERE tenant_id = $1 AND session_id = ANY($2)
    UNION ALL SELECT sum(pg_column_size(e.*)), 0 FROM app.accident_events e WHERE tenant_id = $1 AND session_id = ANY($2)
    UNION ALL SELECT sum(pg_column_size(s.*)), 0 FROM app.accident_state s WHERE tenant_id = $1 AND session_id = ANY($2)
    UNION ALL SELECT sum(pg_column_size(c.*)), 0 FROM langgraph.checkpoints c WHERE thread_id = ANY($3)
    UNION ALL SELECT sum(pg_column_size(b.*)), 0 FROM langgraph.checkpoint_blobs b WHERE thread_id = ANY($3)
    UNION ALL SELECT sum(pg_column_size(w.*)), 0 FROM langgraph.checkpoint_writes w WHERE thread_id = ANY($3)
) AS part
"""


async def seed(dsn: str, *, tenant: str, prefix: str, backend: BackendName, count: int = SEEDED) -> None:
    """Sessions `prefix-0` … of a tenant whose one client has its name."""
    connection = await asyncpg.connect(plain_dsn(dsn))
    try:
        await connection.execute(_SEED, tenant, prefix, STAGES[_STAGE].phase, _STAGE, backend, count, orjson.dumps(FACTS).decode())
    finally:
        await connection.close()


async def bytes_per_turn(dsn: str, tenant: str, sessions: list[str]) -> float:
    """Of committed turns; everything that a session stores, divided by them."""
    connection = await asyncpg.connect(plain_dsn(dsn))
    try:
        return await connection.fetchval(_BYTES, tenant, sessions, [f"{tenant}:{session}" for session in sessions])
    finally:
        await connection.close()


def names(prefix: str, first: int = 0) -> Callable[[], str]:
    """The seeded sessions one after the other."""
    numbers = itertools.count(first)
    return lambda: f"{prefix}-{next(numbers)}"
