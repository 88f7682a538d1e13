"""`python -m tests.chaos`: play the cells, print the table, write build/chaos.json. Exit code 1 when anything did not hold."""

import argparse
import json
import sys
import time
import uuid
from collections import defaultdict
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cli.loop import run
from storage.embedded import EmbeddedPostgres
from storage.migrate import drop_databases
from tests.chaos.campaign import Played, cells_like, play
from tests.chaos.cells import CELLS
from tests.chaos.designs import DESIGNS
from tests.chaos.invariants import INVARIANTS, NOT_CHECKED_HERE
from tests.chaos.stand import open_stand
from wiring.database import embedded_database
from wiring.migrate import migrate

BUILD = Path("build")
PREFIX = "chaos_"
WIDE = 150  # cells have long names
console = Console(width=max(WIDE, Console().width))
progress = Console(stderr=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.chaos", description="Stop a proxy at every step of a turn and check what must hold.")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds a cell")
    parser.add_argument("--seed", type=int, default=1, help="the first of them")
    parser.add_argument("--only", default="", metavar="PATTERN", help="cells whose name holds all these words")
    parser.add_argument("--jobs", type=int, default=2, help="cells side by side")
    parser.add_argument("--design", choices=sorted(DESIGNS), default="", help="put a wrong design in, to see it caught")
    options = parser.parse_args()
    cells = cells_like(CELLS, options.only)
    if not cells:
        parser.error(f"no cell is like {options.only!r}")
    server = EmbeddedPostgres(Path(".crossfade").resolve() / "chaos-postgres")
    try:
        played = run(_play(server, options))
    finally:
        server.close()
    return _told(played, options)


async def _play(server: EmbeddedPostgres, options: argparse.Namespace) -> list[Played]:
    await drop_databases(server.dsn(), PREFIX)
    database = embedded_database(server, f"{PREFIX}{uuid.uuid4().hex[:8]}")
    await migrate(database)
    cells, seeds = cells_like(CELLS, options.only), range(options.seed, options.seed + options.seeds)
    played: list[Played] = []
    began = time.monotonic()
    async with open_stand(database, BUILD / "chaos") as stand:
        with progress.status("") as status:
            async with aclosing(play(stand, cells, seeds, lanes=options.jobs, design=options.design)) as running:
                async for one in running:
                    played.append(one)
                    bad = sum(bool(each.found) for each in played)
                    pace = (time.monotonic() - began) / len(played)
                    status.update(f"{len(played)} of {len(cells) * len(seeds)} cases, {bad} bad, {pace:.2f} s a case")
                    if one.found:
                        _keep(one)
    return played


def _keep(one: Played) -> None:
    """Everything that is known about a bad case, to read at leisure."""
    place = BUILD / "chaos" / "evidence"
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{one.cell.name.replace('/', '.')}-{one.seed}.json"
    row = {"found": [asdict(each) for each in one.found], "evidence": one.evidence and asdict(one.evidence)}
    path.write_text(json.dumps(row, ensure_ascii=False, indent=1, default=_as_text))


def _as_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)


def _told(played: list[Played], options: argparse.Namespace) -> int:
    by_cell: dict[str, list[Played]] = defaultdict(list)
    for one in played:
        by_cell[one.cell.name].append(one)
    table = Table("cell", "seeds", "seconds", "violations", title=f"{len(by_cell)} cells, {len(played)} cases")
    for name, ones in sorted(by_cell.items()):
        bad = [f"seed {one.seed}: {each.invariant} {each.detail}" for one in ones for each in one.found]
        table.add_row(name, str(len(ones)), f"{sum(one.seconds for one in ones) / len(ones):.2f}", escape("\n".join(bad[:3])))
    console.print(table)
    found = [(one, each) for one in played for each in one.found]
    console.print(f"{len(played)} cases, {len(found)} violations of {len(INVARIANTS)} invariants")
    if found:
        one = found[0][0]
        console.print(f"again: python -m tests.chaos --only '{one.cell.name}' --seed {one.seed}", highlight=False, soft_wrap=True)
    BUILD.mkdir(exist_ok=True)
    (BUILD / "chaos.json").write_text(json.dumps(_summary(by_cell, options), ensure_ascii=False, indent=1))
    return 1 if found else 0


def _summary(by_cell: dict[str, list[Played]], options: argparse.Namespace) -> dict[str, Any]:
    return {
        "seed": options.seed,
        "seeds": options.seeds,
        "design": options.design,
        "invariants": {one.name: one.says for one in INVARIANTS},
        "not_checked_here": NOT_CHECKED_HERE,
        "cells": {
            name: {
                "cases": len(ones),
                "seconds": round(sum(one.seconds for one in ones), 2),
                "violations": [{"seed": one.seed, **asdict(each)} for one in ones for each in one.found],
            }
            for name, ones in by_cell.items()
        },
    }


if __name__ == "__main__":
    sys.exit(main())
