"""The words. They never decide alone: two good sentences differ, and two alike may say the opposite (docs/adr/0008)."""

import re
import unicodedata

from rapidfuzz import fuzz

from domain.diff import Diff, Severity
from domain.outcome import Outcome
from domain.session import SessionState
from domain.turn import Turn
from shadow.kinds.kind import both_replied

_NOISE = re.compile(r"[\s，。！？、；：,.!?;:“”\"'（）()【】~～…]+")


class TextKind:
    name = "text"

    def applies(self, primary: Outcome, shadow: Outcome) -> bool:
        return both_replied(primary, shadow)

    def diffs(self, turn: Turn, before: SessionState, primary: Outcome, shadow: Outcome) -> tuple[Diff, ...]:
        assert primary.reply is not None
        assert shadow.reply is not None
        left, right = normal(primary.reply.text), normal(shadow.reply.text)
        if left == right:
            return ()
        similarity = fuzz.ratio(left, right) / 100
        return (
            Diff(
                kind=self.name,
                signature=f"text {primary.reply.stage}≠{shadow.reply.stage}"
                if primary.reply.stage is not shadow.reply.stage
                else f"text {primary.reply.stage}",
                severity=Severity.INFO,
                detail={"similarity": round(similarity, 2), "primary_chars": len(left), "shadow_chars": len(right)},
            ),
        )


def normal(text: str) -> str:
    """Without width, punctuation and spacing."""
    return _NOISE.sub("", unicodedata.normalize("NFKC", text)).casefold()
