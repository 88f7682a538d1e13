"""The rollout plan: who is served by which backend. An immutable, numbered document; a change is a new version.

Shape of the document (shares in parts per million of *new* sessions):
{"default": "fastgpt", "override": null, "salt": "…", "traffic": {"langgraph_ppm": 0},
 "callers": {"<client id>": {"backend": "langgraph"} | {"langgraph_ppm": 250000}}, "existing_sessions": "stay" | "carry",
 "shadow": {"sample_ppm": 0, "callers": {"<client id>": {"sample_ppm": 0}}}}
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from domain.backend_name import BackendName

PPM = 1_000_000

INITIAL_PLAN: dict[str, Any] = {
    "default": "fastgpt",
    "override": None,
    "salt": "znjj-1",
    "traffic": {"langgraph_ppm": 0},
    "callers": {},
    "existing_sessions": "stay",
    "shadow": {"sample_ppm": 0, "callers": {}},
}


class InvalidPlan(Exception):
    """The document breaks the shape above; the message names the place."""


class PlanConflict(Exception):
    """Someone published in the meantime. `newest` is the version to start from."""

    def __init__(self, newest: int) -> None:
        super().__init__(f"the newest plan is version {newest}")
        self.newest = newest


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerRule:
    """A caller's own backend, or its own share; exactly one is set."""

    backend: BackendName | None = None
    langgraph_ppm: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    version: int
    default: BackendName
    salt: str
    langgraph_ppm: int
    override: BackendName | None = None
    callers: Mapping[str, CallerRule] = field(default_factory=dict[str, CallerRule])
    sample_ppm: int = 0
    caller_sample_ppm: Mapping[str, int] = field(default_factory=dict[str, int])
    carries: bool = False  # pinned sessions too follow a change of the plan, at their next turn
    document: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)
    author: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where one turn goes, and why."""

    backend: BackendName
    reason: str  # process, override, pin, carry, caller, share, default
    plan_version: int
    bucket: int  # 0…999 999, same for the session on every replica and in every version


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A session changes its server between two turns, or was to and could not. `lost` names what the target has no place for."""

    source: BackendName
    target: BackendName
    cause: str  # carry, override, process, pin, operator
    lost: tuple[str, ...] = ()
    is_refused: bool = False


def bucket_of(salt: str, tenant_id: str, session_id: str, *, purpose: str = "route") -> int:
    """A keyed hash of the session, 0…999 999. Parts are length-prefixed, so that no two identities share a message.
    `purpose` separates the draws: whether a session is sampled for shadow says nothing about where it is routed."""
    parts = "".join(f"{len(part.encode())}:{part}" for part in (purpose, tenant_id, session_id))
    digest = hashlib.blake2b(parts.encode(), key=salt.encode()[:64], digest_size=8).digest()
    return int.from_bytes(digest, "big") % PPM


def _ppm(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= PPM:
        raise InvalidPlan(f"{place} must be a whole number from 0 to {PPM}")
    return value


def _backend(value: Any, place: str) -> BackendName:
    try:
        return BackendName(value)
    except ValueError as error:
        raise InvalidPlan(f"{place} must be one of {', '.join(BackendName)}") from error


def _mapping(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidPlan(f"{place} must be an object")
    return cast("Mapping[str, Any]", value)


def _caller_rule(row: Any, place: str) -> CallerRule:
    rule = _mapping(row, place)
    if set(rule) == {"backend"}:
        return CallerRule(backend=_backend(rule["backend"], f"{place}.backend"))
    if set(rule) == {"langgraph_ppm"}:
        return CallerRule(langgraph_ppm=_ppm(rule["langgraph_ppm"], f"{place}.langgraph_ppm"))
    raise InvalidPlan(f"{place} must hold either backend or langgraph_ppm")


def plan_from_document(document: Mapping[str, Any], *, version: int, author: str = "", reason: str = "") -> Plan:
    """Raises InvalidPlan: an unknown key is an error, because a misspelt rule that is silently ignored moves real people."""
    unknown = set(document) - set(INITIAL_PLAN)
    if unknown:
        raise InvalidPlan(f"unknown: {', '.join(sorted(unknown))}")
    if document.get("existing_sessions", "stay") not in ("stay", "carry"):
        raise InvalidPlan("existing_sessions must be stay or carry")
    salt = document.get("salt")
    if not isinstance(salt, str) or not salt:
        raise InvalidPlan("salt must be a non-empty text")
    shadow = _mapping(document.get("shadow", {}), "shadow")
    override = document.get("override")
    return Plan(
        version=version,
        default=_backend(document.get("default"), "default"),
        salt=salt,
        langgraph_ppm=_ppm(_mapping(document.get("traffic", {}), "traffic").get("langgraph_ppm", 0), "traffic.langgraph_ppm"),
        override=_backend(override, "override") if override is not None else None,
        callers={name: _caller_rule(row, f"callers.{name}") for name, row in _mapping(document.get("callers", {}), "callers").items()},
        sample_ppm=_ppm(shadow.get("sample_ppm", 0), "shadow.sample_ppm"),
        caller_sample_ppm={
            name: _ppm(_mapping(row, f"shadow.callers.{name}").get("sample_ppm"), f"shadow.callers.{name}.sample_ppm")
            for name, row in _mapping(shadow.get("callers", {}), "shadow.callers").items()
        },
        carries=document.get("existing_sessions") == "carry",
        document=document,
        author=author,
        reason=reason,
    )


def canonical(document: Mapping[str, Any]) -> str:
    """The one text a document is hashed as: sorted keys, no spaces, characters as they are."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def chain_hash(previous: str, document: Mapping[str, Any], author: str, reason: str) -> str:
    """Links a version to the one before: an edited row breaks every hash after it."""
    text = "\n".join((previous, canonical(document), json.dumps([author, reason], ensure_ascii=False)))
    return hashlib.sha256(text.encode()).hexdigest()
