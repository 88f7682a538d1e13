"""What turns without an upstream are measured against, as a process of its own: LangGraph in the peers of the FastGPT turn would only slow
those down.

/graph/chat runs the very nodes of our turn, without a checkpointer, inside one transaction that also opens and commits the session.
/get_info is one select, /set_info one transaction, by the same statements as ours. FastAPI and asyncpg, nothing else that a turn does.
"""

import argparse
import gc
import json
import os
import socket
import sys
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import orjson
import uvicorn
from fastapi import FastAPI, Request, Response

from backends.langgraph.backend import LangGraphBackend
from backends.langgraph.model.port import ChatMessage, TokenUse
from bench.peers import local_record, local_turn
from bench.sessions import QUESTION_REPLY
from cli.loop import run
from contract.wire import SET_INFO_ANSWER, Profile, chat_answer, get_info_answer, info_value
from domain.events import event_from_text
from domain.fields import accept
from domain.outcome import Outcome, Receipt, Replied, Reply
from domain.turn import SetInfo
from storage.engine import open_pool
from storage.turns import TurnRows
from wiring.clock import SystemClock
from wiring.processes import end_with_stdin

_DATABASE_URL = "BENCH_DSN"
_PROFILE = Profile()


class InstantModel:
    """Implements ChatModel without a wire."""

    name = "instant"
    host = "nowhere"

    async def stream(self, messages: Sequence[ChatMessage], *, request_id: str) -> AsyncGenerator[str | TokenUse]:
        yield QUESTION_REPLY

    async def probe(self) -> str | None:
        return None

    async def aclose(self) -> None:
        pass


class LocalPeers:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._graph = LangGraphBackend(InstantModel(), None, SystemClock())
        self._reads = _store(pool)
        self.app = FastAPI(docs_url=None, redoc_url=None)
        for path, route in (("/graph/chat", self.chat), ("/get_info", self.get_info), ("/set_info", self.set_info)):
            self.app.add_api_route(path, route, methods=["POST"], response_model=None)

    async def chat(self, request: Request) -> Response:
        body = orjson.loads(await request.body())
        turn = local_turn(body["sessionId"], body["text"], event_from_text(body["text"]))
        async with self._pool.acquire() as connection, connection.transaction():
            store = _store(connection)
            opened = await store.open(turn, idempotency_key=None)
            *_, end = [event async for event in self._graph.reply(turn, opened.state)]
            assert isinstance(end, Replied)
            version = await store.commit(local_record(turn, opened, end.outcome, end.after))
        reply = end.outcome.reply
        assert reply is not None
        answer = chat_answer(
            session_id=turn.session_id, text=reply.text, stage=reply.stage, patch=reply.patch,
            version=version, need_form_update=True, profile=_PROFILE,
        )  # fmt: skip
        return Response(answer, media_type="application/json")

    async def get_info(self, request: Request) -> Response:
        body = orjson.loads(await request.body())
        state = await self._reads.read("bare", body["sessionId"])
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


def _store(over: Any) -> TurnRows:
    """`over`: the pool, or the one connection whose transaction is to hold everything."""
    return TurnRows(over, lease_seconds=150, wait_seconds=5, keep_replies=timedelta(hours=24))


async def _serve() -> None:
    async with open_pool(os.environ[_DATABASE_URL], name="bench-local-peers") as pool:
        peers = LocalPeers(pool)
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
