"""Every planted difference shows, and shows where it should."""

from typing import Any

import aiohttp
import pytest

from sim.fastgpt.plants import PLANTS, Planting
from sim.fastgpt.server import DEFAULT_KEY

pytestmark = pytest.mark.unit

READY = ["准备好了", "没有人受伤，我自己倒车撞到柱子了"]
VERIFYING = {
    "stage_code": "3001", "ywrysw": False, "ywfjdc": False, "ywmtc": False, "bjrjs": "当事人", "sfsgxc": True,
    "jdcsl": 1, "sgyy": "倒车", "sgfssj": "2026-07-27 15:00:00", "xm1": "张三",
}  # fmt: skip


async def last_of(client: Any, texts: list[str], variables: dict[str, Any] | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for text in texts:
        answer = await client.say(text, variables=variables)
        variables = None
    return answer


async def both(start: Any, plant: str, texts: list[str], variables: dict[str, Any] | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last answer without and with the plant."""
    return await last_of(await start(), texts, variables), await last_of(await start(plants={plant: 1.0}), texts, variables)


async def test_early_photo_leaves_one_question_unasked(start: Any):
    right, wrong = await both(start, "early_photo", [*READY, "还在现场，十分钟前发生的"])
    assert right["newVariables"]["stage_code"] == "1002"
    assert wrong["newVariables"]["stage_code"] == "2000"


async def test_time_off_stores_now_for_a_time_ago(start: Any):
    right, wrong = await both(start, "time_off", [*READY, "还在现场，十分钟前发生的"])
    assert right["newVariables"]["sgfssj"] == "2026-07-27 15:10:00"
    assert wrong["newVariables"]["sgfssj"] == "2026-07-27 15:20:00"


async def test_plate_raw_gets_the_last_digit_wrong(start: Any):
    right, wrong = await both(start, "plate_raw", ["京A12345"], VERIFYING)
    assert right["newVariables"]["hphm1"] == "京A12345"
    assert wrong["newVariables"]["hphm1"] == "京A12346"


@pytest.mark.parametrize("text", ["对方脖子疼，快帮帮我", "我现在头有点晕"])
async def test_deaf_injury_does_not_hear_symptoms(start: Any, text: str):
    right, wrong = await both(start, "deaf_injury", [text])
    assert right["newVariables"]["stage_code"] == "0003"
    assert wrong["newVariables"]["stage_code"] == "1001"
    assert wrong["newVariables"].get("ywrysw") is None


async def test_handoff_as_complex_gives_the_wrong_code(start: Any):
    right, wrong = await both(start, "handoff_as_complex", ["转人工"])
    assert (right["newVariables"]["stage_code"], wrong["newVariables"]["stage_code"]) == ("0001", "0003")


async def test_rude_text_changes_the_words_alone(start: Any):
    right, wrong = await both(start, "rude_text", ["准备好了"])
    assert right["newVariables"] == wrong["newVariables"]
    assert "赔偿款" in wrong["choices"][0]["message"]["content"]


async def test_node_error_shows_only_in_the_nodes_record(start: Any):
    _, wrong = await both(start, "node_error", ["准备好了"])
    assert wrong["choices"][0]["message"]["content"] == [{"type": "text", "text": {"content": ""}}]
    assert [record["errorText"] for record in wrong["responseData"] if "errorText" in record] == ["Connection error."]
    assert "error" not in wrong


async def collect(response: aiohttp.ClientResponse, received: bytearray) -> None:
    async for piece in response.content.iter_any():
        received.extend(piece)


@pytest.mark.parametrize("text", ["准备好了", "【会话开始】"])
async def test_drop_mid_stream_ends_without_an_end(start: Any, text: str):
    client = await start(plants={"drop_mid_stream": 1.0})
    response = await client.raw(text, chat_id="c-1", stream=True)
    received = bytearray()
    with pytest.raises(aiohttp.ClientPayloadError):
        await collect(response, received)
    response.close()
    assert received
    assert b"[DONE]" not in received


@pytest.mark.parametrize("stream", [False, True])
async def test_garbage_is_no_answer_in_either_mode(start: Any, stream: bool):
    client = await start(plants={"garbage": 1.0})
    response = await client.raw("准备好了", chat_id="c-1", stream=stream)
    assert response.status == 200
    assert b"{not json" in await response.read()


async def test_http_error_body_comes_under_status_200(start: Any):
    client = await start(plants={"http_error_body": 1.0})
    body = await client.say("准备好了")
    assert body["code"] == 500
    assert "choices" not in body


async def test_html_504_comes_although_the_work_was_done(start: Any):
    client = await start(plants={"html_504": 1.0})
    response = await client.raw("准备好了", chat_id="c-1", stream=True)
    assert response.status == 504
    assert (await response.text()).startswith("<html>")
    stats = await (await client.http.get(f"{client.base}/sim/stats")).json()
    assert stats["chats"] == 1


async def test_plants_change_while_the_server_runs(start: Any):
    client = await start()
    await client.http.post(f"{client.base}/sim/plant", json={"handoff_as_complex": 1})
    assert (await client.say("转人工", chat_id="a"))["newVariables"]["stage_code"] == "0003"
    await client.http.post(f"{client.base}/sim/plant", json={"handoff_as_complex": 0})
    assert (await client.say("转人工", chat_id="b"))["newVariables"]["stage_code"] == "0001"


@pytest.mark.parametrize("rates", [{"nonsense": 1}, {"garbage": 7}, {"garbage": "x"}, []])
async def test_a_wrong_plant_is_refused_and_changes_nothing(start: Any, rates: Any):
    client = await start()
    assert (await client.http.post(f"{client.base}/sim/plant", json=rates)).status == 400
    assert (await client.say("准备好了"))["newVariables"]["stage_code"] == "1002"


def test_a_session_keeps_its_draw():
    planting = Planting(dict.fromkeys(PLANTS, 0.5), seed=9)
    draws = {f"s-{n}": planting.for_session(f"s-{n}") for n in range(50)}
    again = Planting(dict.fromkeys(PLANTS, 0.5), seed=9)
    assert draws == {chat_id: again.for_session(chat_id) for chat_id in draws}
    assert len(set(draws.values())) > 30


def test_the_demo_key_is_the_default():
    assert DEFAULT_KEY == "fastgpt-demo-key-0001"
