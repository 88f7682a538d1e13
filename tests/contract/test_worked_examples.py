"""The worked examples of the partners' contract, byte for byte, through the real door, graph and database; only the model is scripted.

`make golden` rewrites tests/golden/contract/*.txt; a change there is a change of the wire and is reviewed like one.
"""

import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from backends.langgraph.backend import LangGraphBackend
from backends.langgraph.checkpoints import open_saver
from domain.backend_name import BackendName
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.house import House, open_house
from tests.fakes.scripted_backend import ScriptedBackend
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.values import NOON

pytestmark = [pytest.mark.contract, pytest.mark.integration]

GOLDEN = Path(__file__).parents[1] / "golden" / "contract"
PHOTO_FAILED = "［客户端连续３次拍摄识别失败：未检测到车牌］"


class Scene:
    """A house with one model, and a notebook of the exchanges."""

    def __init__(self, house: House, model: ScriptedModel) -> None:
        self.house = house
        self.model = model

    async def ask(self, path: str, body: object, *replies: str, **headers: str) -> str:
        """The answer as it went over the wire: status, the headers that are part of the contract, body."""
        self.model.then(*replies)
        calls = len(self.model.sent)
        response = await self.house.call(path, body, **headers)
        assert len(self.model.sent) - calls == len(replies), "a scripted reply was not asked for"
        names = ("content-type", "x-error-type", "idempotency-replayed", "cache-control", "x-accel-buffering")
        shown = [f"{name}: {response.headers[name]}" for name in names if name in response.headers]
        return "\n".join((f"HTTP {response.status_code}", *shown, "", response.text))

    async def walk(self, session: str, *turns: tuple[str, ...]) -> None:
        """Bring a session somewhere; every turn must succeed."""
        for text, *replies in turns:
            answer = await self.ask("/chat", {"sessionId": session, "text": text}, *replies)
            assert '"code":"200"' in answer, answer


@pytest_asyncio.fixture
async def scene(database) -> AsyncGenerator[Scene]:
    model, clock = ScriptedModel(cut=lambda text: re.findall(r"[^。]*。?", text)[:-1]), FixedClock(NOON)
    async with open_saver(database.app_dsn, "langgraph") as checkpoints:
        backends = {
            BackendName.LANGGRAPH: LangGraphBackend(model, checkpoints, clock),
            BackendName.FASTGPT: ScriptedBackend(name=BackendName.FASTGPT),
        }
        async with open_house(database, backends, clock) as house:
            yield Scene(house, model)
        await backends[BackendName.LANGGRAPH].aclose()


START = ("【会话开始】",)
READY = ("准备好了", "<state>1002</state>请问事故中有没有人员受伤？")
POLE = (
    "没有人受伤，我倒车撞到柱子了",
    '<state>1002</state><form>{"fields":{"jdcsl":1,"sgyy":"倒车"},"answer":"valid","safety":"none"}</form>好的，人没事就好。'
    "请问您现在还在事故现场吗？",
)
REST_SINGLE = (
    ("还在现场，十分钟前发生的，我开的车", '<state>1002</state><form>{"fields":{"bjrjs":"当事人"}}</form>有没有电动车或摩托车？'),
    ("没有电动车也没有摩托车", "<state>2000</state>接下来拍照。"),
    ("好了", "<state>2001</state>请拍车前全景。"),
)
DOUBLE = (
    (
        "好了，我跟前面一辆车追尾了，人都没事",
        '<state>1002</state><form>{"fields":{"sgyy":"追尾","bjrjs":"当事人"},"safety":"none"}</form>还在现场吗？',
    ),
    ("在现场，就两辆小车，没有电动车摩托车", "<state>1002</state>大概几点发生的？"),
    ("刚刚", "<state>2010</state>接下来拍照。"),
    ("好了", "<state>2011</state>请拍两车前方。"),
    ("【拍摄完成】",),
    ("【拍摄完成】",),
    ("【拍摄完成】",),
)


async def e1(scene: Scene) -> str:
    return await scene.ask("/chat", {"sessionId": "S-1", "text": "【会话开始】", "needFormUpdate": True})


async def e2(scene: Scene) -> str:
    await scene.walk("S-2", START)
    return await scene.ask("/chat", {"sessionId": "S-2", "text": READY[0], "needFormUpdate": True}, *READY[1:])


async def e3(scene: Scene) -> str:
    await scene.walk("S-3", START, READY)
    return await scene.ask("/chat?stream=true", {"sessionId": "S-3", "text": POLE[0], "needFormUpdate": True}, *POLE[1:])


async def e4(scene: Scene) -> str:
    return await scene.ask("/chat", {"sessionId": "S-4", "text": "快来人，对方头流血了"})


async def e5(scene: Scene) -> str:
    await scene.walk("S-5", START, READY, POLE, *REST_SINGLE)
    return await scene.ask("/chat", {"sessionId": "S-5", "text": "【拍摄完成】", "needFormUpdate": True})


async def e6(scene: Scene) -> str:
    await scene.walk("S-6", START, *DOUBLE)
    return await scene.ask("/chat", {"sessionId": "S-6", "text": PHOTO_FAILED})


async def e7(scene: Scene) -> str:
    await scene.walk("S-7", START)
    written = await scene.ask("/set_info", {"sessionId": "S-7", "key": "hphm1", "value": '"粤b·d12345"'})
    return written + "\n\n" + await scene.ask("/get_info", {"sessionId": "S-7", "key": "hphm1"})


async def e8(scene: Scene) -> str:
    await scene.walk("S-8", START)
    await scene.ask("/set_info", {"sessionId": "S-8", "key": "hphm1", "value": '"粤b·d12345"'})
    return await scene.ask("/get_info", {"sessionId": "S-8", "key": "acdhuman1"})


async def e9(scene: Scene) -> str:
    await scene.walk("S-9", START)
    return await scene.ask("/set_info", {"sessionId": "S-9", "key": "stage_code", "value": '"0000"'})


async def e10(scene: Scene) -> str:
    await scene.walk("S-10", START)
    return await scene.ask("/set_info", {"sessionId": "S-10", "key": "sfzmhm1", "value": '"110105194912310021"'})


async def e11(scene: Scene) -> str:
    return await scene.ask("/get_info", {"sessionId": "nope", "key": "all"})


async def e12(scene: Scene) -> str:
    await scene.walk("S-12", START, READY, POLE)
    wrong = "<state>3002</state>核对"
    told = await scene.ask("/chat?stream=true", {"sessionId": "S-12", "text": "好的"}, wrong, wrong)
    state = await scene.house.store.read("t1", "S-12")
    assert state is not None
    return f"{told}\nstage {state.stage}, version {state.version}"


async def e13(scene: Scene) -> str:
    await scene.walk("S-13", START, READY, POLE, *REST_SINGLE)
    body, key = {"sessionId": "S-13", "text": "【拍摄完成】"}, {"Idempotency_Key": "k1"}
    first = await scene.ask("/chat", body, **key)
    again = await scene.ask("/chat", body, **key)
    other = await scene.ask("/chat", body | {"text": "【用户无回复】"}, **key)
    assert first.partition("\n\n")[2] == again.partition("\n\n")[2]
    return "\n\n".join((first, again, other))


EXAMPLES = {f"E{number}": globals()[f"e{number}"] for number in range(1, 14)}


@pytest.mark.parametrize("name", EXAMPLES)
async def test_the_worked_example_is_answered_byte_for_byte(scene, name, request):
    told = await EXAMPLES[name](scene)
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--rewrite-golden"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(told + "\n", encoding="utf-8")
    assert told + "\n" == golden.read_text(encoding="utf-8")


async def test_two_unusable_turns_running_are_handed_over_whichever_replica_takes_them(scene, database):
    await scene.walk("S-31", START)
    told = await scene.ask("/chat", {"sessionId": "S-31", "text": "等等"}, "没有标签的回复", "<state>9999</state>x")
    assert '"code":"500"' in told
    replica_model, clock = ScriptedModel(["<state>1001</state><state>1002</state>x", "<state>2003</state>x"]), FixedClock(NOON)
    async with open_saver(database.app_dsn, "langgraph") as checkpoints:
        backends = {BackendName.LANGGRAPH: LangGraphBackend(replica_model, checkpoints, clock), BackendName.FASTGPT: ScriptedBackend()}
        async with open_house(database, backends, clock) as replica:
            answer = (await replica.chat("S-31", "等一下")).json()
        await backends[BackendName.LANGGRAPH].aclose()
    assert (answer["code"], answer["nextStageCode"], answer["stateVersion"]) == ("200", "0002", 2)
