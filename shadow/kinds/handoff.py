"""Whether, and why, the conversation goes to a person. Missing an injury or a complex case is the worst a side can do."""

from domain.diff import Diff, Severity
from domain.handoff_reason import HandoffReason, default_reason
from domain.outcome import Outcome, Reply
from domain.session import SessionState
from domain.stages import StageCode
from domain.turn import Turn
from shadow.kinds.kind import both_replied


class HandoffKind:
    name = "handoff"

    def applies(self, primary: Outcome, shadow: Outcome) -> bool:
        return both_replied(primary, shadow)

    def diffs(self, turn: Turn, before: SessionState, primary: Outcome, shadow: Outcome) -> tuple[Diff, ...]:
        assert primary.reply is not None
        assert shadow.reply is not None
        said, would_say = _reason(primary.reply), _reason(shadow.reply)
        if said == would_say or _is_one_reason_in_two_words(primary.reply, shadow.reply):
            return ()
        one_sided = StageCode.HANDOFF_COMPLEX in (primary.reply.stage, shadow.reply.stage) and (said is None or would_say is None)
        return (
            Diff(
                kind=self.name,
                signature=f"handoff {said or 'none'}≠{would_say or 'none'}",
                severity=Severity.CRITICAL if one_sided else Severity.MAJOR,
                detail={"primary": said, "shadow": would_say},
            ),
        )


def _reason(reply: Reply) -> HandoffReason | None:
    return reply.handoff_reason or default_reason(reply.stage)


def _is_one_reason_in_two_words(primary: Reply, shadow: Reply) -> bool:
    """A backend that names no reason for a stage agrees with one that names a reason of the same stage."""
    vague = default_reason(primary.stage)
    return primary.stage is shadow.stage and vague in (_reason(primary), _reason(shadow))
