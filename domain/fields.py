"""The form: one table of every field a partner can read or write, and the one door every value passes.

`FIELDS` is in output order (acdinfo, acdhuman1, acdhuman2). A new field is one line here and, when its kind is new, a rule in domain/rules.
Times are kept in state as the wire string, so that state holds JSON types only.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from domain.rules.accident_time import CHINA, accident_time
from domain.rules.boolean import boolean
from domain.rules.cause import cause
from domain.rules.count import vehicle_count
from domain.rules.field_error import FieldError
from domain.rules.identity_number import identity_number
from domain.rules.mobile import mobile
from domain.rules.name import person_name
from domain.rules.plate import ENERGY_TYPES, ORDINARY_TYPE, is_type_possible, plate_number, type_of_pattern
from domain.rules.plate_type import is_green, plate_type
from domain.rules.reporter import reporter_role
from domain.session import FieldValue, Form
from domain.stages import Phase

__all__ = [
    "FIELDS",
    "GROUPS",
    "INTERNAL_KEYS",
    "FieldError",
    "FieldSpec",
    "UnknownField",
    "accept",
    "derive",
    "in_order",
    "require_consistent",
    "unknown_field",
]

Group = Literal["acdinfo", "acdhuman1", "acdhuman2"]
Kind = Literal["bool", "int", "datetime", "str"]
Rule = Callable[[object, str, datetime], FieldValue]
"""(raw value, label, now) → the value as stored. Raises FieldError."""


class UnknownField(Exception):
    """A key that nobody may write. `str(error)` is the message for the caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    key: str
    label: str
    group: Group
    kind: Kind
    rule: Rule
    required_for: Phase  # the phase that cannot be left without it
    is_sensitive: bool = False  # never shown to a model, stored after a second confirmation only
    is_masked: bool = False  # masked in logs and reports

    @property
    def party(self) -> int:
        """1 or 2 for a person's field, 0 for the accident's."""
        return int(self.group[-1]) if self.group != "acdinfo" else 0


def _clockless(rule: Callable[[object, str], FieldValue]) -> Rule:
    def with_clock(raw: object, label: str, now: datetime) -> FieldValue:
        return rule(raw, label)

    return with_clock


def _identity(raw: object, label: str, now: datetime) -> FieldValue:
    return identity_number(raw, label, now.astimezone(CHINA).date())


def _accident(key: str, label: str, kind: Kind, rule: Rule) -> FieldSpec:
    return FieldSpec(key=key, label=label, group="acdinfo", kind=kind, rule=rule, required_for=Phase.ACCIDENT_COLLECTION)


def _person(group: Group) -> tuple[FieldSpec, ...]:
    n, need = group[-1], Phase.PARTY_VERIFICATION
    return (
        FieldSpec(key=f"xm{n}", label="姓名", group=group, kind="str", rule=_clockless(person_name), required_for=need, is_masked=True),
        FieldSpec(key=f"hpzl{n}", label="号牌种类", group=group, kind="str", rule=_clockless(plate_type), required_for=need),
        FieldSpec(
            key=f"hphm{n}", label="车牌号", group=group, kind="str", rule=_clockless(plate_number), required_for=need, is_masked=True
        ),
        FieldSpec(
            key=f"sfzmhm{n}",
            label="身份证号",
            group=group,
            kind="str",
            rule=_identity,
            required_for=need,
            is_sensitive=True,
            is_masked=True,
        ),
        FieldSpec(
            key=f"sjhm{n}",
            label="手机号",
            group=group,
            kind="str",
            rule=_clockless(mobile),
            required_for=need,
            is_sensitive=True,
            is_masked=True,
        ),
    )


FIELDS: dict[str, FieldSpec] = {
    spec.key: spec
    for spec in (
        _accident("ywrysw", "有无人员伤亡", "bool", _clockless(boolean)),
        _accident("ywfjdc", "有无非机动车", "bool", _clockless(boolean)),
        _accident("ywmtc", "有无摩托车", "bool", _clockless(boolean)),
        _accident("bjrjs", "报警人角色", "str", _clockless(reporter_role)),
        _accident("sgfssj", "事故发生时间", "datetime", accident_time),
        _accident("sfsgxc", "是否事故现场", "bool", _clockless(boolean)),
        _accident("jdcsl", "机动车数量", "int", _clockless(vehicle_count)),
        _accident("sgyy", "事故原因", "str", _clockless(cause)),
        *_person("acdhuman1"),
        *_person("acdhuman2"),
    )
}

GROUPS: dict[str, tuple[str, ...]] = {
    group: tuple(key for key, spec in FIELDS.items() if spec.group == group) for group in ("acdinfo", "acdhuman1", "acdhuman2")
}

INTERNAL_KEYS = frozenset(
    {
        "stage_code",
        "stage",
        "phase",
        "state_version",
        "version",
        "pending_question",
        "clarification_counts",
        "no_response_count",
        "photo_failures",
        "photo_step",
        "partials",
        "candidates",
        "confirmed",
        "invalid_turns",
        "last_photo_at_ms",
        "handoff_reason",
        "secondary_reasons",
    }
)  # names a caller may know but never write


_KEY_SHAPE = re.compile(r"[A-Za-z0-9_]{1,32}")


def unknown_field(key: str) -> UnknownField:
    """The refusal of a key. It is repeated only when it looks like a key: free text in its place may be anything."""
    shown = key if _KEY_SHAPE.fullmatch(key) else ""
    return UnknownField(f"字段不允许修改：{shown}" if key in INTERNAL_KEYS else f"不支持的字段：{shown}")


def accept(key: str, raw: object, now: datetime, form: Form | None = None) -> FieldValue:
    """One value from anywhere, normalised and checked; None clears. Accepting an accepted value changes nothing.
    `form`, where known, says which size of green plate is meant.

    Raises UnknownField for a key that is no field, FieldError for a value that breaks its rule.
    """
    spec = FIELDS.get(key)
    if spec is None:
        raise unknown_field(key)
    if raw is None:
        return None
    if key.startswith("hpzl") and is_green(raw) and isinstance(number := (form or {}).get(f"hphm{spec.party}"), str):
        said = type_of_pattern(number)
        if said in ENERGY_TYPES:
            return said
    return spec.rule(raw, spec.label, now)


def derive(key: str, value: FieldValue, form: Form | None = None) -> dict[str, FieldValue]:
    """What storing one accepted value stores, in registry order: a plate also says its type (`hphm1` → `hpzl1`, `hphm1`).
    An ordinary plate leaves a type that `form` already knows and that fits."""
    if not key.startswith("hphm") or not isinstance(value, str):
        return {key: value}
    type_key = f"hpzl{key[-1]}"
    known = (form or {}).get(type_key)
    type_code = type_of_pattern(value)
    if type_code is None:
        type_code = known if isinstance(known, str) and is_type_possible(value, known) else ORDINARY_TYPE
    return {type_key: type_code, key: value}


def in_order(form: Form | Iterable[tuple[str, FieldValue]]) -> dict[str, FieldValue]:
    """The same values in registry order; keys that are no field are left out."""
    values = dict(form)
    return {key: values[key] for key in FIELDS if key in values}


def require_consistent(form: Form, changed: Iterable[str]) -> None:
    """Raises FieldError when a changed field contradicts another: one number for both parties, or a type that the plate rules out."""
    for key in changed:
        spec, value = FIELDS[key], form.get(key)
        if value is None or not spec.party:
            continue
        if not key.startswith(("xm", "hpzl")) and value == form.get(f"{key[:-1]}{3 - spec.party}"):
            raise FieldError(f"{spec.label}与另一方相同，请核对")
        number, type_code = form.get(f"hphm{spec.party}"), form.get(f"hpzl{spec.party}")
        if key.startswith("hp") and isinstance(number, str) and isinstance(type_code, str) and not is_type_possible(number, type_code):
            raise FieldError("号牌种类与车牌号不一致")
