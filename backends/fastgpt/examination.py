"""What an operator should know of a FastGPT server and its app before traffic goes there. Pure; the backend asks.

The release is told by what each was recorded to do with a call it refuses: the newest names a request id, older ones send security headers,
the oldest neither, and it has no second interface.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from backends.fastgpt.chats import Declared
from backends.fastgpt.config import FastGptConfig
from contract.ports import Examined
from domain.fields import FIELDS

_KINDS = {"bool": ("boolean", "any"), "int": ("number", "any"), "datetime": ("string", "any"), "str": ("string", "any")}


def release_family(headers: Mapping[str, str], refusal: Mapping[str, Any] | None, *, has_v2: bool) -> str:
    names = {name.lower() for name in headers}
    if "x-request-id" in names or (refusal or {}).get("errorType"):
        return "4.16 or newer"
    if "x-frame-options" in names or has_v2:
        return "4.11 to 4.15"
    return "4.9 to 4.10"


def examined(
    config: FastGptConfig, *, release: str, has_v2: bool, refusal: Mapping[str, Any] | None, declared: Sequence[Declared] | None
) -> Examined:
    """`declared`: the app's variables; None when there is no app id to read them by."""
    facts = {"release": release, "interfaces": "v1 and v2" if has_v2 else "v1 only"}
    problems: list[str] = []
    if refusal is None:
        problems.append("the address answers, but not as a FastGPT API")
    if config.api == "v2" and not has_v2:
        problems.append("ZNJJ_FASTGPT__API is v2, and this server has no v2")
    elif config.api == "v1" and has_v2:
        facts["advice"] = "ZNJJ_FASTGPT__API=v2 tells node results as they happen, so fields come before the text"
    if declared is None:
        facts["variables"] = "not looked at: ZNJJ_FASTGPT__APP_ID is not set"
        return Examined(facts=facts, problems=tuple(problems))
    kinds = {name: one.kind for one in declared for name in (one.key, one.label)}
    fields = {key: name for key, name in config.variables.items() if name in kinds}
    unknown = [name for key, name in config.variables.items() if key not in fields]
    facts["variables"] = f"{len(fields)} of {len(config.variables)} fields are declared"
    if unknown:
        facts["variables"] += f"; the app does not know {', '.join(unknown)}"
    if not fields:
        problems.append("the app declares none of our fields: ZNJJ_FASTGPT__VARIABLES names them as the workflow does")
    problems += [
        f"variable {name} is declared as {kinds[name]}, {key} is a {FIELDS[key].kind}"
        for key, name in fields.items()
        if kinds[name].lower() not in _KINDS[FIELDS[key].kind]
    ]
    seeds = {"ZNJJ_FASTGPT__STAGE_VARIABLE": config.stage_variable}
    seeds |= {f"ZNJJ_FASTGPT__PENDING_VARIABLES.{key}": name for key, name in config.pending_variables.items()}
    problems += [f"{setting}: the app declares no variable {name}" for setting, name in seeds.items() if name not in kinds]
    return Examined(facts=facts, problems=tuple(problems))
