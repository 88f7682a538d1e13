"""What turns without an upstream are measured against, as a process of its own: LangGraph in the peers of the FastGPT turn would only slow
those down.

/graph/chat runs the very nodes of our turn, without a checkpointer, inside one transaction that also opens and commits the session;
/saved/chat runs them with our saver and /stock/chat with LangGraph's own, both between the two statements.
/get_info is one select, /set_info one transaction, by the same statements as ours. FastAPI and asyncpg, nothing else that a turn does.
"""

import argparse
import gc
import json
import os
import socket
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import asyncpg
import orjson
import uvicorn
from fastapi import FastAPI, Request, Response
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from backends.langgraph.accident.graph import build_graph
from backends.langgraph.accident.prompts import load_prompts
from backends.langgraph.checkpoints import open_saver
from backends.langgraph.engine import AccidentEngine
from backends.langgraph.model.port import ChatMessage
from bench.peers import local_record, local_turn
from bench.sessions import QUESTION_REPLY
from cli.loop import run
from contract.wire import SET_INFO_ANSWER, Profile, chat_answer, get_info_answer, info_value
from domain.events import event_from_text
from domain.fields import accept
from domain.outcome import Outcome, Receipt, Replied, Reply
from domain.turn import SetInfo
from storage.engine import open_pool
from storage.tables import LANGGRAPH
from storage.turns import TurnRows
from wiring.clock import SystemClock
from wiring.processes import end_with_stdin

_DATABASE_URL = "BENCH_DSN"
_PROFILE = Profile()


class InstantModel:
    """Implements ChatModel without a wire."""

    name, host = "instant", "here"

    async def stream(self, messages: Sequence[ChatMessage], *, request_id: str) -> AsyncGenerator[str]:
        yield QUESTION_REPLY

    async def probe(self) -> str | None:
        return None

    async def aclose(self) -> None:
        pass


class LocalPeers:
    def __init__(self, pool: asyncpg.Pool, ours: BaseCheckpointSaver[Any], stock: BaseCheckpointSaver[Any]) -> None:
        self._pool = pool
        self._store = _store(pool)
        self._bare, self._saved, self._stock = (
            AccidentEngine(build_graph(saver), InstantModel(), load_prompts(), SystemClock()) for saver in (None, ours, stock)
        )
        self.app = FastAPI(docs_url=None, redoc_url=None)
        routes = {
            "/graph/chat": self.bare,
            "/saved/chat": self.saved,
            "/stock/chat": self.stock,
            "/get_info": self.get_info,
            "/set_info": self.set_info,
        }
        for path, route in routes.items():
            self.app.add_api_route(path, route, methods=["POST"], response_model=None)

    async def bare(self, request: Request) -> Response:
        body = await request.body()
        async with self._pool.acquire() as connection, connection.transaction():
            return await _turn(body, _store(connection), self._bare)

    async def saved(self, request: Request) -> Response:
        return await _turn(await request.body(), self._store, self._saved)

    async def stock(self, request: Request) -> Response:
        return await _turn(await request.body(), self._store, self._stock)

    async def get_info(self, request: Request) -> Response:
        body = orjson.loads(await request.body())
        state = await self._store.read("bare", body["sessionId"])
        assert state is not None
        return Response(get_info_answer(info_value(state.form, body["key"])), media_type="application/json")

    async def set_info(self, request: Request) -> Response:
        body = orjson.loads(await request.body())
        key, value = body["key"], accept(body["key"], orjson.loads(body["value"]), datetime.now(UTC))
        turn = local_turn(body["sessionId"], "", SetInfo(key, value))
        async with self._pool.acquire() as connection, connection.transaction():
            store = _store(connection)
            opened = await store.open(turn, idempotency_key=None)
            after = opened.state.with_form({key: value})
            assert after.stage is not None
            assert opened.pin is not None
            outcome = Outcome(
                backend=opened.pin.backend,
                reply=Reply(stage=after.stage, text="", patch={key: value}),
                receipt=Receipt(backend=opened.pin.backend, build="bare", turn_id=turn.turn_id),
            )
            await store.commit(local_record(turn, opened, outcome, after))
        return Response(SET_INFO_ANSWER, media_type="application/json")


async def _turn(request_body: bytes, store: TurnRows, engine: AccidentEngine) -> Response:
    body = orjson.loads(request_body)
    turn = local_turn(body["sessionId"], body["text"], event_from_text(body["text"]))
    turn = replace(turn, event_id=body.get("eventId", turn.event_id))
    opened = await store.open(turn, idempotency_key=None)
    *_, end = [event async for event in engine.run(turn, opened.state)]
    assert isinstance(end, Replied)
    reply, version = end.outcome.reply, await store.commit(local_record(turn, opened, end.outcome, end.after))
    assert reply is not None
    answer = chat_answer(
        session_id=turn.session_id, text=reply.text, stage=reply.stage, patch=reply.patch,
        version=version, need_form_update=True, profile=_PROFILE,
    )  # fmt: skip
    return Response(answer, media_type="application/json")


def _store(over: Any) -> TurnRows:
    """`over`: the pool, or the one connection whose transaction is to hold everything."""
    return TurnRows(over, lease_seconds=150, wait_seconds=5, keep_replies=timedelta(hours=24))


@asynccontextmanager
async def _stock_saver(dsn: str) -> AsyncGenerator[AsyncPostgresSaver]:
    """As its documentation shows it, but for its lock, which would let one turn at a time through."""
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row, "options": f"-c search_path={LANGGRAPH}"}
    async with AsyncConnectionPool(dsn, connection_class=AsyncConnection[DictRow], max_size=8, kwargs=options) as pool:
        saver = AsyncPostgresSaver(cast(Any, pool))
        saver.lock = cast(Any, nullcontext())
        yield saver


async def _serve() -> None:
    dsn = os.environ[_DATABASE_URL]
    async with open_pool(dsn, name="bench-local-peers") as pool, open_saver(dsn, LANGGRAPH) as ours, _stock_saver(dsn) as stock:
        peers = LocalPeers(pool, ours.for_turns, stock)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            sys.stdout.write(json.dumps({"ready": True, "port": listening.getsockname()[1], "pid": os.getpid()}) + "\n")
            sys.stdout.flush()
            config = uvicorn.Config(peers.app, http="httptools", lifespan="off", access_log=False, log_level="warning")
            gc.collect()
            gc.freeze()  # as our server does: start-up's objects are not walked again
            await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.local_peers")
    parser.add_argument("--exit-with-stdin", action="store_true")
    if parser.parse_args().exit_with_stdin:
        end_with_stdin()
    run(_serve())
