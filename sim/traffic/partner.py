"""One partner team's client: plays one conversation at a time and reports every call, never a word of what was said."""

import json
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any, cast

import aiohttp

from sim.traffic.events import BadStream, Event, EventReader, outcome_of
from sim.traffic.scenario import Say, Scenario, Step

TIMEOUT_S = 90.0
TERMINAL = frozenset({"0000", "0001", "0002", "0003", "0004", "0005"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReport:
    """`turn` counts the calls of a session from 1; `stage` is empty for calls that tell none; `error` is a constant name or empty."""

    session: str
    caller: str
    call: str
    turn: int
    stream: bool
    ok: bool
    code: str
    stage: str
    ms: int
    error: str

    def line(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    code: str = ""
    stage: str = ""
    error: str = ""


class Partner:
    """`name` and `key` identify the team; the key goes into X-API-Key and nowhere else."""

    def __init__(self, http: aiohttp.ClientSession, base_url: str, *, name: str, key: str) -> None:
        self._http = http
        self._base = base_url.rstrip("/")
        self._name = name
        self._headers = {"X-API-Key": key}

    async def play(self, scenario: Scenario, session: str, *, stream: bool) -> AsyncIterator[CallReport]:
        """Goes on until the steps are done, the stage is terminal, or a call fails; then reads all fields once."""
        turn = 0
        for turn, step in enumerate(scenario.steps, start=1):
            report = await self._step(step, session, turn, stream=stream)
            yield report
            if not report.ok or report.stage in TERMINAL:
                break
        yield await self._report("get_info", session, turn + 1, {"sessionId": session, "key": "all"})

    async def _step(self, step: Step, session: str, turn: int, *, stream: bool) -> CallReport:
        if isinstance(step, Say):
            # Played faster than people take photos: without an id of its own the next one would be taken for a second tap.
            body = {"sessionId": session, "text": step.text, "needFormUpdate": True, "eventId": f"{session}-{turn}"}
            return await self._report("chat", session, turn, body, stream=stream)
        return await self._report("set_info", session, turn, {"sessionId": session, "key": step.key, "value": step.value})

    async def _report(self, call: str, session: str, turn: int, body: dict[str, Any], *, stream: bool = False) -> CallReport:
        began = time.monotonic()
        answer = await self._answer(call, body, stream=stream)
        error = answer.error or ("" if answer.code == "200" else f"code_{answer.code or 'missing'}")
        return CallReport(
            session=session,
            caller=self._name,
            call=call,
            turn=turn,
            stream=stream,
            ok=not error,
            code=answer.code,
            stage=answer.stage,
            ms=round((time.monotonic() - began) * 1000),
            error=error,
        )

    async def _answer(self, call: str, body: dict[str, Any], *, stream: bool) -> _Answer:
        params = {"stream": "true"} if stream else {}
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        try:
            async with self._http.post(
                f"{self._base}/{call}", json=body, params=params, headers=self._headers, timeout=timeout
            ) as response:
                if stream and response.content_type == "text/event-stream":
                    return await _streamed(response)
                return await _whole(response)
        except BadStream as bad:
            return _Answer(error=str(bad))
        except TimeoutError:
            return _Answer(error="timeout")
        except aiohttp.ClientError as error:
            return _Answer(error=f"connection_{type(error).__name__}")


async def _streamed(response: aiohttp.ClientResponse) -> _Answer:
    reader, events = EventReader(), list[Event]()
    async for chunk in response.content.iter_any():
        events += reader.feed(chunk)
    code, stage = outcome_of(events)
    return _Answer(code=code, stage=stage)


async def _whole(response: aiohttp.ClientResponse) -> _Answer:
    try:
        body = cast("object", json.loads(await response.read()))
    except ValueError:
        return _Answer(error=f"http_{response.status}_not_json")
    if not isinstance(body, dict):
        return _Answer(error=f"http_{response.status}_not_object")
    fields = cast("dict[str, Any]", body)
    return _Answer(code=str(fields.get("code") or ""), stage=str(fields.get("nextStageCode") or ""))
