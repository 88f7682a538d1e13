"""Children are watched while they should run, and forgotten when they were meant to end."""

from pathlib import Path

import pytest

from wiring.processes import ChildFailed, Children

pytestmark = pytest.mark.e2e


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make a module to run out of a few lines."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def make(name: str, code: str) -> str:
        (tmp_path / f"{name}.py").write_text(code)
        return name

    return make


async def test_a_child_that_was_meant_to_end_is_no_dead_child(module, tmp_path):
    async with Children(tmp_path / "logs") as children:
        process = await children.run("round", module("ends", "print('x')"))
        assert await children.finished(process) == 0
        assert children.ended() == []


async def test_a_server_that_ends_by_itself_is_noticed(module, tmp_path):
    async with Children(tmp_path / "logs") as children:
        code = "import json, sys\nprint(json.dumps({'ready': True, 'port': 1}), flush=True)\nsys.stdin.readline()"
        assert (await children.start("server", module("serves", code)))["port"] == 1
        assert children.ended() == []
        process = children._running[0][1]
        assert process.stdin is not None
        process.stdin.write(b"end\n")
        await process.wait()
        assert children.ended() == ["server"]


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "print('not json')"])
async def test_a_server_that_does_not_start_says_where_to_look(module, tmp_path, code):
    async with Children(tmp_path / "logs") as children:
        with pytest.raises(ChildFailed, match=r"broken did not start; see .*broken\.log"):
            await children.start("broken", module("fails", code))
