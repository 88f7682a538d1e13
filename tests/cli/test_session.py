"""`crossfade session` and `crossfade reconcile`, typed by an operator beside a running service: real commands, database and upstreams."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from domain.backend_name import BackendName
from tests.fakes.both_sides import KEY, both_backends, said_in, upstreams
from tests.fakes.house import open_house
from wiring.clock import SystemClock
from wiring.database import Database

pytestmark = pytest.mark.integration

F = BackendName.FASTGPT
SAID = said_in("single_normal")


async def test_a_session_is_shown_moved_reconciled_and_erased(database: Database, tmp_path: Path):
    async with (
        upstreams() as up,
        both_backends(database, up, chat_secret="told") as backends,
        open_house(database, backends, SystemClock(), default=F, shadow_enabled=False) as house,
    ):
        env = {
            "ZNJJ_DATABASE__DSN": database.app_dsn,
            "ZNJJ_DATABASE__MIGRATOR_DSN": database.migrator_dsn,
            "ZNJJ_DATABASE__SHADOW_DSN": database.shadow_dsn,
            "ZNJJ_DATABASE__READER_DSN": database.reader_dsn,
            "ZNJJ_FASTGPT__BASE_URL": up.fastgpt_url,
            "ZNJJ_FASTGPT__API_KEY": KEY,
            "ZNJJ_FASTGPT__APP_ID": "a",
            "ZNJJ_FASTGPT__CHAT_SECRET": "told",
            "ZNJJ_LLM__BASE_URL": up.model_url,
            "ZNJJ_LLM__API_KEY": "k",
            "ZNJJ_LLM__MODEL": "sim",
            "LANGGRAPH_SHADOW_ENABLED": "true",
        }

        async def typed(*words: str) -> tuple[int, Any, str]:
            told = await asyncio.to_thread(_crossfade, tmp_path, env, *words)
            return told.returncode, json.loads(told.stdout) if told.stdout.startswith("{") else told.stdout, told.stderr

        for text in SAID[:4]:
            await house.chat("S-7", text)
        code, shown, _ = await typed("session", "show", "S-7", "--tenant", "t1", "--json")
        assert code == 0
        assert (shown["stage"], shown["version"], shown["pinned_to"], shown["served_by"]) == ("1002", 4, "fastgpt", "fastgpt")
        assert "京" not in json.dumps(shown, ensure_ascii=False)

        assert (await typed("reconcile", "--json"))[:2] == (0, {"schema_version": 1, "examined": 1, "sessions": []})

        assert (await typed("session", "move", "S-7", "--tenant", "t1", "--to", "langgraph", "--reason", "a test"))[0] == 0
        assert (await house.chat("S-7", SAID[4])).json()["nextStageCode"] == "2000"
        served = await house.pool.fetch("SELECT backend FROM app.turns WHERE session_id = 'S-7' ORDER BY version")
        assert [row["backend"] for row in served] == ["fastgpt"] * 4 + ["langgraph"]
        moves = await house.pool.fetch("SELECT cause, outcome, reason FROM app.session_moves WHERE session_id = 'S-7' ORDER BY move_id")
        assert [tuple(row) for row in moves] == [("operator", "moved", "a test"), ("pin", "moved", "")]

        # What FastGPT could not be told refuses the way back: these settings name no variable for a no-reply counter.
        await house.chat("S-7", "【用户无回复】")
        code, _, said = await typed("session", "move", "S-7", "--tenant", "t1", "--to", "fastgpt")
        assert code == 4
        assert "no_response_count" in said

        assert (await typed("session", "erase", "S-7", "--tenant", "t1"))[0] == 2  # not without --yes
        assert (await typed("session", "erase", "S-7", "--tenant", "t1", "--yes"))[0] == 0
        assert (await house.chat("S-7", "在吗")).json()["code"] == "410"
        assert (await typed("session", "erase", "S-7", "--tenant", "t1", "--yes"))[0] == 0  # may be repeated
        assert (await typed("session", "erase", "nobody", "--tenant", "t1", "--yes"))[0] == 3


def _crossfade(folder: Path, env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *words],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
