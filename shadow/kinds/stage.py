"""The stage code, and with it the step the client will show next."""

from domain.diff import Diff, Severity
from domain.outcome import Outcome
from domain.session import SessionState
from domain.turn import Turn
from shadow.kinds.kind import both_replied


class StageKind:
    name = "stage"

    def applies(self, primary: Outcome, shadow: Outcome) -> bool:
        return both_replied(primary, shadow)

    def diffs(self, turn: Turn, before: SessionState, primary: Outcome, shadow: Outcome) -> tuple[Diff, ...]:
        assert primary.reply is not None
        assert shadow.reply is not None
        said, would_say = primary.reply.stage, shadow.reply.stage
        if said is would_say:
            return ()
        start = before.stage or "new"
        return (
            Diff(
                kind=self.name,
                signature=f"stage {start}: {said}≠{would_say}",
                severity=Severity.MAJOR,
                detail={"from": before.stage, "primary": said, "shadow": would_say},
            ),
        )
