"""The form after the turn. What counts is where both forms end up, not how a side got there."""

from typing import Any

from deepdiff import DeepDiff

from domain.diff import Diff, Severity
from domain.fields import FIELDS
from domain.outcome import Outcome, Reply
from domain.rules.cause import CAUSES
from domain.session import FieldValue, SessionState
from domain.turn import Turn
from shadow.kinds.kind import both_replied


class PatchKind:
    name = "patch"

    def applies(self, primary: Outcome, shadow: Outcome) -> bool:
        return both_replied(primary, shadow)

    def diffs(self, turn: Turn, before: SessionState, primary: Outcome, shadow: Outcome) -> tuple[Diff, ...]:
        assert primary.reply is not None
        assert shadow.reply is not None
        left, right = _form_after(before, primary.reply), _form_after(before, shadow.reply)
        if left == right:  # the common case, and a hundred times cheaper than a structural comparison
            return ()
        # Threshold 0: forms that share few keys are still told apart key by key, and not as one change of the whole.
        found = DeepDiff(left, right, view="tree", threshold_to_diff_deeper=0)
        keys = {item.path(output_format="list")[0] for group in found.values() for item in group}
        return tuple(self._diff(key, left.get(key), right.get(key)) for key in FIELDS if key in keys)

    def _diff(self, key: str, primary: FieldValue, shadow: FieldValue) -> Diff:
        how = "missing_in_primary" if primary is None else "missing_in_shadow" if shadow is None else "other_value"
        return Diff(
            kind=self.name,
            signature=f"patch {key}: {how}",
            severity=Severity.CRITICAL if key == "ywrysw" else Severity.MAJOR,
            detail={"field": key, "primary": _shown(key, primary), "shadow": _shown(key, shadow)},
        )


def _form_after(before: SessionState, reply: Reply) -> dict[str, FieldValue]:
    return {key: value for key, value in {**before.form, **reply.patch}.items() if value is not None}


def _shown(key: str, value: FieldValue) -> Any:
    """Diffs are read by many people. Of a number that identifies somebody they show the end, of a name its length, and of a cause its
    label: a narrative may hold anything."""
    if not isinstance(value, str):
        return value
    if key.startswith("xm") or (key == "sgyy" and value not in CAUSES):
        return f"{len(value)} characters"
    return f"…{value[-2:]}" if FIELDS[key].is_masked else value
