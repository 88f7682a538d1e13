"""What a stored chat says, as a session of ours would say it. Pure.

Used twice: to take over a conversation from before our time, and to see whether a chat of ours still says what its session says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from backends.fastgpt.chats import ChatHeader, ChatRecord
from backends.fastgpt.config import FastGptConfig
from backends.fastgpt.form import FormReader
from contract.ports import HeldSession
from contract.state_prefix import BodyText, MalformedReply, StatePrefixParser, StateTag
from domain.adoption import KEPT_ROUNDS, Adopted, Round, adopted_state
from domain.events import event_from_text
from domain.session import Form
from domain.stages import StageCode
from domain.turn import Turn


def adopted_from(config: FastGptConfig, turn: Turn, chat_id: str, header: ChatHeader, records: Sequence[ChatRecord]) -> Adopted | None:
    """None when nothing in the chat was ever answered. `turn` is the one that found it."""
    rounds = list(rounds_of(records))
    if not rounds:
        return None
    state = adopted_state(turn, rounds, form_of(config, header, turn), chat_id)
    return Adopted(state=state, rounds=tuple(rounds[-KEPT_ROUNDS:]), build=config.build)


def rounds_of(records: Sequence[ChatRecord]) -> Iterator[Round]:
    """Question and answer; an answer that was cut off or failed is no round, as it would have been none here."""
    question: ChatRecord | None = None
    for record in records:
        if record.side == "Human":
            question = record
        elif question is not None:
            if (read := read_answer(record.text)) is not None:
                stage, words = read
                yield Round(said=question.text, event=event_from_text(question.text), stage=stage, answer=words, at=question.at)
            question = None


def read_answer(text: str) -> tuple[StageCode, str] | None:
    """Stage and words of a stored answer; None when it does not begin with a stage that exists."""
    prefix, code, words = StatePrefixParser(), None, list[str]()
    try:
        for event in (*prefix.feed(text), *prefix.finish()):
            match event:
                case StateTag(found):
                    code = found
                case BodyText(piece):
                    words.append(piece)
                case _:
                    pass
        return None if code is None else (StageCode(code), "".join(words))
    except (MalformedReply, ValueError):
        return None


def form_of(config: FastGptConfig, header: ChatHeader, turn: Turn) -> Form:
    """The fields that the chat's variables hold; one that breaks its rule is unknown, as it would be after a turn."""
    reader = FormReader(replace(config, form_sources=("variables",)), {}, turn.received_at, _no_report)
    reader.see_variables(header.variables)
    return reader.patch()


def contradictions(config: FastGptConfig, held: HeldSession, header: ChatHeader, records: Sequence[ChatRecord]) -> tuple[str, ...]:
    """Names of what the chat says otherwise than the session said with its newest answer."""
    answered = held.answered
    assert answered is not None
    if not header.exists or not records:
        return ("chat_missing",)
    newest = records[-1]
    read = read_answer(newest.text) if newest.side == "AI" else None
    if read is None:
        return ("chat_answer",)
    stage, words = read
    names = ["chat_stage"] if stage is not answered.stage else []
    lines = [message.text for message in held.opened.state.transcript if message.role == "assistant"]
    if lines and lines[-1].strip() != words.strip():
        names.append("chat_answer")
    known = config.variables
    at = max(record.at for record in records)
    reader = FormReader(replace(config, form_sources=("variables",)), answered.form, at, _no_report)
    reader.see_variables({name: value for name, value in header.variables.items() if name in known.values()})
    return (*names, *(f"field:{key}" for key in reader.patch()))


def _no_report(_name: str) -> None:
    """A chat that is only looked at breaks no contract."""
