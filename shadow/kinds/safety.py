"""The detectors' finding against what each side did with it. A missed finding is critical, whoever served."""

from domain.diff import Diff, Severity
from domain.missed_alarms import missed_alarms
from domain.outcome import Outcome
from domain.session import SessionState
from domain.turn import Turn
from shadow.kinds.kind import both_replied


class SafetyKind:
    name = "safety"

    def applies(self, primary: Outcome, shadow: Outcome) -> bool:
        return both_replied(primary, shadow)

    def diffs(self, turn: Turn, before: SessionState, primary: Outcome, shadow: Outcome) -> tuple[Diff, ...]:
        return tuple(
            Diff(
                kind=self.name,
                signature=f"safety {side} missed {reason}",
                severity=Severity.CRITICAL,
                detail={"side": side, "missed": reason, "stage": outcome.reply.stage},
            )
            for side, outcome in (("primary", primary), ("shadow", shadow))
            if outcome.reply is not None
            for reason in missed_alarms(turn, before, outcome.reply.stage)
        )
