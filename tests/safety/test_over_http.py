"""Every labelled utterance through /chat, with a model that answers "nobody is hurt" whatever it is asked: what /get_info then says."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
import pytest_asyncio

from backends.langgraph.backend import LangGraphBackend
from backends.langgraph.model.port import TokenUse
from domain.backend_name import BackendName
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.house import House, open_house
from tests.fakes.scripted_backend import ScriptedBackend
from tests.fakes.values import NOON
from tests.safety.sentences import Sentence, load
from wiring.database import Database

pytestmark = [pytest.mark.integration, pytest.mark.security]

SETS_OF = ("injury", "second", "held_out")
SETS = pytest.mark.parametrize("sentences", [load(f"{name}.jsonl") for name in SETS_OF], ids=SETS_OF)
PLAIN_ACCEPTED = 0.85
TOGETHER = 16


class AllClearModel:
    """The worst model for injuries: it says in every way it has that nobody is hurt."""

    name = "all-clear"
    host = "nowhere"

    async def stream(self, messages: Sequence[Any], *, request_id: str) -> AsyncGenerator[str | TokenUse, None]:
        yield '<state>1002</state><form>{"fields":{"ywrysw":false},"answer":"valid","confirm":"yes","safety":"none"}</form>好的。'

    async def probe(self) -> str | None:
        return None

    async def aclose(self) -> None:
        pass


@pytest_asyncio.fixture
async def house(database: Database) -> AsyncGenerator[House]:
    backends = {
        BackendName.LANGGRAPH: LangGraphBackend(AllClearModel(), None, FixedClock(NOON)),
        BackendName.FASTGPT: ScriptedBackend(name=BackendName.FASTGPT),
    }
    async with open_house(database, backends, FixedClock(NOON), shadow_enabled=False) as house:
        yield house


async def recorded(house: House, sentence: Sentence) -> tuple[str, str]:
    """What /get_info says about injuries after the utterance, and the stage it led to."""
    session = f"S-{uuid.uuid4()}"
    if sentence.asked:
        await house.chat(session, "【会话开始】")
        asked = await house.chat(session, "准备好了")
        assert asked.json()["nextStageCode"] == "1002"
    answer = (await house.chat(session, sentence.text)).json()
    info = (await house.call("/get_info", {"sessionId": session, "key": "ywrysw"})).json()
    return info["value"], answer["nextStageCode"]


async def all_recorded(house: House, sentences: list[Sentence]) -> list[tuple[Sentence, str, str]]:
    gate = asyncio.Semaphore(TOGETHER)

    async def one(sentence: Sentence) -> tuple[Sentence, str, str]:
        async with gate:
            return (sentence, *await recorded(house, sentence))

    return await asyncio.gather(*map(one, sentences))


@SETS
async def test_nobody_who_is_or_may_be_hurt_is_recorded_as_unhurt(house: House, sentences: list[Sentence]):
    doubtful = [sentence for sentence in sentences if sentence.truth != "unhurt"]
    cleared = [sentence.text for sentence, value, _ in await all_recorded(house, doubtful) if value == "false"]
    assert cleared == []


@SETS
async def test_people_who_plainly_say_that_nobody_is_hurt_are_not_asked_again(house: House, sentences: list[Sentence]):
    plain = [sentence for sentence in sentences if sentence.truth == "unhurt" and sentence.kind == "plain" and sentence.asked]
    asked_again = [sentence.text for sentence, value, _ in await all_recorded(house, plain) if value != "false"]
    assert len(asked_again) <= (1 - PLAIN_ACCEPTED) * len(plain), asked_again


@SETS
async def test_car_damage_and_idioms_raise_no_alarm(house: House, sentences: list[Sentence]):
    quiet = [sentence for sentence in sentences if sentence.truth in ("unhurt", "silent") and sentence.kind == "plain"]
    alarmed = [sentence.text for sentence, value, _ in await all_recorded(house, quiet) if value == "true"]
    assert len(alarmed) <= 0.02 * len(quiet), alarmed
