"""FastGPT is gone: one backend is left. Plans and pins of before still name the other one, and every session goes on where it stood."""

import pytest

from domain.backend_name import BackendName
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.house import open_house
from tests.fakes.scripted_backend import ScriptedBackend
from tests.fakes.values import NOON
from wiring.backends import MissingSetting
from wiring.services import the_only_one

pytestmark = [pytest.mark.contract, pytest.mark.integration]

F, L = BackendName.FASTGPT, BackendName.LANGGRAPH


@pytest.mark.parametrize(
    ("switch", "built", "serving"), [(None, (F, L), None), (F, (F, L), F), (None, (L,), L), (L, (L,), L), (None, (F,), F)]
)
def test_the_one_backend_there_is_serves_everything(switch, built, serving):
    assert the_only_one(switch, {name: ScriptedBackend(name=name) for name in built}) == serving


def test_a_switch_to_a_backend_that_was_taken_out_stops_the_start():
    with pytest.raises(MissingSetting, match="AGENT_BACKEND is fastgpt"):
        the_only_one(F, {L: ScriptedBackend()})


async def test_sessions_that_fastgpt_served_go_on_where_they_stood(database, session):
    fastgpt, langgraph = ScriptedBackend(name=F, finishes_when_abandoned=True), ScriptedBackend()
    async with open_house(database, {F: fastgpt, L: langgraph}, FixedClock(NOON), default=F) as before:
        assert (await before.chat(session, "你好")).json()["stateVersion"] == 1
        await before.call("/set_info", {"sessionId": session, "key": "sgyy", "value": "追尾"})
    only = {L: langgraph}
    async with open_house(database, only, FixedClock(NOON), default=F, process_backend=the_only_one(None, only)) as after:
        assert (await after.call("/get_info", {"sessionId": session, "key": "sgyy"})).json()["value"] == '"追尾"'
        answer = (await after.chat(session, "接着说")).json()
        assert (answer["code"], answer["stateVersion"]) == ("200", 3)
        assert langgraph.sessions[-1].form["sgyy"] == "追尾"
        assert next(message.text for message in langgraph.sessions[-1].transcript) == "你好"
        assert (await after.chat(f"{session}-new", "你好")).json()["code"] == "200"
        moves = await after.pool.fetch("SELECT from_backend, to_backend FROM app.session_moves WHERE session_id = $1", session)
        assert [tuple(row) for row in moves] == [(F, L)]
