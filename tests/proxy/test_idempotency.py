"""One turn, one effect: whatever a partner repeats, at whichever of three replicas, while it runs or after it ended or died."""

import asyncio
import itertools
import json
import uuid
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.backend_name import BackendName
from domain.errors import FailureKind, StoreUnavailable
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.house import House, open_house
from tests.fakes.scripted_backend import ScriptedBackend, bad_reply, good_reply
from tests.fakes.values import NOON
from tests.fakes.waiting import until
from wiring.database import Database

pytestmark = [pytest.mark.contract, pytest.mark.integration]

F, L = BackendName.FASTGPT, BackendName.LANGGRAPH


@dataclass(slots=True)
class Fleet:
    """Three replicas over one database. `backend` serves for all of them, and its `turns` are the model calls there were."""

    houses: list[House]
    backend: ScriptedBackend
    other: ScriptedBackend

    async def chat(
        self, at: int, session: str, key: str | None, *, text: str = "你好", stream: bool = False, **body: Any
    ) -> httpx.Response:
        path = "/chat?stream=true" if stream else "/chat"
        headers = {"Idempotency_Key": key} if key else {}
        return await self.houses[at % 3].call(path, {"sessionId": session, "text": text, "needFormUpdate": True, **body}, **headers)

    def calls(self, session: str) -> int:
        return sum(turn.session_id == session for turn in (*self.backend.turns, *self.other.turns))

    async def effects(self, session: str) -> tuple[int, int]:
        """Committed events, and the version of the session."""
        row = await self.houses[0].pool.fetchrow(
            "SELECT (SELECT count(*) FROM app.accident_events WHERE session_id = $1) AS events,"
            " coalesce((SELECT state_version FROM app.accident_sessions WHERE session_id = $1), 0) AS version", session,
        )  # fmt: skip
        return row["events"], row["version"]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(database: Database) -> AsyncGenerator[Fleet]:
    backend, other = ScriptedBackend(), ScriptedBackend(name=F, finishes_when_abandoned=True)
    async with AsyncExitStack() as stack:
        houses = [
            await stack.enter_async_context(open_house(database, {L: backend, F: other}, FixedClock(NOON), wait_seconds=5))
            for _ in range(3)
        ]
        yield Fleet(houses, backend, other)


@pytest_asyncio.fixture(loop_scope="module")
async def fleet(shared: Fleet) -> Fleet:
    shared.backend.script = good_reply
    return shared


@pytest.fixture
def key() -> str:
    return uuid.uuid4().hex


@pytest.mark.asyncio(loop_scope="module")
async def test_i1_a_hundred_repetitions_one_after_another_are_one_turn(fleet: Fleet, session, key):
    answers = [await fleet.chat(at, session, key) for at in range(100)]
    assert {answer.content for answer in answers} == {answers[0].content}
    assert (fleet.calls(session), await fleet.effects(session)) == (1, (1, 1))
    assert [answer.headers.get("Idempotency-Replayed") for answer in answers] == [None] + ["true"] * 99


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("stream", [False, True])
async def test_i1_a_hundred_repetitions_at_once_are_one_turn(fleet: Fleet, session, key, stream):
    answers = await asyncio.gather(*(fleet.chat(at, session, key, stream=stream) for at in range(100)))
    assert {answer.content for answer in answers} == {answers[0].content}
    assert (fleet.calls(session), await fleet.effects(session)) == (1, (1, 1))
    assert sum(answer.headers.get("Idempotency-Replayed") is None for answer in answers) == 1


@pytest.mark.asyncio(loop_scope="module")
async def test_i2_a_stream_and_a_whole_answer_tell_the_same_turn(fleet: Fleet, session, key):
    whole = (await fleet.chat(0, session, key)).json()
    for at in (1, 2):
        told = (await fleet.chat(at, session, key, stream=True)).text
        text = "".join(json.loads(line.removeprefix("data: "))["text"] for line in told.splitlines() if '"text"' in line)
        assert text == whole["outputText"]
        assert f'"stateVersion":{whole["stateVersion"]}' in told
    assert fleet.calls(session) == 1


@pytest.mark.asyncio(loop_scope="module")
async def test_i2_another_body_or_another_call_under_a_used_key_is_a_conflict_and_changes_nothing(fleet: Fleet, session, key):
    await fleet.chat(0, session, key)
    for answer in (
        await fleet.chat(1, session, key, text="别的话"),
        await fleet.chat(1, f"{session}-other", key),
        await fleet.chat(1, session, key, needFormUpdate=False),
        await fleet.houses[2].call("/set_info", {"sessionId": session, "key": "sgyy", "value": "追尾"}, Idempotency_Key=key),
    ):
        assert (answer.json()["code"], answer.headers["X-Error-Type"]) == ("409", "IDEMPOTENCY_CONFLICT")
    assert (fleet.calls(session), await fleet.effects(session)) == (1, (1, 1))


@pytest.mark.asyncio(loop_scope="module")
async def test_i3_the_same_body_however_it_is_spelt_is_the_same_request(fleet: Fleet, session, key):
    first = await fleet.chat(0, session, key)
    spellings = [
        {"text": "你好", "needFormUpdate": True, "sessionId": session},
        {"needFormUpdate": True, "unknown": "ignored", "sessionId": session, "text": "你好"},
    ]
    bodies = [json.dumps(one, indent=3).encode() for one in spellings] + [json.dumps(spellings[0], ensure_ascii=False).encode()]
    for body in bodies:
        answer = await fleet.houses[1].call("/chat", body, Idempotency_Key=key)
        assert answer.content == first.content
    assert fleet.calls(session) == 1


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("wrong", ["", " ", "k" * 129, "k" * 256, "schlüssel", "a b", "a\tb"])
async def test_i4_a_key_outside_the_published_form_is_refused(fleet: Fleet, session, wrong):
    answer = await fleet.chat(0, session, None)
    assert answer.json()["code"] == "200"
    headers = [(b"x-api-key", fleet.houses[0].keys["acme"].encode()), (b"idempotency-key", wrong.encode())]
    answer = await fleet.houses[0].http.post("/chat", json={"sessionId": session, "text": "x"}, headers=headers)
    assert (answer.json()["code"], answer.headers["X-Error-Type"]) == ("400", "INVALID_REQUEST")
    assert wrong.strip() == "" or wrong not in answer.text


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("right", ["k", "k" * 128, "';DROP/**/TABLE/**/app.turns;--", '"quoted"', "%s{}$1"])
async def test_i4_every_key_of_the_published_form_is_taken(fleet: Fleet, session, right):
    right = f"{session[:8]}{right}"[:128] if len(right) < 128 else right
    first, again = await fleet.chat(0, session, right), await fleet.chat(1, session, right)
    assert (first.json()["code"], again.content) == ("200", first.content)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("stream", [False, True])
async def test_i5_a_retry_in_flight_waits_for_the_one_answer(fleet: Fleet, session, key, stream):
    thinking = asyncio.Event()
    fleet.backend.script = lambda turn, state: good_reply(turn, state, waiting=thinking)
    first = asyncio.create_task(fleet.chat(0, session, key, stream=stream))
    await until(lambda: fleet.calls(session) == 1)
    retries = [asyncio.create_task(fleet.chat(at, session, key, stream=stream)) for at in (1, 2, 0)]
    await asyncio.sleep(0.05)
    thinking.set()
    answers = await asyncio.gather(first, *retries)
    assert {answer.content for answer in answers} == {answers[0].content}
    assert (fleet.calls(session), await fleet.effects(session)) == (1, (1, 1))


@pytest.mark.asyncio(loop_scope="module")
async def test_i6_i7_an_owner_that_died_or_slept_past_its_lease_is_taken_over_and_fenced_out(fleet: Fleet, session, key):
    sleeping = asyncio.Event()
    fleet.backend.script = lambda turn, state: good_reply(turn, state, waiting=sleeping)
    owner = asyncio.create_task(fleet.chat(0, session, key))
    await until(lambda: fleet.calls(session) == 1)
    await fleet.houses[0].pool.execute("UPDATE app.session_leases SET until = now() - interval '1 s' WHERE session_id = $1", session)
    fleet.backend.script = lambda turn, state: good_reply(turn, state, pieces=("接手的回答",))
    taken = await fleet.chat(1, session, key)
    assert taken.json()["outputText"] == "接手的回答"
    sleeping.set()
    late = (await owner).json()
    assert late["code"] == "409"  # never two answers: the late owner is told that the session moved on
    assert (await fleet.chat(2, session, key)).content == taken.content
    assert await fleet.effects(session) == (1, 1)


@pytest.mark.asyncio(loop_scope="module")
async def test_i8_a_key_at_the_end_of_its_time_gives_a_replay_or_one_new_effect(fleet: Fleet, session, key):
    first = await fleet.chat(0, session, key)
    await fleet.houses[0].pool.execute(
        "UPDATE app.idempotency_records SET expires_at = clock_timestamp() + interval '30 ms' WHERE idempotency_key = $1", key
    )

    async def clean() -> None:
        await fleet.houses[0].pool.execute("DELETE FROM app.idempotency_records WHERE expires_at <= clock_timestamp()")

    for _ in range(8):
        await asyncio.gather(clean(), *(fleet.chat(at, session, key) for at in range(3)))
        await asyncio.sleep(0.01)
    # The event of a keyed request bears its name for good: also after the key has ended, its answer is the one of the first time.
    assert (await fleet.chat(0, session, key)).content == first.content
    assert (fleet.calls(session), await fleet.effects(session)) == (1, (1, 1))


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("bad", ["body", "auth", "busy", "model", "store"])
async def test_i9_i10_what_was_refused_or_failed_leaves_its_key_free(fleet: Fleet, session, key, bad, monkeypatch):
    house = fleet.houses[0]
    if bad == "body":
        answer = await house.call("/chat", {"sessionId": "", "text": "你好"}, Idempotency_Key=key)
        assert answer.json()["code"] == "400"
    elif bad == "auth":
        headers = {"X-API-Key": "cfk_wrong_key", "Idempotency-Key": key}
        assert (await house.http.post("/chat", json={"sessionId": session, "text": "你好"}, headers=headers)).status_code == 401
    elif bad == "busy":
        with monkeypatch.context() as short:
            short.setattr(house.store, "_wait_seconds", 0.0)
            await house.pool.execute("INSERT INTO app.session_leases VALUES ('t1', $1, gen_random_uuid(), now() + interval '1 h')", session)
            assert (await fleet.chat(0, session, key)).json()["code"] == "409"
        await house.pool.execute("DELETE FROM app.session_leases WHERE session_id = $1", session)
    elif bad == "model":
        fleet.backend.script = lambda turn, state: bad_reply(FailureKind.TIMEOUT)
        assert (await fleet.chat(0, session, key)).json()["code"] == "500"
        fleet.backend.script = good_reply
    else:

        async def away(record: object) -> int:
            raise StoreUnavailable("commit")

        with monkeypatch.context() as broken:
            broken.setattr(house.store, "commit", away)
            assert (await fleet.chat(0, session, key)).json()["code"] == "500"
    good = await fleet.chat(1, session, key)
    assert good.json()["code"] == "200"
    assert (await fleet.chat(2, session, key)).content == good.content
    assert await fleet.effects(session) == (1, 1)


@pytest.mark.asyncio(loop_scope="module")
async def test_i11_after_a_switch_of_backends_the_stored_answer_is_told_and_nobody_is_asked(fleet: Fleet, session, key):
    first = await fleet.chat(0, session, key)
    await fleet.houses[0].publish(override=F)
    for house in fleet.houses:
        await house.view.refresh()
    again = await fleet.chat(1, session, key, stream=False)
    await fleet.houses[0].publish(override=None)
    for house in fleet.houses:
        await house.view.refresh()
    assert again.content == first.content
    assert fleet.calls(session) == 1


@pytest.mark.asyncio(loop_scope="module")
async def test_i13_one_event_under_two_keys_and_two_events_under_one_key_are_one_effect(fleet: Fleet, session):
    keys, event = [uuid.uuid4().hex for _ in range(3)], uuid.uuid4().hex
    first = await fleet.chat(0, session, keys[0], eventId=event)
    assert (await fleet.chat(1, session, keys[1], eventId=event)).content == first.content
    assert (await fleet.chat(2, session, None, eventId=event)).content == first.content
    other = await fleet.chat(0, session, keys[0], eventId=uuid.uuid4().hex)
    assert other.json()["code"] == "409"  # another body under the key
    assert (fleet.calls(session), await fleet.effects(session)) == (1, (1, 1))
    answers = await asyncio.gather(*(fleet.chat(at, f"{session}-b", uuid.uuid4().hex, eventId=f"{event}-b") for at in range(6)))
    assert {answer.content for answer in answers} == {answers[0].content}
    assert await fleet.effects(f"{session}-b") == (1, 1)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_commit_whose_answer_was_lost_is_looked_up_and_answered_once(fleet: Fleet, session, key, monkeypatch):
    """The connection breaks after the database committed: the turn is done, and its caller hears so."""
    house, real = fleet.houses[0], fleet.houses[0].store._pool

    class LosesAnswers:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        async def fetchval(self, statement: str, *arguments: object) -> Any:
            told = await real.fetchval(statement, *arguments)
            if "INSERT INTO app.accident_events" in statement:
                raise ConnectionResetError
            return told

    with monkeypatch.context() as broken:
        broken.setattr(house.store, "_pool", LosesAnswers())
        first = await fleet.chat(0, session, key)
    assert (first.json()["code"], first.json()["stateVersion"]) == ("200", 1)
    assert (await fleet.chat(1, session, key)).content == first.content
    assert (fleet.calls(session), await fleet.effects(session)) == (1, (1, 1))


_sessions = itertools.count()
_STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["k1", "k2", None]), st.sampled_from(["一", "二"]), st.booleans(), st.booleans()),
    max_size=12,
)


@pytest.mark.asyncio(loop_scope="module")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=_STEPS)
async def test_any_order_of_requests_behaves_like_a_table_of_keys(fleet: Fleet, steps):
    """(replica, key, text, stream, fails) against a model: a dict from key to what was answered first."""
    session, model, version = f"any-{next(_sessions)}-{uuid.uuid4().hex[:6]}", dict[str, tuple[str, int]](), 0
    for at, key, text, stream, fails in steps:
        fleet.backend.script = (lambda turn, state: bad_reply(FailureKind.EMPTY)) if fails else good_reply
        answer = await fleet.chat(at, session, key and f"{session}-{key}", text=text, stream=stream)
        if key in model:
            first_text, first_version = model[key]
            expected = ("200", first_version) if text == first_text else ("409", None)
        elif fails:
            expected = ("500", None)
        else:
            version += 1
            expected = ("200", version)
            if key:
                model[key] = (text, version)
        assert _told(answer) == expected
    fleet.backend.script = good_reply
    assert await fleet.effects(session) == (version, version)


def _told(answer: httpx.Response) -> tuple[str, int | None]:
    """Code and version, from either manner."""
    row = (
        answer.json()
        if answer.headers["content-type"].startswith("application/json")
        else json.loads(answer.text.strip().rsplit("data: ", 1)[1])
    )
    return row["code"], row.get("stateVersion")


def test_a_lease_outlives_the_longest_turn_there_is():
    from wiring.settings import Settings

    settings_ = Settings(_env_file=None)
    longest = max(settings_.fastgpt.total_seconds, settings_.llm.total_seconds * 2)
    assert timedelta(seconds=settings_.session.lease_seconds) > timedelta(seconds=longest)
