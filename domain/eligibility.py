"""Which facts take a case out of the online flow, and under which reason. A table: the first rule that holds is the reason.

Conservative by default (domain/policy.py says what a deployment may admit); a rule is one line. `changed` limits the question to rules
about those fields, so that only a new fact moves a conversation (a fact that was already there has moved it before).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.handoff_reason import HandoffReason
from domain.policy import CAREFUL, Policy
from domain.rules.accident_time import time_from_wire
from domain.rules.identity_number import age_on
from domain.rules.plate_type import MOTORCYCLE_TYPES, ONLINE_TYPES, UNPLATED_TYPES
from domain.session import Form

ADULT_AGE_YEARS = 18
_HEAVY_TYPES = frozenset({"01", "15"})
Broken = Callable[[Form, datetime, Policy], bool]


@dataclass(frozen=True, slots=True)
class EligibilityRule:
    reason: HandoffReason
    fields: tuple[str, ...]
    is_broken: Broken


def is_stale(form: Form, now: datetime, policy: Policy = CAREFUL) -> bool:
    """The accident is known to be longer ago than the online flow allows; to the minute, the limit itself is still fine."""
    when = form.get("sgfssj")
    limit = timedelta(hours=policy.max_age_hours)
    return isinstance(when, str) and now.replace(second=0, microsecond=0) - time_from_wire(when) > limit


def _is(key: str, *values: object) -> Broken:
    def check(form: Form, now: datetime, policy: Policy) -> bool:
        return any(form.get(key) is value for value in values)

    return check


def _no_vehicle(form: Form, now: datetime, policy: Policy) -> bool:
    return form.get("jdcsl") == 0


def _too_many(form: Form, now: datetime, policy: Policy) -> bool:
    count = form.get("jdcsl")
    return isinstance(count, int) and count > 2


def _type_in(types: frozenset[str]) -> Broken:
    return lambda form, now, policy: any(form.get(key) in types for key in _TYPES)


def _special(form: Form, now: datetime, policy: Policy) -> bool:
    online = ONLINE_TYPES | _HEAVY_TYPES if policy.heavy_vehicles else ONLINE_TYPES
    return any(form.get(key) is not None and form.get(key) not in online for key in _TYPES)


def _is_minor(form: Form, now: datetime, policy: Policy) -> bool:
    when = form.get("sgfssj")
    day = time_from_wire(when) if isinstance(when, str) else now
    return any(isinstance(number := form.get(key), str) and age_on(number, day) < ADULT_AGE_YEARS for key in _IDENTITIES)


_TYPES = ("hpzl1", "hpzl2")
_IDENTITIES = ("sfzmhm1", "sfzmhm2")
_R = HandoffReason

ELIGIBILITY: tuple[EligibilityRule, ...] = (
    EligibilityRule(_R.INJURY, ("ywrysw",), _is("ywrysw", True)),
    EligibilityRule(_R.NON_MOTOR, ("ywfjdc",), _is("ywfjdc", True)),
    EligibilityRule(_R.MOTORCYCLE, ("ywmtc",), _is("ywmtc", True)),
    EligibilityRule(_R.ZERO_VEHICLE, ("jdcsl",), _no_vehicle),
    EligibilityRule(_R.MULTI_VEHICLE, ("jdcsl",), _too_many),
    EligibilityRule(_R.NOT_AT_SCENE, ("sfsgxc",), _is("sfsgxc", False)),
    EligibilityRule(_R.STALE_ACCIDENT, ("sgfssj",), is_stale),
    EligibilityRule(_R.NO_PLATE, _TYPES, _type_in(UNPLATED_TYPES)),
    EligibilityRule(_R.MOTORCYCLE, _TYPES, _type_in(MOTORCYCLE_TYPES)),
    EligibilityRule(_R.SPECIAL_VEHICLE, _TYPES, _special),
    EligibilityRule(_R.MINOR_DRIVER, _IDENTITIES, _is_minor),
)


def ineligible(form: Form, now: datetime, changed: Iterable[str] | None = None, policy: Policy = CAREFUL) -> HandoffReason | None:
    """Why the case needs a person; None when nothing known says so."""
    about = None if changed is None else set(changed)
    for rule in ELIGIBILITY:
        is_asked = rule.reason not in policy.admits and (about is None or about.intersection(rule.fields))
        if is_asked and rule.is_broken(form, now, policy):
            return rule.reason
    return None
