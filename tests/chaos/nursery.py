"""One warm process from which victims are forked: everything is imported and has served a turn once, so that a victim is ready at once.

`python -m tests.chaos.nursery` reads a warm-up order on its first line of stdin (an Order without a leash), then one Order a line; each
is answered with {"pid": …} on stdout. No thread and no loop is alive when it forks.
"""

import gc
import json
import os
import signal
import sys
from typing import Any

import httpx

from backends.langgraph.accident.prompts import load_prompts
from cli.loop import run
from domain.rules import loose_time
from telemetry.setup import set_up_logging
from tests.chaos.victim import Order, be
from wiring.database import Database
from wiring.services import open_proxy
from wiring.settings import Settings


async def _serve_once(order: Order, keys: list[str]) -> None:
    """One turn on each backend, streamed and whole: lazy imports and caches happen here."""
    async with open_proxy(Settings(**order.settings), Database(**order.database)) as proxy:
        transport = httpx.ASGITransport(app=proxy.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://warm") as http:
            for number, key in enumerate(keys):
                for path in ("/chat", "/chat?stream=true"):
                    body = {"sessionId": f"warm-{number}", "text": "准备好了，没有人受伤，我自己倒车撞到柱子了", "needFormUpdate": True}
                    answer = await http.post(path, json=body, headers={"X-API-Key": key})
                    assert answer.status_code == 200, answer.text


def _tell(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main() -> None:
    first: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    keys = first.pop("keys")
    set_up_logging(level="info", as_json=True)
    load_prompts()
    loose_time.warm()
    run(_serve_once(Order(**first), keys))
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a victim: it is known to be gone by its leash
    _tell({"ready": True})
    for line in iter(sys.stdin.buffer.readline, b""):
        order = Order(**json.loads(line))
        pid = os.fork()
        if pid == 0:
            be(order)
        _tell({"pid": pid})


if __name__ == "__main__":
    main()
