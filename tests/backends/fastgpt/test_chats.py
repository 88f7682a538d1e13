"""What the real servers stored of a chat, read as recorded from each release; and the routes that moved."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import respx

from backends.fastgpt.adoption import read_answer, rounds_of
from backends.fastgpt.chats import ChatReader, ChatRecord, records_from
from backends.fastgpt.client import FastGptClient
from backends.fastgpt.recovery import whole_answer
from domain.errors import BackendError, FailureKind
from domain.stages import StageCode
from tests.backends.fastgpt.test_backend import http, upstream

pytestmark = pytest.mark.unit
__all__ = ["http", "upstream"]

ERAS = ("4.9.0", "4.11.1", "4.16.0")
OLD, NEW = "/api/core/chat/getPaginationRecords", "/api/core/chat/record/getPaginationRecords"


def data(recording: Callable[[str], Any], name: str) -> Any:
    return json.loads(recording(name).body)["data"]


@pytest.mark.parametrize("era", ERAS)
def test_three_recorded_turns_are_three_rounds(era: str, recording: Callable[[str], Any]) -> None:
    records = records_from(data(recording, f"{era}/08-records-after-turns"))
    assert [record.side for record in records] == ["Human", "AI"] * 3
    rounds = list(rounds_of(records))
    assert [one.said for one in rounds] == ["我在朝阳路追尾了前车，没人受伤，我的车牌是京A12345", "对方车牌是京B67890", "好的，请继续"]
    assert {(one.stage, one.answer) for one in rounds} == {(StageCode.COLLECTING, "好的，已登记您的车牌。请问对方车辆的车牌号是多少？")}
    assert all(one.at.tzinfo is not None for one in rounds)


@pytest.mark.parametrize("era", ERAS)
def test_an_answer_that_was_cut_in_its_tag_is_no_round(era: str, recording: Callable[[str], Any]) -> None:
    records = records_from(data(recording, f"{era}/123-records-after-disconnect"))
    assert [record.side for record in records] == ["Human", "AI"]
    assert list(rounds_of(records)) == []


@pytest.mark.parametrize(("era", "is_proven"), [("4.9.0", False), ("4.11.1", True), ("4.16.0", True)])
def test_the_recorded_details_prove_a_whole_answer_where_the_release_says_so(
    era: str, is_proven: bool, recording: Callable[[str], Any]
) -> None:
    records = records_from(data(recording, f"{era}/08-records-after-turns"))
    answer_id = next(record.data_id for record in records if record.side == "AI")
    stored = whole_answer(answer_id, records, data(recording, f"{era}/09-resdata-of-turn1"))
    assert (stored is not None) is is_proven


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<state>1002</state>好", (StageCode.COLLECTING, "好")),
        ("\n<state>2001</state>", (StageCode.SINGLE_FRONT, "")),
        ("<state>9999</state>好", None),
        ("<state>10", None),
        ("没有标签", None),
        ("", None),
    ],
)
def test_a_stored_answer_has_a_stage_or_is_none(text, expected):
    assert read_answer(text) == expected


@pytest.mark.parametrize("row", [5, {}, {"obj": "System"}, {"obj": "AI", "value": 7}, {"obj": "AI", "value": [{"tool": 1}], "time": "x"}])
def test_odd_records_are_left_out_or_empty_and_break_nothing(row):
    assert [record.text for record in records_from({"list": [row]})] in ([], [""])


@pytest.fixture
def reader(http: httpx.AsyncBaseTransport, make_config: Callable[..., Any]) -> ChatReader:
    return ChatReader(FastGptClient(make_config(), http), make_config())


def page(*texts: str, total: int) -> httpx.Response:
    rows = [{"dataId": text, "obj": "AI", "value": [{"type": "text", "text": {"content": text}}]} for text in texts]
    return httpx.Response(200, json={"code": 200, "data": {"list": rows, "total": total}})


async def test_pages_count_from_the_newest_and_are_put_in_order(upstream: respx.Router, reader: ChatReader) -> None:
    upstream.routes.clear()
    upstream.post(OLD).mock(side_effect=[page("c", "d", total=4), page("a", "b", total=4)])
    found: list[ChatRecord] = await reader.records("chat")
    assert [record.text for record in found] == ["a", "b", "c", "d"]
    assert [json.loads(call.request.content)["offset"] for call in upstream.calls] == [0, 100]


async def test_a_release_without_the_old_route_is_asked_by_the_new_one_and_remembered(upstream: respx.Router, reader: ChatReader) -> None:
    upstream.routes.clear()
    upstream.post(OLD).mock(httpx.Response(404, html="<html>no such page</html>"))
    upstream.post(NEW).mock(page("a", total=1))
    for _ in range(2):
        assert [record.text for record in await reader.records("chat")] == ["a"]
    assert [call.request.url.path for call in upstream.calls] == [OLD, NEW, NEW]


async def test_a_refusal_is_one_and_asks_no_other_route(upstream: respx.Router, reader: ChatReader) -> None:
    upstream.routes.clear()
    upstream.post(OLD).mock(httpx.Response(500, json={"code": 514, "statusText": "unAuthApiKey"}))
    with pytest.raises(BackendError) as caught:
        await reader.records("chat")
    assert caught.value.failure.kind is FailureKind.CONFIGURATION
