"""Whether both sides answered, and what each did against its contract."""

from domain.diff import Diff, Severity
from domain.outcome import Outcome
from domain.session import SessionState
from domain.turn import Turn


class ErrorKind:
    name = "error"

    def applies(self, primary: Outcome, shadow: Outcome) -> bool:
        return True

    def diffs(self, turn: Turn, before: SessionState, primary: Outcome, shadow: Outcome) -> tuple[Diff, ...]:
        found = []
        said, would_say = _class(primary), _class(shadow)
        if said != would_say:
            found.append(
                Diff(
                    kind=self.name,
                    signature=f"error {said}≠{would_say}",
                    severity=Severity.MAJOR,
                    detail={"primary": said, "shadow": would_say},
                )
            )
        for side, mine, theirs in (("primary", primary, shadow), ("shadow", shadow, primary)):
            found.extend(
                Diff(kind=self.name, signature=f"error {side} {name}", severity=Severity.MINOR, detail={"side": side, "violation": name})
                for name in dict.fromkeys(mine.violations)
                if name not in theirs.violations
            )
        return tuple(found)


def _class(outcome: Outcome) -> str:
    return "ok" if outcome.failure is None else outcome.failure.kind
