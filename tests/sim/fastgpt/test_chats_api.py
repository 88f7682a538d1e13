"""What is remembered, and how it is deleted."""

from typing import Any

import pytest

from sim.fastgpt.server import DEFAULT_KEY

pytestmark = pytest.mark.contract

HEADERS = {"Authorization": f"Bearer {DEFAULT_KEY}"}


async def records(client: Any, chat_id: str = "c-1", **paging: int) -> dict[str, Any]:
    body = {"appId": "x", "chatId": chat_id, "offset": 0, "pageSize": 10} | paging
    response = await client.http.post(f"{client.base}/api/core/chat/getPaginationRecords", json=body, headers=HEADERS)
    return (await response.json())["data"]


async def test_a_round_is_kept_under_the_ids_the_client_chose(start: Any):
    client = await start()
    await client.raw(
        "准备好了", chat_id="c-1", responseChatItemId="a-1", messages=[{"role": "user", "content": "准备好了", "dataId": "q-1"}]
    )
    kept = await records(client)
    assert [(item["obj"], item["dataId"]) for item in kept["list"]] == [("Human", "q-1"), ("AI", "a-1")]
    details = await (await client.http.get(f"{client.base}/api/core/chat/getResData?chatId=c-1&dataId=a-1", headers=HEADERS)).json()
    assert [item["moduleType"] for item in details["data"]][:2] == ["workflowStart", "code"]


async def test_pages_count_from_the_newest_record(start: Any):
    client = await start()
    for text in ("【会话开始】", "准备好了", "没有人受伤"):
        await client.say(text)
    newest = await records(client, pageSize=2)
    assert newest["total"] == 6
    assert newest["list"][0]["value"][0]["text"]["content"] == "没有人受伤"
    older = await records(client, offset=2, pageSize=2)
    assert older["list"][0]["value"][0]["text"]["content"] == "准备好了"


async def test_deleting_an_answer_leaves_its_question_and_the_variables(start: Any):
    client = await start()
    await client.raw("准备好了", chat_id="c-1", responseChatItemId="a-1")
    await client.http.delete(f"{client.base}/api/core/chat/item/delete?chatId=c-1&contentId=a-1", headers=HEADERS)
    assert [item["obj"] for item in (await records(client))["list"]] == ["Human"]
    assert (await client.say("没有人受伤"))["newVariables"]["ywrysw"] is False


async def test_a_deleted_chat_begins_anew(start: Any):
    client = await start()
    await client.say("准备好了")
    await client.http.delete(f"{client.base}/api/core/chat/delHistory?chatId=c-1&appId=x", headers=HEADERS)
    assert (await records(client))["total"] == 0
    assert (await client.say("我在"))["newVariables"]["stage_code"] == "1001"


async def test_chats_are_listed_newest_first(start: Any):
    client = await start()
    for chat_id in ("old", "new"):
        await client.say("准备好了", chat_id=chat_id)
    response = await client.http.post(f"{client.base}/api/core/chat/getHistories", json={"appId": "x"}, headers=HEADERS)
    assert [item["chatId"] for item in (await response.json())["data"]["list"]] == ["new", "old"]


async def test_a_call_without_chat_id_is_kept_as_a_chat_of_its_own(start: Any):
    client = await start()
    answers = [await client.say("准备好了", chat_id="") for _ in range(2)]
    assert len({answer["id"] for answer in answers}) == 2
    assert (await (await client.http.get(f"{client.base}/sim/stats")).json())["chats"] == 2


@pytest.mark.parametrize("path", ["init?chatId=c-1", "getResData?chatId=c-1&dataId=a"])
async def test_stored_chats_need_a_key(start: Any, path: str):
    client = await start()
    response = await client.http.get(f"{client.base}/api/core/chat/{path}", headers={"Authorization": "Bearer fastgpt-wrong"})
    assert response.status == 500
    assert (await response.json())["code"] == 514
