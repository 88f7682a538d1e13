"""Server-sent events as a partner's client reads them. Sans-io: feed bytes, get events; the events do not depend on the cuts."""

import json
from typing import Any, cast

Event = tuple[str, dict[str, Any]]


class BadStream(Exception):
    """The stream is not what the contract promises; the message is a constant name, never content."""


class EventReader:
    def __init__(self) -> None:
        self._bytes = b""
        self._name = ""

    def feed(self, chunk: bytes) -> list[Event]:
        """Complete events only. Comments and unknown fields are passed over. Raises BadStream for a payload that is no JSON object."""
        self._bytes += chunk
        events: list[Event] = []
        *lines, self._bytes = self._bytes.split(b"\n")
        for line in lines:
            event = self._line(line.rstrip(b"\r"))
            if event is not None:
                events.append(event)
        return events

    def _line(self, line: bytes) -> Event | None:
        if line.startswith(b"event:"):
            self._name = line[6:].strip().decode()
        elif line.startswith(b"data:"):
            try:
                payload = cast("object", json.loads(line[5:]))
            except ValueError as error:
                raise BadStream("sse_payload_not_json") from error
            if not isinstance(payload, dict):
                raise BadStream("sse_payload_not_object")
            name, self._name = self._name, ""
            return name, cast("dict[str, Any]", payload)
        return None


def outcome_of(events: list[Event]) -> tuple[str, str]:
    """Code and stage of a whole stream. Raises BadStream unless it ends with its one `done` (or its one `error`)."""
    names = [name for name, _ in events]
    if not names:
        raise BadStream("sse_empty")
    last_name, last = events[-1]
    if last_name == "error":
        return str(last.get("code") or "error"), ""
    if names.count("done") != 1 or last_name != "done":
        raise BadStream("sse_done_not_once_and_last")
    if names.count("stage_code") != 1:
        raise BadStream("sse_stage_code_not_once")
    stage = next(str(data.get("nextStageCode") or "") for name, data in events if name == "stage_code")
    return str(last.get("code") or ""), stage
