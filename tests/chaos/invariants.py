"""What must hold after any crash, as functions of the evidence alone. Numbers are those of the reliability catalogue; T1 is ours."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.chaos.checks import answers, effects, history, storage
from tests.chaos.evidence import Evidence

Check = Callable[[Evidence], Iterator[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    name: str
    says: str
    check: Check


@dataclass(frozen=True, slots=True)
class Violation:
    invariant: str
    detail: str


INVARIANTS = (
    Invariant(name="I1", says="versions of events and of committed turns run 1, 2, 3 … without a gap", check=storage.gapless),
    Invariant(name="I2", says="what was acknowledged is stored, with that version and that text", check=history.durable),
    Invariant(name="I3", says="a key and an event id have one effect, and a stored reply points at it", check=effects.one_effect),
    Invariant(name="I4", says="the projection is the fold of the turns", check=storage.projection),
    Invariant(
        name="I5", says="everything ever told of one turn says the same, byte for byte where the manner is the same", check=answers.equal
    ),
    Invariant(name="I6", says="answers and reads fit one order that respects real time", check=history.linearizable),
    Invariant(name="I7", says="every step is on the table of transitions", check=storage.legal_path),
    Invariant(name="I8", says="a stream keeps its grammar and ends exactly once", check=answers.grammar),
    Invariant(name="I9", says="the shadow leaves every real row as it was", check=effects.shadow_clean),
    Invariant(name="I10", says="every turn that began is offered to the shadow once, and settled once", check=effects.ledger),
    Invariant(name="I11", says="every row is of the caller's tenant", check=storage.one_tenant),
    Invariant(name="I12", says="checkpoint and upstream chat are copies of what was committed, never ahead of it", check=storage.copies),
    Invariant(name="I13", says="the model is asked at most once an attempt, and never for what needs none", check=effects.model_calls),
    Invariant(name="I14", says="no task, connection, lease or transaction is left behind", check=effects.leftovers),
    Invariant(name="I19", says="every turn was served by the backend the plan names", check=storage.routing),
    Invariant(
        name="I21", says="what was told to have failed is absent, and what was left open is resolved by the retry", check=history.honest
    ),
    Invariant(name="T1", says="the conversation goes on as that of an untouched twin", check=answers.twin),
)

NOT_CHECKED_HERE = {
    "I15": "needs the scan for personal data (issue 5)",
    "I16": "needs encryption of stored fields (issue 5)",
    "I17": "needs the audit chain (issue 5)",
    "I18": "needs metrics (issue 5)",
    "I20": "needs retention (issue 5)",
    "I22": "bounds of a long run, not of one turn",
}


def violations(evidence: Evidence) -> tuple[Violation, ...]:
    return tuple(Violation(one.name, detail) for one in INVARIANTS for detail in one.check(evidence))
