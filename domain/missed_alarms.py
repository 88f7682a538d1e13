"""What a backend overheard: reasons for a person that our detectors find in a message, and that its reply does not act on."""

from domain.handoff_reason import HandoffReason
from domain.safety import detect
from domain.session import SessionState
from domain.stages import StageCode
from domain.turn import Turn, UserMessage

_ACTED_ON = (StageCode.HANDOFF_COMPLEX, StageCode.HANDOFF_REQUESTED)


def missed_alarms(turn: Turn, before: SessionState, stage: StageCode) -> tuple[HandoffReason, ...]:
    """Empty when nothing was overheard: no alarm, a person is coming, or the conversation had ended before."""
    if not isinstance(turn.event, UserMessage) or stage in _ACTED_ON or before.is_terminal:
        return ()
    return detect(turn.event.text, before.dialogue.pending_question).reasons
