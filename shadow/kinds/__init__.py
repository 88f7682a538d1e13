"""One file a kind of difference; KINDS is the registry."""

from shadow.kinds.error import ErrorKind
from shadow.kinds.handoff import HandoffKind
from shadow.kinds.kind import Kind
from shadow.kinds.patch import PatchKind
from shadow.kinds.safety import SafetyKind
from shadow.kinds.stage import StageKind
from shadow.kinds.text import TextKind

KINDS: tuple[Kind, ...] = (SafetyKind(), StageKind(), PatchKind(), HandoffKind(), TextKind(), ErrorKind())
