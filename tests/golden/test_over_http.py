"""The golden conversations over HTTP, whole, streamed and cut for speech: what partners see, what the model is sent, what is stored."""

import itertools
import re
import unicodedata
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from domain.fields import FIELDS
from domain.stages import STAGES, StageCode
from domain.transitions import edges_between
from tests.golden.playing import BETWEEN_STEPS, CHUNKS, WAYS, Hall, Played, Took, Way, open_hall
from tests.golden.scenarios import plays
from wiring.database import Database

pytestmark = [pytest.mark.contract, pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

PLAYS = {play.name: play for play in plays()}
HISTORY_LINES = 6
ALL_PRIVATE = {value for play in PLAYS.values() for value in play.private_values() - play.names()}  # of any conversation, in any request
SPOKEN_DIGITS = str.maketrans("零〇洞一幺二三四五六七八九", "0001123456789")
LONG_NUMBER = re.compile(r"\d{5,}")  # a stage and a year have four
NO_ERROR_BUT_BUSY = {"500": "服务繁忙，请稍后重试"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hall(database: Database, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Hall]:
    async with open_hall(database, tmp_path_factory.mktemp("golden")) as opened:
        yield opened


async def test_there_are_33_scenarios_and_each_ends_within_the_minute_it_begins_in():
    assert len({name.partition("_")[0] for name in PLAYS}) == 33
    assert max(len(play.steps) for play in PLAYS.values()) * BETWEEN_STEPS.total_seconds() < 60


@pytest.mark.parametrize("name", PLAYS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_conversation_goes_as_written(hall: Hall, way: Way, name: str):
    played = (await hall.played(PLAYS.values(), way))[name]
    if isinstance(played, Exception):
        raise played
    lines = 0
    for number, took in enumerate(played.took):
        where = f"step {number}: {took.step.said or took.step.write}"
        _check_stored(took, where)
        _check_asked(took, lines, where)
        lines = min(HISTORY_LINES, lines + (2 if took.step.said and not took.step.error else 0))
        if took.step.write:
            assert took.write_body == b'{"code":"200","msg":"success"}', where
        elif took.step.error:
            _check_error(took, way, where)
        else:
            _check_told(took, way, where)
    _check_nothing_private_was_asked(played)
    _check_form(played)


def _check_stored(took: Took, where: str) -> None:
    step, state = took.step, took.state
    assert state.stage == step.stage, where
    assert state.version == took.version_before + (0 if step.error else 1), where
    if step.asks:
        assert state.dialogue.pending_question == step.asks, where
    if step.reason:
        assert state.dialogue.handoff_reason == step.reason, where
    if step.secondary:
        assert list(state.dialogue.secondary_reasons) == list(step.secondary), where
    assert took.turn is not None, where
    assert (took.turn["backend"], took.turn["status"]) == ("langgraph", "failed" if step.error else "committed"), where
    assert took.turn["outcome"]["model_calls"] == len(step.replies), where
    _check_proposals(took, where)


def _check_proposals(took: Took, where: str) -> None:
    """What the model proposed in vain is on the record, and nothing is where it proposed nothing wrong."""
    step, seen = took.step, took.turn and took.turn["outcome"]["violations"]
    refused = [name for name in seen or () if name.startswith("prefix:")]
    if step.rejected:
        assert refused == ["prefix:illegal"], where
        for (_, there), reply in zip(step.rejected, step.replies, strict=False):
            assert reply.startswith(f"<state>{there}</state>"), where
    elif not step.error and step.reason != "MODEL_OUTPUT_INVALID":
        assert refused == [], where
    else:
        assert "prefix:exhausted" in refused, where


def _check_asked(took: Took, lines: int, where: str) -> None:
    """As many requests as written, none for the repetition; each names its turn and shows as many lines of the past as it may."""
    assert [one.request_id for one in took.asked] == [took.request_id] * len(took.step.replies), where
    assert took.unsaid == 0, where
    for asked in took.asked:
        roles = [message["role"] for message in asked.messages]
        history = roles[2:-1]
        assert (roles[:2], roles[-1]) == (["system", "system"], "user"), where
        assert history == ["user", "assistant"] * (lines // 2), where


def _check_error(took: Took, way: Way, where: str) -> None:
    assert took.answer is not None
    assert (took.answer.code, took.answer.message) == (took.step.error, NO_ERROR_BUT_BUSY[took.step.error or ""]), where
    assert took.answer.stage is None, where
    assert took.answer.kinds == (("error",) if way.manner.stream else ()), where


def _check_told(took: Took, way: Way, where: str) -> None:
    answer, again, step = took.answer, took.again, took.step
    assert answer is not None
    assert (answer.code, answer.message, answer.is_replay) == ("200", "success", False), where
    assert answer.headers["x-request-id"] == took.request_id, where
    assert (answer.stage, answer.stage_name) == (step.stage, STAGES[StageCode(step.stage)].name), where
    assert list((answer.patch or {}).items()) == list(step.patch.items()), where
    assert answer.version == took.state.version, where
    assert took.turn is not None
    assert answer.text == took.turn["output_text"] != "", where
    assert step.tells in answer.text, where
    if way.manner.stream:
        texts = len(answer.pieces)
        assert texts >= 1, where
        assert answer.kinds == ("stage_code", *(["formUpdate"] if step.patch else []), *["text_delta"] * texts, "done"), where
    if way.manner.chunks:
        assert all(len(piece) == 40 or piece[-1] in "。！？；，\n" for piece in answer.pieces[:-1]), where
    if again is not None:
        assert again.is_replay, where
        assert again.text.encode() == answer.text.encode(), where
        assert (again.stage, again.patch, again.version) == (answer.stage, answer.patch, answer.version), where


def _check_nothing_private_was_asked(played: Played) -> None:
    """A name may be in the very message that tells it; nothing else of a person ever reaches the model, not even in the history,
    and no number that is being dictated in pieces."""
    names = played.play.names()
    for took in played.took:
        for asked in took.asked:
            told = {name for name in names if name in took.step.said and name in took.step.patch.values()}
            sent = _bare(asked.text)
            assert not [value for value in ALL_PRIVATE | names if _bare(value) in sent and value not in told], asked.text
            assert not LONG_NUMBER.findall("\n".join(message["content"] for message in asked.messages).translate(SPOKEN_DIGITS)), asked.text


def _bare(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKC", text).upper() if char.isalnum())


def _check_form(played: Played) -> None:
    """What is told in the end is the sum of what was told on the way and what was written."""
    total: dict[str, Any] = dict.fromkeys(FIELDS)
    for took in played.took:
        total |= took.step.patch
    assert list(played.form.items()) == list(total.items())


async def test_every_step_is_an_edge_of_the_table(hall: Hall):
    for way in WAYS:
        for played in (await hall.played(PLAYS.values(), way)).values():
            assert isinstance(played, Played)
            stages = [None, *(took.state.stage for took in played.took)]
            for (before, after), took in zip(itertools.pairwise(stages), played.took, strict=True):
                where = f"{played.play.name}: {before} -> {after}"
                edges = after and edges_between(before, after)
                assert edges, where
                assert not took.step.trigger or {edge.trigger for edge in edges} == {took.step.trigger}, where
                assert {here for here, _ in took.step.rejected} <= {before}, where
                assert not [there for here, there in took.step.rejected if edges_between(StageCode(here), StageCode(there))], where


async def test_speech_is_cut_and_plain_streams_are_not(hall: Hall):
    """The check above would pass if nothing were cut at all."""
    told = (await hall.played(PLAYS.values(), CHUNKS))["G01_single_normal"]
    assert isinstance(told, Played)
    assert max(len(took.answer.pieces) for took in told.took if took.answer) > 2
