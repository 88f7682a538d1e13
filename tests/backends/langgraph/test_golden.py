"""The golden conversations through the real compiled graph, with a model that says what each turn scripts."""

from typing import Any

import pytest
import yaml
from stdnum.cn import ric

from domain.errors import FailureKind
from domain.outcome import Failed, FormChanged, Replied, StageDecided, TextPiece
from domain.session import SessionState
from domain.transitions import edges_between
from evals.golden import scenarios_text
from tests.backends.langgraph.conversation import Conversation

pytestmark = pytest.mark.graph

_FILE = yaml.safe_load(scenarios_text())
_MINOR = "11010520100101001" + ric.calc_check_digit("110105201001010010")


def _filled(value: Any) -> Any:
    return value.replace("{ID_BORN_20100101_VALID}", _MINOR) if isinstance(value, str) else value


def _played() -> list[Any]:
    plays: list[Any] = []
    for scenario in _FILE["scenarios"]:
        lead = [turn for name in scenario.get("use", ()) for turn in _FILE["prefixes"][name]]
        plays += [pytest.param([case], id=f"{scenario['id']}-{number}") for number, case in enumerate(scenario.get("cases", ()))]
        if "turns" in scenario:
            plays.append(pytest.param([*lead, *scenario["turns"]], id=scenario["id"]))
    return plays


@pytest.mark.parametrize("turns", _played())
async def test_conversation_goes_as_written(turns: list[dict[str, Any]]):
    conversation = Conversation()
    for turn in turns:
        await _play(conversation, turn)


async def _play(conversation: Conversation, turn: dict[str, Any]) -> None:
    before, calls = conversation.state, len(conversation.model.sent)
    scripted = turn.get("m") or []
    replies = [text + "好的。" for text in ([scripted] if isinstance(scripted, str) else scripted)]
    if "set" in turn:
        end = await conversation.write(turn["set"]["key"], yaml.safe_load(turn["set"]["value"]))
    else:
        end = await conversation.say(_filled(turn["u"]), *replies)
    assert len(conversation.model.sent) - calls == len(replies)
    _check_end(turn, end, conversation.state)
    if isinstance(end, Replied):
        _check_events(conversation, before, end, is_write="set" in turn)


def _check_end(turn: dict[str, Any], end: Replied | Failed, state: SessionState) -> None:
    if turn.get("error"):
        assert isinstance(end, Failed)
        assert end.outcome.failure is not None
        assert end.outcome.failure.kind is FailureKind.INVALID_STAGE
        assert state.stage == turn["stage_after"]
        return
    assert isinstance(end, Replied), end
    assert end.outcome.reply is not None
    if "s" in turn or "stage_after" in turn:
        assert end.after.stage == turn.get("s", turn.get("stage_after"))
    if "set" not in turn:
        want = {key: _filled(value) for key, value in turn.get("p", {}).items()}
        assert list(end.outcome.reply.patch.items()) == list(want.items())
    if "ask" in turn:
        assert end.after.dialogue.pending_question == turn["ask"]
    if "why" in turn:
        assert end.after.dialogue.handoff_reason == turn["why"]
        assert end.outcome.reply.handoff_reason == turn["why"]
    if "secondary" in turn:
        assert list(end.after.dialogue.secondary_reasons) == turn["secondary"]
    if "rejected" in turn:
        assert {"prefix:illegal", "prefix:guard"} & set(end.outcome.violations)


def _check_events(conversation: Conversation, before: SessionState, end: Replied, *, is_write: bool) -> None:
    """Stage, fields, text, end: in this order; their sum is the reply; the step is an edge of the table."""
    assert end.outcome.reply is not None
    kinds = [type(event) for event in conversation.events]
    has_patch = bool(end.outcome.reply.patch)
    texts = kinds.count(TextPiece)
    assert kinds == [StageDecided, *[FormChanged] * has_patch, *[TextPiece] * texts, Replied]
    assert is_write or texts >= 1
    assert "".join(event.text for event in conversation.events if isinstance(event, TextPiece)) == end.outcome.reply.text
    assert conversation.events[0] == StageDecided(end.outcome.reply.stage)
    assert end.after.stage is not None
    assert edges_between(before.stage, end.after.stage)
