"""What `crossfade doctor` says of a FastGPT server: its release by what it was recorded to do, and whether its app knows our fields."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backends.fastgpt.chats import Declared, header_from
from backends.fastgpt.examination import examined, release_family
from sim.fastgpt.server import Options, app_of
from tests.backends.fastgpt.conftest import GOLDEN
from tests.fakes.both_sides import KEY, Upstreams, both_backends, listening
from wiring.database import Database

REFUSALS = {"4.9.0": "4.9 to 4.10", "4.11.1": "4.11 to 4.15", "4.16.0": "4.16 or newer"}
DECLARED = [
    Declared(key="plateNo", label="车牌号", kind="string"),
    Declared(key="injured", label="injured", kind="boolean"),
    Declared(key="stage_code", label="stage_code", kind="string"),
]


def headers_of(path: Path) -> dict[str, str]:
    return {row[0]: row[1] for row in json.loads(path.read_text("utf-8"))["headers"]}


@pytest.mark.unit
@pytest.mark.parametrize("era", REFUSALS)
def test_every_recorded_response_tells_its_release(era: str) -> None:
    looked_at = 0
    for path in sorted((GOLDEN / era).glob("*.json")):
        row = json.loads(path.read_text("utf-8"))
        has_answered = row["status"] is not None  # one caller left before its response
        if has_answered and (row["request"]["path"].startswith("/api/core/chat/init") or "nonstream" in path.name):
            looked_at += 1
            assert release_family(headers_of(path), None, has_v2=era != "4.9.0") == REFUSALS[era], path.name
    assert looked_at > 5


@pytest.mark.unit
@pytest.mark.parametrize(
    ("changes", "declared", "facts", "problems"),
    [
        ({}, DECLARED, {"2 of 3 fields", "accidentType"}, ()),
        ({}, [Declared(key="x", label="injured", kind="boolean"), DECLARED[2]], {"1 of 3 fields"}, ()),  # by its label
        ({}, [DECLARED[2]], {"0 of 3"}, ("none of our fields",)),
        ({}, DECLARED[:2], set(), ("STAGE_VARIABLE",)),
        ({"pending_variables": {"candidates": "cands"}}, DECLARED, set(), ("PENDING_VARIABLES.candidates",)),
        ({}, [Declared(key="plateNo", label="", kind="number"), *DECLARED[1:]], set(), ("plateNo is declared as number",)),
        ({"api": "v2"}, DECLARED, set(), ("no v2",)),
        ({}, None, {"APP_ID is not set"}, ()),
    ],
)
def test_what_does_not_fit_is_named(make_config: Callable[..., Any], changes, declared, facts, problems) -> None:
    found = examined(make_config(**changes), release="4.9 to 4.10", has_v2=False, refusal={}, declared=declared)
    assert all(any(part in words for words in found.facts.values()) for part in facts)
    assert len(found.problems) == len(problems)
    assert all(part in told for part, told in zip(problems, found.problems, strict=True))


@pytest.mark.unit
@pytest.mark.parametrize("era", REFUSALS)
def test_the_recorded_app_declares_its_variables(era: str, recording: Callable[[str], Any]) -> None:
    header = header_from(json.loads(recording(f"{era}/07-init-after-turns").body)["data"])
    assert header.exists
    assert [(one.key, one.label, one.kind) for one in header.declared][:2] == [
        ("caseNo", "caseNo", "string"),
        ("plateNo", "车牌号", "string"),
    ]
    assert header.variables["caseNo"] == "C-77"


@pytest.mark.integration
@pytest.mark.parametrize("era", REFUSALS)
async def test_the_emulator_of_each_release_is_recognised_and_starts_no_chat(era: str, database: Database) -> None:
    app = app_of(Options(model_url="http://127.0.0.1:9/v1", era=era, keys=(KEY,)))
    async with listening(app) as url, both_backends(database, Upstreams(fastgpt_url=url, model_url="http://x")) as backends:
        fastgpt = next(iter(backends.values()))
        assert await fastgpt.probe() is None
        found = await fastgpt.examine()
        assert found.facts["release"] == REFUSALS[era]
        assert found.facts["interfaces"] == ("v1 only" if era == "4.9.0" else "v1 and v2")
