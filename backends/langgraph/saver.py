"""A checkpoint saver that keeps one row a thread, written whole by one statement: the newest one replaces the older ones as it arrives.

It uses the stock saver's table `checkpoints` and leaves its other two empty: our channel values are small JSON and stand in the row itself,
where the stock saver keeps scalars as well, so either one reads what this one wrote. Nothing is ever unpickled or looked up by class name.
What a failed step had written is not kept: a failed turn is taken again from the business row and from the first node.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any, cast

import asyncpg
import orjson
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
)

from backends.langgraph.plain_state import check_plain

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")

# Ids are times in sortable form. A writer that was overtaken (its lease had run out) leaves the newer row alone.
_PUT = """
WITH older AS (
    DELETE FROM {schema}.checkpoints WHERE thread_id = $1 AND checkpoint_ns = $2 AND checkpoint_id < $3
)
INSERT INTO {schema}.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
SELECT $1, $2, $3, $4::jsonb, $5::jsonb
 WHERE NOT EXISTS (SELECT FROM {schema}.checkpoints WHERE thread_id = $1 AND checkpoint_ns = $2 AND checkpoint_id > $3)
ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id) DO UPDATE SET checkpoint = excluded.checkpoint, metadata = excluded.metadata
"""

_GET = """
SELECT checkpoint, metadata FROM {schema}.checkpoints
 WHERE thread_id = $1 AND checkpoint_ns = $2 ORDER BY checkpoint_id DESC LIMIT 1
"""

_DELETE = "DELETE FROM {schema}.{table} WHERE thread_id = $1"


class NewestOnlySaver(BaseCheckpointSaver[int]):
    """For graphs that run from start to end: there is no history to go back to and no pause to come back from."""

    def __init__(self, pool: asyncpg.Pool, schema: str) -> None:
        super().__init__()
        quoted = '"' + schema.replace('"', '""') + '"'
        self._pool = pool
        self._ping_sql = f"SELECT FROM {quoted}.checkpoints LIMIT 1"
        self._get_sql = _GET.format(schema=quoted)
        self._put_sql = _PUT.format(schema=quoted)
        self._delete_sql = [_DELETE.format(schema=quoted, table=table) for table in TABLES]

    async def ping(self) -> None:
        """Raises what asyncpg raises when the table cannot be read."""
        await self._pool.fetch(self._ping_sql)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """None as well when another checkpoint than the newest is asked for, and for one with versions of another saver's making."""
        thread, namespace = _address(config)
        row = await self._pool.fetchrow(self._get_sql, thread, namespace)
        if row is None:
            return None
        checkpoint = cast(Checkpoint, orjson.loads(row["checkpoint"]))
        wanted = get_checkpoint_id(config)
        if wanted not in (None, "", checkpoint["id"]) or any(
            isinstance(version, str) for version in checkpoint["channel_versions"].values()
        ):
            return None
        return CheckpointTuple(_config(thread, namespace, checkpoint["id"]), checkpoint, orjson.loads(row["metadata"]), None, [])

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Raises NotPlain before anything is written."""
        check_plain(checkpoint["channel_values"])
        thread, namespace = _address(config)
        await self._pool.execute(
            self._put_sql, thread, namespace, checkpoint["id"], orjson.dumps(checkpoint).decode(), orjson.dumps(metadata).decode()
        )
        return _config(thread, namespace, checkpoint["id"])

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Nothing: see the file's head."""

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> "NewestOnlySaver":
        """Ourselves: plain JSON names no class, so there is nothing to allow, and LangGraph asks at every turn."""
        return self

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The newest one of a thread; the rest of the question has no meaning here."""
        if config is not None and (found := await self.aget_tuple(config)):
            yield found

    async def adelete_thread(self, thread_id: str) -> None:
        for statement in self._delete_sql:
            await self._pool.execute(statement, thread_id)


class TurnSaver(NewestOnlySaver):
    """What turns are run with: writes like the other one and reads nothing, so that no turn can depend on what a checkpoint held. The graph
    takes all it knows from the business row, and its first two nodes would overwrite every value that was read."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return None


def _address(config: RunnableConfig) -> tuple[str, str]:
    configurable = config.get("configurable", {})
    return configurable["thread_id"], configurable.get("checkpoint_ns", "")


def _config(thread: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}
