"""Who may come in, and whose sessions they see."""

import pytest

from domain.backend_name import BackendName
from proxy.auth.api_key import REMEMBER_MS, new_key
from storage.clients import add_client, set_client_status
from tests.fakes.house import PEPPER, House
from tests.fakes.scripted_backend import good_reply

pytestmark = [pytest.mark.security, pytest.mark.integration]

PATHS = ("/chat", "/chat?stream=true", "/set_info", "/get_info")
REFUSED = {"code": "401", "msg": "身份认证失败"}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-API-Key": ""},
        {"X-API-Key": "cfk_000000000000_" + "a" * 43},
        {"X-API-Key": "x" * 10_000},
        {"Authorization": "Bearer nothing"},
        {"Authorization": "Basic YTpi"},
    ],
)
async def test_without_a_good_key_nobody_comes_in_and_nothing_is_written(house: House, langgraph, session, path, headers):
    body = {"sessionId": session, "text": "你好", "key": "xm1", "value": "1"}
    response = await house.http.post(path, json=body, headers=headers)
    assert (response.status_code, response.json(), response.headers["x-error-type"]) == (401, REFUSED, "AUTHENTICATION_FAILED")
    assert await house.store.read("t1", session) is None
    assert langgraph.turns == []


async def test_a_key_is_checked_before_the_body_is_looked_at(house: House):
    assert (await house.http.post("/chat", content=b"{")).status_code == 401


async def test_a_right_key_id_with_a_wrong_secret_is_refused(house: House):
    wrong = house.keys["acme"][:-1] + ("A" if house.keys["acme"][-1] != "A" else "B")
    house.keys["wrong"] = wrong
    assert (await house.chat("S", "hi", caller="wrong")).status_code == 401


async def test_the_bearer_form_of_a_key_is_accepted(house: House, session):
    response = await house.http.post(
        "/chat", json={"sessionId": session, "text": "你好"}, headers={"Authorization": f"Bearer {house.keys['acme']}"}
    )
    assert response.json()["code"] == "200"


async def test_a_disabled_or_expired_client_is_refused_once_the_memory_of_its_key_ends(house: House, session):
    await house.add_caller("leaver", tenant="t1")
    assert (await house.chat(session, "你好", caller="leaver")).status_code == 200
    await set_client_status(house.database.migrator_dsn, "leaver", "disabled")
    house.doors._auth._clock.ms += REMEMBER_MS  # the fixed clock: a second later
    assert (await house.chat(session, "你好", caller="leaver")).status_code == 401
    await set_client_status(house.database.migrator_dsn, "leaver", "active")
    assert (await house.chat(session, "你好", caller="leaver")).status_code == 200


async def test_the_database_holds_no_key_and_no_secret(house: House):
    made = new_key(PEPPER)
    secret = made.key.rpartition("_")[2]
    rows = await house.pool.fetch("SELECT api_clients::text AS row FROM app.api_clients")
    everything = "".join(row["row"] for row in rows)
    for key in house.keys.values():
        assert key not in everything
        assert key.split("_", 2)[2] not in everything
    assert secret not in made.secret_hash


async def test_a_hash_copied_to_another_key_id_opens_nothing(house: House):
    """Whoever may write the table but holds no pepper cannot make one client's secret open another's door."""
    mine = house.keys["acme"]
    secret = mine.split("_", 2)[2]
    copied = await house.pool.fetchval("SELECT credential_hash FROM app.api_clients WHERE client_id = 'acme'")
    await add_client(
        house.database.migrator_dsn,
        tenant_id="t2",
        client_id="copy",
        key_id="0" * 12,
        credential_hash=copied,
        scopes=["chat:write"],
        profile={},
    )
    house.keys["copy"] = f"cfk_{'0' * 12}_{secret}"
    assert (await house.chat("S", "hi", caller="copy")).status_code == 401


@pytest.mark.parametrize(
    ("path", "scope"),
    [("/chat", "chat:write"), ("/chat?stream=true", "chat:write"), ("/set_info", "session:write"), ("/get_info", "session:read")],
)
async def test_each_door_needs_its_own_scope(house: House, session, path, scope):
    others = tuple({"chat:write", "session:read", "session:write"} - {scope})
    name = f"no-{scope}-{session}"
    await house.add_caller(name, tenant="t1", scopes=others)
    response = await house.call(path, {"sessionId": session, "text": "x", "key": "xm1", "value": "1"}, caller=name)
    assert (response.status_code, response.json()) == (403, {"code": "403", "msg": "没有访问权限"})


async def test_another_tenants_session_looks_exactly_like_none(house: House, session):
    await house.chat(session, "你好", caller="acme")
    for path, body in (("/get_info", {"key": "all"}), ("/set_info", {"key": "xm1", "value": '"张三"'})):
        foreign = await house.call(path, {"sessionId": session} | body, caller="rival")
        unknown = await house.call(path, {"sessionId": session + "-none"} | body, caller="rival")
        assert foreign.json() == unknown.json() == {"code": "404", "msg": "会话不存在"}
        drop = ("x-request-id",)
        assert {k: v for k, v in foreign.headers.items() if k not in drop} == {k: v for k, v in unknown.headers.items() if k not in drop}


async def test_two_tenants_may_use_one_session_id_and_never_meet(house: House, session):
    await house.chat(session, "你好", caller="acme")
    await house.call("/set_info", {"sessionId": session, "key": "sgyy", "value": '"追尾"'}, caller="acme")
    theirs = await house.chat(session, "你好", caller="rival")
    assert theirs.json()["stateVersion"] == 1
    assert '\\"sgyy\\":null' in (await house.call("/get_info", {"sessionId": session, "key": "all"}, caller="rival")).text


async def test_the_tenant_comes_from_our_table_and_from_nothing_a_caller_sends(house: House, session):
    body = {"sessionId": session, "text": "你好", "tenantId": "t2", "tenant_id": "t2"}
    await house.call("/chat", body, X_Tenant_Id="t2")
    assert await house.store.read("t2", session) is None
    assert await house.store.read("t1", session) is not None


@pytest.mark.parametrize(
    ("given", "kept"),
    [("abc-1.2_Z", True), ("a" * 64, True), ("a" * 65, False), ("a b", False), ("中", False), ("a\tb", False), ("", False)],
)
async def test_a_request_id_is_kept_when_it_is_well_formed_and_replaced_otherwise(house: House, given, kept):
    headers = {"X-Request-ID": given.encode("utf-8")}
    for path in ("/chat", "/health/live", "/nowhere"):
        response = await house.http.post(path, headers=headers)
        told = response.headers["x-request-id"]
        assert (told == given) is kept
        assert 1 <= len(told) <= 64


async def test_a_profile_changes_codes_and_statuses_for_its_client_alone(house: House, session):
    await house.add_caller("old", tenant="t1", legacy_codes=True)
    await house.add_caller("new", tenant="t1", http_status_mode="semantic")
    unknown = {"sessionId": session, "key": "all"}
    answers = {name: await house.call("/get_info", unknown, caller=name) for name in ("acme", "old", "new")}
    assert {name: (answer.status_code, answer.json()["code"]) for name, answer in answers.items()} == {
        "acme": (200, "404"),
        "old": (200, "500"),
        "new": (404, "404"),
    }


async def test_a_profile_groups_the_form_for_the_client_that_wants_it(house: House, langgraph, session):
    await house.add_caller("grouped", tenant="t1", form_update_shape="grouped")
    langgraph.script = lambda turn, state: good_reply(turn, state, patch={"hphm2": "京A12345", "jdcsl": 2})
    answer = (await house.chat(session, "两辆", caller="grouped")).json()
    assert answer["formUpdate"] == {"acdinfo": {"jdcsl": 2}, "acdhuman2": {"hphm2": "京A12345"}}
    assert (
        '{"formUpdate":{"acdinfo":{"jdcsl":2},"acdhuman2":{"hphm2":"京A12345"}}}'
        in (await house.chat(session + "s", "两辆", stream=True, caller="grouped")).text
    )


async def test_a_client_without_legacy_events_may_say_what_it_likes(house: House, langgraph, session):
    await house.add_caller("plain", tenant="t1", legacy_events=False)
    await house.chat(session, "【拍摄完成】", caller="plain")
    assert langgraph.turns[-1].is_natural
    assert langgraph.turns[-1].text == "【拍摄完成】"


async def test_routing_follows_caller_then_share_and_a_session_stays_where_it_began(house: House, langgraph, fastgpt, session):
    await house.publish(default=BackendName.FASTGPT, callers={"rival": {"backend": "langgraph"}})
    await house.chat(session, "你好", caller="acme")
    await house.chat(session, "你好", caller="rival")
    assert (len(fastgpt.turns), len(langgraph.turns)) == (1, 1)
    await house.publish(default=BackendName.LANGGRAPH)
    await house.chat(session, "还在", caller="acme")
    assert (len(fastgpt.turns), len(langgraph.turns)) == (2, 1)


async def test_the_kill_switch_moves_everybody_and_lifting_it_brings_everybody_back(house: House, langgraph, fastgpt, session):
    await house.chat(session, "一")
    await house.publish(override=BackendName.FASTGPT)
    await house.chat(session, "二")
    await house.publish(override=None)
    assert (await house.chat(session, "三")).json()["stateVersion"] == 3
    assert ([turn.text for turn in langgraph.turns], [turn.text for turn in fastgpt.turns]) == (["一", "三"], ["二"])
