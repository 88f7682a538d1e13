"""A live session changes its server at any turn of either flow, in both directions, over the real backends: it goes on as its twin does
that never moved, nothing of the form is lost, and what moved is on record."""

import json
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from domain.backend_name import BackendName
from domain.session import Dialogue, SessionState
from rollout.handover import moved_by_operator
from storage.sessions import SessionRows
from tests.fakes.both_sides import Upstreams, both_backends, said_in, upstreams
from tests.fakes.house import House, open_house
from wiring.clock import SystemClock
from wiring.database import Database

pytestmark = [pytest.mark.contract, pytest.mark.integration]

F, L = BackendName.FASTGPT, BackendName.LANGGRAPH
FLOWS = {"single": said_in("single_normal"), "double": said_in("double_normal")}
STAGES = {
    "single": {"1001", "1002", "2000", "2001", "2002", "2003", "2004", "2005", "3001", "0000"},
    "double": {"1001", "1002", "2010", "2011", "2012", "2013", "2014", "2015", "2016", "3001", "3002", "0000"},
}


@dataclass(slots=True)
class World:
    house: House
    up: Upstreams

    async def turn(self, session: str, text: str) -> tuple[str, dict[str, Any]]:
        # Named, so that two photos within a second are two photos.
        answer = (await self.house.chat(session, text, Idempotency_Key=uuid.uuid4().hex)).json()
        assert answer["code"] == "200", (text, answer)
        return answer["nextStageCode"], answer["formUpdate"]

    async def form(self, session: str) -> dict[str, Any]:
        state = await self.house.store.read("t1", session)
        assert state is not None
        return {key: value for key, value in state.form.items() if value is not None and key != "sgfssj"}

    async def moves(self, session: str) -> list[tuple[str, str, str, str, list[str]]]:
        rows = await self.house.pool.fetch(
            "SELECT from_backend, to_backend, cause, outcome, lost FROM app.session_moves WHERE session_id = $1 ORDER BY move_id", session
        )
        return [tuple(row) for row in rows]

    async def served_by(self, session: str) -> list[str]:
        rows = await self.house.pool.fetch("SELECT backend FROM app.turns WHERE session_id = $1 ORDER BY version", session)
        return [row["backend"] for row in rows]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(database: Database) -> AsyncGenerator[World]:
    async with upstreams() as up, both_backends(database, up) as backends, open_house(database, backends, SystemClock()) as house:
        yield World(house, up)


async def played(world: World, session: str, said: list[str]) -> list[tuple[str, dict[str, Any]]]:
    return [await world.turn(session, text) for text in said]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("source", [F, L])
@pytest.mark.parametrize("flow", FLOWS)
async def test_a_session_that_moves_at_any_turn_goes_on_as_its_twin_that_stays(world: World, flow, source):
    said, target = FLOWS[flow], source.other
    await world.house.publish(default=source, override=None, existing_sessions="stay")
    twin = f"twin-{flow}-{source}"
    expected = await played(world, twin, said)
    assert {stage for stage, _ in expected} == STAGES[flow]
    for cut in range(1, len(said)):
        await world.house.publish(default=source)
        moved = f"moved-{flow}-{source}-{cut}"
        before = await played(world, moved, said[:cut])
        held = await world.form(moved)
        await world.house.publish(default=target, existing_sessions="carry")
        after = await played(world, moved, said[cut:])
        await world.house.publish(existing_sessions="stay")
        assert [stage for stage, _ in (*before, *after)] == [stage for stage, _ in expected], (flow, source, cut)
        assert await world.form(moved) == await world.form(twin), (flow, source, cut)
        assert held.items() <= (await world.form(moved)).items()
        assert await world.moves(moved) == [(source, target, "carry", "moved", [])]
        assert await world.served_by(moved) == [source] * cut + [target] * (len(said) - cut)


@pytest.mark.asyncio(loop_scope="module")
async def test_every_move_to_fastgpt_seeds_a_chat_that_nobody_used_before(world: World):
    await world.house.publish(default=L, override=None, existing_sessions="stay")
    session, said = "back-and-forth", FLOWS["single"]
    begun = len(world.up.calls)
    for number, text in enumerate(said):
        await world.house.publish(override=F if number % 4 in (2, 3) else L)
        await world.turn(session, text)
    calls = world.up.calls[begun:]
    chats = [call["chatId"] for call in calls]
    visits = [chats[start : start + 2] for start in range(0, len(chats), 2)]
    assert all(len(set(visit)) == 1 for visit in visits)  # within a visit one chat
    assert len({visit[0] for visit in visits}) == len(visits)  # and never the same one again
    for visit in range(0, len(calls), 2):
        assert len(calls[visit]["messages"]) > 1  # what was said before travels along, once
        assert calls[visit]["variables"]["stage_code"]
    assert all(len(call["messages"]) == 1 for call in calls[1::2])


@pytest.mark.asyncio(loop_scope="module")
async def test_fields_that_fastgpt_has_no_variable_for_are_still_told_after_a_roll_back(database: Database):
    async with (
        upstreams() as up,
        both_backends(database, up, variables={"ywrysw": "ywrysw", "jdcsl": "jdcsl", "sgyy": "sgyy"}) as backends,
        open_house(database, backends, SystemClock()) as house,
    ):
        here = World(house, up)
        await house.publish(default=L)
        await played(here, "kept", FLOWS["single"][:5])
        known = await here.form("kept")
        assert {"ywfjdc", "bjrjs", "sfsgxc"} <= set(known)
        await house.publish(override=F)
        await here.turn("kept", "好了")
        for key, value in known.items():
            told = (await house.call("/get_info", {"sessionId": "kept", "key": key})).json()["value"]
            assert json.loads(told) == value
        await house.publish(override=None)


@pytest.mark.asyncio(loop_scope="module")
async def test_what_fastgpt_cannot_be_told_refuses_a_wish_names_itself_and_yields_to_the_kill_switch(database: Database):
    async with (
        upstreams() as up,
        both_backends(database, up, pending_variables={"pending_question": "pending"}) as backends,
        open_house(database, backends, SystemClock()) as house,
    ):
        here = World(house, up)
        await house.publish(default=L, override=None, existing_sessions="stay")
        dictated = FLOWS["single"][:-4]  # an identity number was read back and waits for "yes"
        await played(here, "waiting", dictated)
        await house.publish(default=F, existing_sessions="carry")
        await here.turn("waiting", "你说什么？")
        await here.turn("waiting", "你说什么？")
        assert (await here.served_by("waiting"))[-2:] == [L, L]
        ((source, target, cause, outcome, lost),) = (await here.moves("waiting"))[:1]
        assert (source, target, cause, outcome) == (L, F, "carry", "refused")
        assert "candidates" in lost
        assert all(one[3] == "refused" for one in await here.moves("waiting"))
        await house.publish(override=F)
        await here.turn("waiting", "你说什么？")
        assert (await here.served_by("waiting"))[-1] == F
        source, target, cause, outcome, lost = (await here.moves("waiting"))[-1]
        assert (source, target, cause, outcome) == (L, F, "override", "moved")
        assert "candidates" in lost
        await house.publish(override=None, existing_sessions="stay")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_plan_that_carries_does_not_take_an_operators_word_back(world: World):
    session, rows = "by-word", SessionRows(world.house.pool, world.house.store)
    await world.house.publish(default=L, override=None, existing_sessions="stay")
    await played(world, session, FLOWS["single"][:3])
    await world.house.publish(existing_sessions="carry")
    held = await rows.hold("t1", session)
    assert held is not None
    pin, move = moved_by_operator(held.pin, F, lost=())
    await rows.move(held, pin, move, author="me", reason="complaint")
    await played(world, session, FLOWS["single"][3:5])
    assert await world.served_by(session) == [L, L, L, F, F]
    await world.house.publish(traffic={"langgraph_ppm": 1_000_000})  # a plan after the word may
    await played(world, session, FLOWS["single"][5:6])
    assert (await world.served_by(session))[-1] == L
    await world.house.publish(traffic={"langgraph_ppm": 0}, existing_sessions="stay")


@pytest.mark.parametrize(
    ("dialogue", "lost"),
    [
        (Dialogue(), ()),
        (Dialogue(pending_question="PHOTO", confirmed=("SUMMARY_1",)), ()),  # worked out anew from stage and form
        (Dialogue(candidates={"sjhm1": "13800138000"}, no_response_count=2), ("candidates", "no_response_count")),
        (Dialogue(photo_failures={"2001": 1}, partials={"sjhm1": "138"}), ("partials", "photo_failures")),
        (Dialogue(clarification_counts={"INJURY": 1}), ("clarification_counts",)),
    ],
)
async def test_names_of_what_has_no_variable(database: Database, dialogue, lost):
    up = Upstreams(fastgpt_url="http://127.0.0.1:9", model_url="http://127.0.0.1:9")
    async with both_backends(database, up, pending_variables={}) as backends:
        session = SessionState(dialogue=dialogue)
        assert backends[F].lost(session) == lost
        assert backends[L].lost(session) == ()
