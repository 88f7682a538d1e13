"""Wrong input has a defined answer, never a 500, and never comes back to its sender."""

import json

import pytest

from tests.fakes.house import House

pytestmark = [pytest.mark.contract, pytest.mark.integration]

MARK = "zebra7391"  # must never be seen in an answer
BIG = 65 * 1024


def chat(**changes: object) -> dict[str, object]:
    return {"sessionId": "S-x", "text": "你好"} | changes


NOT_AN_OBJECT = "请求参数错误：请求体不是合法的JSON对象"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"x"', b"5", b"null", b"\xff\xfe{}", b'{"sessionId":"S","text":"' + MARK.encode(), b"NaN", b"[" * 30_000, b"{} {}"],
)
@pytest.mark.parametrize("path", ["/chat", "/chat?stream=true", "/set_info", "/get_info"])
async def test_a_body_that_is_no_json_object_is_a_400(house: House, path, body):
    response = await house.call(path, body)
    assert (response.status_code, response.headers["x-error-type"]) == (400, "INVALID_REQUEST")
    assert response.json() == {"code": "400", "msg": NOT_AN_OBJECT}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": MARK}, "sessionId"),
        (chat(sessionId=""), "sessionId"),
        (chat(sessionId=f"{MARK} x"), "sessionId"),
        (chat(sessionId="x" * 65), "sessionId"),
        (chat(sessionId=True), "sessionId"),
        (chat(sessionId=1.5), "sessionId"),
        (chat(sessionId={"a": MARK}), "sessionId"),
        (chat(sessionId="a\n"), "sessionId"),
        ({"sessionId": "S-x"}, "text"),
        (chat(text=None), "text"),
        (chat(text=5), "text"),
        (chat(text=[MARK]), "text"),
        (chat(text=MARK + "长" * 2000), "text"),
        (chat(needFormUpdate=MARK), "needFormUpdate"),
        (chat(useTextChunk=[1]), "useTextChunk"),
        (chat(eventId=f"{MARK} with space"), "eventId"),
    ],
)
async def test_a_field_that_is_wrong_is_named_and_not_repeated(house: House, body, field):
    response = await house.call("/chat", body)
    assert (response.status_code, response.headers["x-error-type"]) == (200, "INVALID_REQUEST")
    assert response.json()["code"] == "400"
    assert response.json()["msg"] == f"请求参数错误：{field}"
    assert MARK not in response.text


async def test_text_of_exactly_2000_characters_is_served_and_one_more_is_not_cut(house: House, session):
    assert (await house.chat(session, "长" * 2000)).json()["code"] == "200"
    assert (await house.chat(session, "长" * 2001)).json() == {"code": "400", "msg": "请求参数错误：text", "sessionId": session}


async def test_unknown_fields_are_ignored_and_null_is_absent(house: House, session):
    body = chat(sessionId=session, extra={"deep": [1]}, needFormUpdate=None, eventId=None)
    assert (await house.call("/chat", body)).json()["code"] == "200"


async def test_a_number_is_a_session_id_too(house: House):
    answer = (await house.call("/chat", chat(sessionId=20261130))).json()
    assert (answer["code"], answer["sessionId"]) == ("200", "20261130")


@pytest.mark.parametrize(
    ("raw", "arrives"),
    [
        (b'"a\\u0000b"', "ab"),
        (b'"a\\ud800b"', "ab"),
        (b'"a\\udc00b"', "ab"),
        (b'"a\\uDBFF\\uDFFF\\ud800"', "a\U0010ffff"),
        (b'"\\u0007bell"', "bell"),
        ('"好\\n的"'.encode(), "好\n的"),
        ('"😀"'.encode(), "😀"),
    ],
)
async def test_characters_no_database_takes_are_removed_on_the_way_in(house: House, langgraph, session, raw, arrives):
    response = await house.call("/chat", b'{"sessionId":"' + session.encode() + b'","text":' + raw + b"}")
    assert response.json()["code"] == "200"
    assert langgraph.turns[-1].text == arrives


@pytest.mark.parametrize("text", ["", "   ", "\u200b", "\x00", "\n\t"])
async def test_blank_text_starts_a_session_and_is_refused_in_one_that_exists(house: House, session, text):
    assert (await house.chat(session, text)).json()["code"] == "200"
    refused = (await house.chat(session, text)).json()
    assert refused == {"code": "400", "msg": "请求参数错误：text不能为空", "sessionId": session}
    assert (await house.chat(session, "在吗")).json()["stateVersion"] == 2  # and the session is free and unchanged


@pytest.mark.parametrize("path", ["/chat", "/chat?stream=1", "/set_info", "/get_info"])
async def test_a_body_over_the_limit_is_refused_without_being_read(house: House, path):
    body = json.dumps(chat(text=MARK + "x" * BIG)).encode()
    response = await house.call(path, body)
    assert (response.status_code, response.json()) == (413, {"code": "413", "msg": "请求内容过大"})


async def test_a_body_over_the_limit_without_a_declared_length_is_refused_too(house: House):
    async def drip():
        for _ in range(70):
            yield b"x" * 1024

    response = await house.http.post("/chat", content=drip(), headers={"X-API-Key": house.keys["acme"]})
    assert response.status_code == 413


async def test_another_content_type_is_taken_if_it_parses(house: House, session):
    response = await house.call("/chat", json.dumps(chat(sessionId=session)).encode(), Content_Type="text/plain")
    assert response.json()["code"] == "200"


@pytest.mark.parametrize("path", ["/chat", "/set_info", "/get_info"])
async def test_other_methods_are_not_allowed(house: House, path):
    assert (await house.http.get(path)).status_code == 405


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ('"张三"', "张三"),
        ("张三", "张三"),
        ("欧阳娜娜", "欧阳娜娜"),
    ],
)
async def test_a_value_is_decoded_once_or_taken_as_it_is(house: House, session, value, stored):
    await house.chat(session, "")
    assert (await house.call("/set_info", {"sessionId": session, "key": "xm1", "value": value})).json()["code"] == "200"
    told = (await house.call("/get_info", {"sessionId": session, "key": "xm1"})).json()
    assert json.loads(told["value"]) == stored


@pytest.mark.parametrize(
    ("key", "value", "stored"),
    [
        ("jdcsl", "2", 2),
        ("jdcsl", 2, 2),
        ("jdcsl", '"两"', 2),
        ("ywfjdc", True, True),
        ("ywfjdc", "false", False),
        ("sjhm1", 13800138000, "13800138000"),
    ],
)
async def test_values_of_every_accepted_form_are_normalised(house: House, session, key, value, stored):
    await house.chat(session, "")
    assert (await house.call("/set_info", {"sessionId": session, "key": key, "value": value})).json()["code"] == "200"
    assert json.loads((await house.call("/get_info", {"sessionId": session, "key": key})).json()["value"]) == stored


@pytest.mark.parametrize(
    ("key", "value", "error_type"),
    [
        ("stage_code", '"0000"', "INVALID_FIELD"),
        ("Ywrysw", "true", "INVALID_FIELD"),
        ("all", "{}", "INVALID_FIELD"),
        ("acdinfo", "{}", "INVALID_FIELD"),
        ("jdcsl", "2.0", "INVALID_FIELD_VALUE"),
        ("jdcsl", "1e3", "INVALID_FIELD_VALUE"),
        ("jdcsl", "NaN", "INVALID_FIELD_VALUE"),
        ("jdcsl", True, "INVALID_FIELD_VALUE"),
        ("jdcsl", {"a": MARK}, "INVALID_FIELD_VALUE"),
        ("xm1", f'["{MARK}"]', "INVALID_FIELD_VALUE"),
        ("xm1", '"\\"张三\\""', "INVALID_FIELD_VALUE"),
        ("xm1", '""', "INVALID_FIELD_VALUE"),
        ("sjhm1", f'"{MARK}"', "INVALID_FIELD_VALUE"),
        ("sfzmhm1", "110105194912310021", "INVALID_FIELD_VALUE"),
    ],
)
async def test_a_write_that_is_not_allowed_changes_nothing_and_repeats_nothing(house: House, session, key, value, error_type):
    await house.chat(session, "")
    response = await house.call("/set_info", {"sessionId": session, "key": key, "value": value})
    assert (response.status_code, response.headers["x-error-type"]) == (200, error_type)
    assert response.json()["code"] == "400"
    assert MARK not in response.text
    assert "110105194912310021" not in response.text
    state = await house.store.read("t1", session)
    assert state is not None
    assert (state.version, dict(state.form)) == (1, {})


@pytest.mark.parametrize(
    "body",
    [
        {"key": "xm1", "value": "1"},
        {"sessionId": "S", "value": "1"},
        {"sessionId": "S", "key": "", "value": "1"},
        {"sessionId": "S", "key": "xm1"},
    ],
)
async def test_a_write_without_session_key_or_value_is_refused(house: House, body):
    assert (await house.call("/set_info", body)).json()["code"] == "400"


async def test_null_clears_a_field_and_the_same_value_again_makes_no_version(house: House, session):
    await house.chat(session, "")
    for value, version in (("2", 2), ("2", 2), ("null", 3), (None, 3), ("null", 3)):
        assert (await house.call("/set_info", {"sessionId": session, "key": "jdcsl", "value": value})).json()["code"] == "200"
        state = await house.store.read("t1", session)
        assert state is not None
        assert state.version == version, value


async def test_every_field_is_told_also_when_nothing_is_known(house: House, session):
    await house.chat(session, "")
    told = json.loads((await house.call("/get_info", {"sessionId": session, "key": "all"})).json()["value"])
    assert list(told) == ["acdinfo", "acdhuman1", "acdhuman2"]
    assert [len(group) for group in told.values()] == [8, 5, 5]
    assert {value for group in told.values() for value in group.values()} == {None}


@pytest.mark.parametrize("key", ["stage_code", "phase", "ALL", "xm3", MARK + " free text"])
async def test_a_key_that_is_no_field_cannot_be_read(house: House, session, key):
    await house.chat(session, "")
    response = await house.call("/get_info", {"sessionId": session, "key": key})
    assert (response.json()["code"], response.headers["x-error-type"]) == ("400", "INVALID_FIELD")


async def test_free_text_in_place_of_a_key_is_not_repeated(house: House, session):
    await house.chat(session, "")
    for path in ("/get_info", "/set_info"):
        response = await house.call(path, {"sessionId": session, "key": f"{MARK} 13800138000", "value": "1"})
        assert response.json()["code"] == "400"
        assert MARK not in response.text
