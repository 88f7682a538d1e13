"""The emulator made to fail on purpose: by header, by script; and the two refusals of the newest release."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sim.fastgpt.limits import Limits
from sim.fastgpt.script import script_from

pytestmark = pytest.mark.unit

RECORDED = Path(__file__).parents[2] / "golden" / "fastgpt" / "4.16.0"


async def test_the_planned_call_of_the_planned_chats_goes_wrong_and_no_other(start: Any):
    script = "faults:\n- {call: 2, fault: html_504}\n- {chat: 'odd-*', call: 1, fault: http_error_body}\n"
    client = await start(script=script)
    seen = {chat: [(await client.raw("准备好了", chat_id=chat)).status for _ in range(3)] for chat in ("plain", "other")}
    assert seen == {"plain": [200, 504, 200], "other": [200, 504, 200]}
    odd = await (await client.raw("准备好了", chat_id="odd-1")).json()
    assert odd["code"] == 500


async def test_a_request_asks_for_its_own_fault(start: Any):
    client = await start()
    url, body = f"{client.base}/api/v1/chat/completions", {"chatId": "c", "messages": [{"role": "user", "content": "准备好了"}]}
    headers = {"Authorization": "Bearer fastgpt-demo-key-0001"}
    for fault, status in (("html_504", 504), ("", 200), ("no_such_fault", 400)):
        response = await client.http.post(url, json=body, headers=headers | {"x-sim-fault": fault})
        assert response.status == status, fault


@pytest.mark.parametrize(
    "text",
    ["", "faults: 5", "faults: [5]", "faults: [{call: 0, fault: garbage}]", "faults: [{call: 1, fault: nothing}]",
     "faults: [{call: 1, fault: garbage, when: now}]", "faults: [{call: true, fault: garbage}]"],
)  # fmt: skip
def test_a_script_that_is_not_exactly_right_is_refused(text):
    with pytest.raises(ValueError, match=r"script|fault|call"):
        script_from(text)


@pytest.mark.parametrize("stream", [False, True])
async def test_the_newest_release_makes_one_answer_a_chat_at_a_time_as_recorded(start: Any, stream):
    client = await start(era="4.16.0", delay_ms=200)
    first = asyncio.create_task(client.raw("准备好了", chat_id="one"))
    await asyncio.sleep(0.05)
    second = await client.raw("准备好了", chat_id="one", stream=stream)
    name = "161-v2-parallel-calls-b-stream" if stream else "163-v1-parallel-calls-b-nonstream"
    recorded = json.loads((RECORDED / f"{name}.json").read_text("utf-8"))
    assert second.status == recorded["status"]
    text = await second.text()
    told = json.loads(text.partition("data: ")[2]) if stream else json.loads(text)
    assert (told["code"], told["statusText"], told["message"]) == (
        504001, "chatIsGenerating", "common:code_error.chat_error.chat_generating",
    )  # fmt: skip
    assert (await client.raw("准备好了", chat_id="another")).status == 200
    assert (await first).status == 200
    assert (await client.raw("准备好了", chat_id="one")).status == 200


async def test_older_releases_run_both_calls(start: Any):
    client = await start(era="4.11.1", delay_ms=50)
    both = await asyncio.gather(*(client.raw("准备好了", chat_id="one") for _ in range(2)))
    assert [response.status for response in both] == [200, 200]


async def test_too_many_calls_are_refused_with_the_recorded_words(start: Any):
    client = await start(era="4.16.0", calls_per_minute=2)
    statuses = [(await client.raw("准备好了", chat_id=f"c-{number}")).status for number in range(2)]
    refused = await client.raw("准备好了", chat_id="c-3", stream=True)  # JSON also where a stream was asked for
    told = await refused.json()
    assert (statuses, refused.status, list(told)) == ([200, 200], 429, ["code", "statusText", "message", "data", "errorType"])
    assert told["message"].startswith("Rate limit exceeded. Maximum 2 requests per 60 seconds for this team. Please try again in ")


def test_a_limit_forgets_what_is_a_minute_old():
    now = [0.0]
    limits = Limits(locks_chats=False, per_minute=1, now=lambda: now[0])
    assert limits.too_many() is None
    assert limits.too_many() is not None
    now[0] = 61.0
    assert limits.too_many() is None
