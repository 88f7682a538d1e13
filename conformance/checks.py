"""Every promise of the partners' wire, one check each. A check opens sessions of its own, raises Mismatch, and returns nothing."""

import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass

from conformance.caller import PHOTO, Caller, Mismatch, Told, expect, short

OPENED = "【会话开始】"
TO_PHOTOS = (OPENED, "准备好了", "没有人受伤，我自己倒车撞到柱子了，我开的车", "还在现场，十分钟前发生的", "没有电动车也没有摩托车")
CHAT_KEYS = ["code", "msg", "sessionId", "outputText", "nextStageCode", "nextStageName", "formUpdate", "stateVersion"]
DONE_KEYS = ["code", "msg", "sessionId", "stateVersion"]
LONGEST_PIECE = 40

Body = Callable[[Caller], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """`is_ours`: Crossfade's own addition, which the service it replaces may lack."""

    name: str
    says: str
    run: Body
    is_ours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    check: Check
    expected: str = ""
    seen: str = ""

    @property
    def has_passed(self) -> bool:
        return not self.expected


async def run_checks(caller: Caller) -> AsyncGenerator[Result]:
    """In order. Raises KeyRejected, and httpx.HTTPError when nobody answers."""
    await caller.require_key()
    for check in CHECKS:
        if check.is_ours and caller.core:
            continue
        try:
            await check.run(caller)
        except Mismatch as mismatch:
            # Redacted whole, and shortened afterwards: half a key is a key too many.
            expected, seen = caller.redacted(mismatch.expected or "as agreed"), caller.redacted(mismatch.seen)
            yield Result(check=check, expected=short(expected), seen=short(seen))
        except (TypeError, LookupError, AttributeError, ValueError) as error:
            # A value of another type than agreed, somewhere in an answer: the service's mistake, whatever a check then stumbled over.
            yield Result(check=check, expected="values of the agreed types", seen=f"something else ({type(error).__name__})")
        else:
            yield Result(check=check)


def refused(caller: Caller, told: Told, code: str) -> None:
    """Raises Mismatch. `code` is what the envelope says; its HTTP status depends on the caller's profile. The service of before knows
    errors too, but not these codes."""
    if caller.core:
        expect("code is an error's", True, told.code not in ("200", "None"))
    else:
        expect("code", code, told.code)
    if not isinstance(told.row.get("msg"), str) or not told.row["msg"]:
        raise Mismatch("msg: a text", f"msg: {told.row.get('msg')!r}")


def _known(caller: Caller, told: Told) -> list[str]:
    """The keys of an answer, in order; a version may be there in front of the service of before, or not."""
    return [key for key in told.row if not (caller.core and key == "stateVersion")]


async def _opened(caller: Caller) -> str:
    session = caller.new_session()
    await caller.chat(session, OPENED)
    return session


async def opening(caller: Caller) -> None:
    told = await caller.chat(caller.new_session(), OPENED)
    expect("code", "200", told.code)
    expect("nextStageCode", "1001", told.stage)
    expect("outputText is empty", False, not told.text)


async def blank_opening(caller: Caller) -> None:
    session = caller.new_session()
    expect("nextStageCode", "1001", (await caller.chat(session, "")).stage)
    refused(caller, await caller.chat(session, ""), "400")


async def whole_answer(caller: Caller) -> None:
    session = caller.new_session()
    told = await caller.chat(session, OPENED)
    expect("keys", [key for key in CHAT_KEYS if not (caller.core and key == "stateVersion")], _known(caller, told))
    expect("sessionId", session, told.row["sessionId"])
    expect("msg", "success", told.row["msg"])
    expect("formUpdate is an object", True, isinstance(told.row["formUpdate"], dict))
    expect("content type", True, told.headers.get("content-type", "").startswith("application/json"))


async def streamed_answer(caller: Caller) -> None:
    session = await _opened(caller)
    told = await caller.chat(session, "准备好了，没有人受伤，我自己倒车撞到柱子了", stream=True)
    names = [name for name, _ in told.events]
    expect("first event", "stage_code", names[0] if names else "none")
    expect("last event", "done", names[-1] if names else "none")
    expect("ends", 1, sum(name in ("done", "error") for name in names))
    expect("stage_code events", 1, names.count("stage_code"))
    expect("formUpdate events", 1, names.count("formUpdate"))
    expect("texts", True, names.count("text_delta") >= 1)
    expect("done", [key for key in DONE_KEYS if not (caller.core and key == "stateVersion")], _known(caller, told))
    expect("unknown events", [], sorted({*names} - {"stage_code", "formUpdate", "text_delta", "done"}))


async def streamed_without_form(caller: Caller) -> None:
    session = await _opened(caller)
    told = await caller.chat(session, "没有人受伤，我自己倒车撞到柱子了", stream=True, form=False)
    expect("formUpdate events", 0, sum(name == "formUpdate" for name, _ in told.events))
    told = await caller.chat(await _opened(caller), "没有人受伤，我自己倒车撞到柱子了", form=False)
    expect("formUpdate", {}, told.row.get("formUpdate"))


async def pieces_for_speech(caller: Caller) -> None:
    told = await caller.chat(await _opened(caller), "准备好了", stream=True, chunks=True)
    pieces = [str(data.get("text")) for name, data in told.events if name == "text_delta"]
    marks = "。！？；，\n"
    for piece in pieces[:-1]:
        expect("a piece ends at a mark or at 40 characters", True, piece[-1] in marks or len(piece) == LONGEST_PIECE)
    expect("longest piece", True, max((len(piece) for piece in pieces), default=0) <= LONGEST_PIECE)


async def versions(caller: Caller) -> None:
    session = caller.new_session()
    seen = [(await caller.chat(session, text)).version for text in TO_PHOTOS[:3]]
    await caller.write(session, "sjhm1", "13800138000")
    seen.append((await caller.chat(session, TO_PHOTOS[3], stream=True)).version)
    expect("stateVersion", [1, 2, 3, 5], seen)


async def fields_learnt(caller: Caller) -> None:
    session = caller.new_session()
    for text in TO_PHOTOS[:2]:
        await caller.chat(session, text)
    told = await caller.chat(session, TO_PHOTOS[2])
    expect("formUpdate.sgyy", "倒车", told.patch.get("sgyy"))
    expect("formUpdate.ywrysw", False, told.patch.get("ywrysw"))
    expect("sgyy", "倒车", await caller.read(session, "sgyy"))


async def photo_steps(caller: Caller) -> None:
    session = caller.new_session()
    for text in TO_PHOTOS:
        await caller.chat(session, text)
    expect("nextStageCode", "2001", (await caller.chat(session, "好了")).stage)
    expect("nextStageCode", "2002", (await caller.chat(session, PHOTO, key=uuid.uuid4().hex)).stage)
    expect("nextStageCode", "2003", (await caller.chat(session, PHOTO, key=uuid.uuid4().hex)).stage)


async def injury(caller: Caller) -> None:
    expect("nextStageCode", "0003", (await caller.chat(await _opened(caller), "对方流血了，昏迷不醒")).stage)


async def person_wanted(caller: Caller) -> None:
    expect("nextStageCode", "0001", (await caller.chat(await _opened(caller), "太麻烦了，转人工")).stage)


async def silence(caller: Caller) -> None:
    session = await _opened(caller)
    told = [await caller.chat(session, "【用户无回复】", key=uuid.uuid4().hex) for _ in range(3)]
    expect("nextStageCode", "0004", told[-1].stage)


async def finished_stays(caller: Caller) -> None:
    session = await _opened(caller)
    await caller.chat(session, "转人工")
    expect("nextStageCode", "0001", (await caller.chat(session, "你好")).stage)


async def written_field(caller: Caller) -> None:
    session = await _opened(caller)
    told = await caller.write(session, "hphm1", "京a 12345")
    expect("answer", b'{"code":"200","msg":"success"}', told.body)
    expect("hphm1", "京A12345", await caller.read(session, "hphm1"))
    await caller.write(session, "hphm1", None)
    expect("hphm1", None, await caller.read(session, "hphm1"))


async def read_groups(caller: Caller) -> None:
    session = await _opened(caller)
    everything = await caller.read(session, "all")
    expect("groups", ["acdinfo", "acdhuman1", "acdhuman2"], list(everything))
    expect("acdinfo", everything["acdinfo"], await caller.read(session, "acdinfo"))


async def unknown_session(caller: Caller) -> None:
    nowhere = caller.new_session()
    refused(caller, await caller.write(nowhere, "sgyy", "追尾"), "404")
    refused(caller, await caller.post("/get_info", {"sessionId": nowhere, "key": "sgyy"}), "404")


async def unknown_field(caller: Caller) -> None:
    session = await _opened(caller)
    refused(caller, await caller.write(session, "nosuchfield", "1"), "400")
    refused(caller, await caller.post("/get_info", {"sessionId": session, "key": "nosuchfield"}), "400")


async def wrong_value(caller: Caller) -> None:
    session = await _opened(caller)
    for field, value in (("sjhm1", "12345"), ("sfzmhm1", "110105194912310021"), ("jdcsl", "many")):
        refused(caller, await caller.write(session, field, value), "400")
    expect("sjhm1", None, await caller.read(session, "sjhm1"))


async def broken_body(caller: Caller) -> None:
    for body in (b"{", b"[]", b"\xff", b'"text"'):
        refused(caller, await caller.post("/chat", body), "400")


async def wrong_body(caller: Caller) -> None:
    session = caller.new_session()
    for body in ({"text": "你好"}, {"sessionId": "", "text": "你好"}, {"sessionId": session, "text": 5}, {"sessionId": "a b", "text": "x"}):
        refused(caller, await caller.post("/chat", body), "400")
    refused(caller, await caller.post("/get_info", {"sessionId": session, "key": "sgyy"}), "404")  # nothing of it began a session


async def wrong_key(caller: Caller) -> None:
    told = await caller.post("/chat", {"sessionId": caller.new_session(), "text": "你好"}, api_key="cfk_nobody_knows")
    expect("status", 401, told.status)
    refused(caller, told, "401")


async def keyed_retry(caller: Caller) -> None:
    session, key = await _opened(caller), uuid.uuid4().hex
    first = await caller.chat(session, "准备好了", key=key)
    again = await caller.chat(session, "准备好了", key=key)
    expect("the retry's bytes are the first ones", True, first.body == again.body)
    expect("Idempotency-Replayed", "true", again.headers.get("idempotency-replayed"))
    streamed = await caller.chat(session, "准备好了", key=key, stream=True)
    expect("streamed text", first.text, streamed.text)
    expect("stateVersion", first.version, streamed.version)


async def keyed_conflict(caller: Caller) -> None:
    session, key = await _opened(caller), uuid.uuid4().hex
    await caller.chat(session, "准备好了", key=key)
    refused(caller, await caller.chat(session, "没有人受伤", key=key), "409")


async def event_retry(caller: Caller) -> None:
    session, event = await _opened(caller), uuid.uuid4().hex
    first = await caller.chat(session, "准备好了", eventId=event)
    again = await caller.chat(session, "准备好了", eventId=event)
    expect("the retry's bytes are the first ones", True, first.body == again.body)
    refused(caller, await caller.chat(session, "没有人受伤", eventId=event), "409")


async def same_value(caller: Caller) -> None:
    session = await _opened(caller)
    await caller.write(session, "sjhm1", "13800138000")
    await caller.write(session, "sjhm1", "138 0013 8000")
    expect("stateVersion", 3, (await caller.chat(session, "准备好了")).version)


CHECKS: tuple[Check, ...] = (
    Check(name="opening", says="a session opens at 1001 and is answered in words", run=opening),
    Check(name="blank_opening", says="a blank text opens a session, and is refused in one that exists", run=blank_opening),
    Check(name="whole_answer", says="the keys of a whole answer, in order", run=whole_answer),
    Check(name="streamed_answer", says="the events of a stream, in order, one end", run=streamed_answer),
    Check(name="streamed_without_form", says="no fields unless they were asked for", run=streamed_without_form),
    Check(name="pieces_for_speech", says="pieces for speech end at marks", run=pieces_for_speech),
    Check(name="versions", says="every change raises the version by one", run=versions, is_ours=True),
    Check(name="fields_learnt", says="fields that were said are told, and can be read", run=fields_learnt),
    Check(name="photo_steps", says="a photo leads to the next one", run=photo_steps),
    Check(name="injury", says="somebody hurt: 0003", run=injury),
    Check(name="person_wanted", says="a person is wanted: 0001", run=person_wanted),
    Check(name="silence", says="three silences: 0004", run=silence),
    Check(name="finished_stays", says="what has ended stays so", run=finished_stays),
    Check(name="written_field", says="a written field is normalised, read, and cleared by null", run=written_field),
    Check(name="read_groups", says="groups can be read, and all of them", run=read_groups),
    Check(name="unknown_session", says="an unknown session: 404", run=unknown_session),
    Check(name="unknown_field", says="an unknown field: 400", run=unknown_field),
    Check(name="wrong_value", says="a value that breaks its rule: 400, and nothing is stored", run=wrong_value),
    Check(name="broken_body", says="a body that is no JSON object: 400", run=broken_body),
    Check(name="wrong_body", says="a body without what is needed: 400, and no session begins", run=wrong_body),
    Check(name="wrong_key", says="a wrong key: 401", run=wrong_key),
    Check(name="keyed_retry", says="a retry with its key gets the same answer, streamed or whole", run=keyed_retry, is_ours=True),
    Check(name="keyed_conflict", says="a key used for something else: 409", run=keyed_conflict, is_ours=True),
    Check(name="event_retry", says="a retry with its event id gets the same answer", run=event_retry, is_ours=True),
    Check(name="same_value", says="a value that was there already changes nothing", run=same_value, is_ours=True),
)
