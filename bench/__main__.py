"""`python -m bench`: the table on stderr, build/bench.json, exit code 0 whether or not goals are reached (a busy machine is no defect).

`--profile` instead runs JSON turns through a proxy under cProfile and prints where its time went.
"""

import argparse
import os
import pstats
from pathlib import Path

import orjson
from rich.console import Console

from bench.figures import table_of
from bench.load import for_seconds
from bench.run import MEASURES, document, measure, warm_up
from bench.sessions import PHOTO, QUESTION
from bench.stand import open_stand, streamed
from bench.upstream import PACED, SHORT
from cli.loop import run
from storage.embedded import EmbeddedPostgres

RESULT = Path("build") / "bench.json"
PROFILE = Path("build") / "bench.pstats"
ROUNDS = 5
PROFILE_SECONDS = 4.0
PROFILE_CONNECTIONS = 8
LINES = 45
console = Console(stderr=True, width=200 if not os.isatty(2) else None)


async def _measure(server: EmbeddedPostgres, rounds: int, seed: int, only: list[str]) -> None:
    load_before = os.getloadavg()[0]
    async with open_stand(server) as stand:
        figures = await measure(stand, rounds=rounds, seed=seed, tell=console.print, only=only)
    RESULT.write_bytes(
        orjson.dumps(document(figures, seed=seed, load_before=load_before), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    )
    console.print(table_of(figures))
    console.print(f"{sum(figure.reached is False for figure in figures.values())} goals missed; {RESULT}")


async def _profile(server: EmbeddedPostgres, kind: str) -> None:
    async with open_stand(server, profile_to=PROFILE) as stand:
        await warm_up(stand)
        doors = {
            "json": (stand.proxy, SHORT),
            "sse": (streamed(stand.proxy), PACED),
            "photo": (stand.photo, PHOTO),
            "talk": (stand.talk, QUESTION),
        }
        target, text = doors[kind]
        load = await for_seconds(target, text, PROFILE_SECONDS, connections=PROFILE_CONNECTIONS)
        console.print(f"{load.calls} calls, {load.cpu_ms_per_call:.2f} ms CPU each under the profiler")
    pstats.Stats(str(PROFILE)).sort_stats("tottime").print_stats(LINES)
    pstats.Stats(str(PROFILE)).sort_stats("cumulative").print_stats(LINES)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int, default=1, help="of the order of visits")
    parser.add_argument(
        "--only", action="append", default=[], choices=[one.name for one in MEASURES], help="this measure (and others named so)"
    )
    parser.add_argument("--profile", choices=("json", "sse", "photo", "talk"), help="profile the proxy instead, with turns of this kind")
    given = parser.parse_args()
    RESULT.parent.mkdir(exist_ok=True)
    server = EmbeddedPostgres(Path(".crossfade").resolve() / "postgres")
    try:
        run(_profile(server, given.profile) if given.profile else _measure(server, given.rounds, given.seed, given.only))
    finally:
        server.close()


if __name__ == "__main__":
    main()
