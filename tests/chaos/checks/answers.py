"""What the partner was told, answer against answer."""

import re
from collections.abc import Iterator

from tests.chaos.evidence import Call, Evidence, told_without_times

_WHOLE = {
    "langgraph": re.compile(r"(stage_code )?(formUpdate )?(text_delta )*(done|error) "),
    "fastgpt": re.compile(r"(stage_code )?(text_delta )*(formUpdate )?(text_delta )*(done|error) "),  # its fields may come late
}
_BROKEN_OFF = {name: re.compile(whole.pattern.replace("(done|error) ", "((done|error) )?")) for name, whole in _WHOLE.items()}


def equal(evidence: Evidence) -> Iterator[str]:
    committed = {turn["request_id"]: turn for turn in evidence.committed}
    for turn, attempts in evidence.attempts.items():
        acked = [call for call in attempts if call.is_acked and call.is_chat]
        if len({repr(call.told) for call in acked}) > 1:
            yield f"{turn} was told in several ways: {[call.told for call in acked]}"
        streams = {call.body for call in acked if call.is_stream}
        wholes = {call.body for call in acked if not call.is_stream}
        if evidence.identity == "key" and (len(streams) > 1 or len(wholes) > 1):
            yield f"{turn} was told in other bytes"
        for call in attempts:
            row = committed.get(call.request_id)
            if row is None or not call.is_stream or call.is_acked:
                continue
            if not (row["output_text"] or "").startswith(call.text_told):
                yield f"{call.request_id} broke off in a text that is not the stored one"
            elif evidence.identity == "key" and any(not _begins(body, call) for body in streams):
                yield f"{call.request_id} broke off in other bytes than its replay has"


def _begins(body: bytes, call: Call) -> bool:
    """A stream that broke off is the beginning of the whole one; an error that closed it is not counted."""
    told = call.body.partition(b"event: error\n")[0]
    return body.startswith(told)


def grammar(evidence: Evidence) -> Iterator[str]:
    for call in evidence.calls:
        if not call.is_stream or call.status is None or call.body.startswith(b"{") or not _is_ours(call):
            continue
        names = "".join(f"{name} " for name, _ in call.events)
        pattern = (_WHOLE if call.is_whole else _BROKEN_OFF)[evidence.backend]
        if not pattern.fullmatch(names):
            yield f"{call.request_id} was told {names or 'nothing '}{'' if call.is_whole else '…'}"


def _is_ours(call: Call) -> bool:
    """The server's own plain 500, when the task of a request is cancelled before it began to answer, is no stream."""
    return call.status == 200


def twin(evidence: Evidence) -> Iterator[str]:
    number_of_armed = int(evidence.armed.rpartition(".t")[2])
    is_in = any(turn["request_id"].startswith(f"{evidence.armed}.") for turn in evidence.committed)
    for call in evidence.acked:
        number = call.number
        if number is None or not call.is_chat:
            continue
        expected = evidence.twin["with"][number] if is_in else evidence.twin["without"][number - (number > number_of_armed)]
        if told_without_times(call.told) != expected:
            yield f"{call.request_id} was told {told_without_times(call.told)}, its twin {expected}"
