"""Which backend serves a turn. Pure: the same plan, session and caller give the same route on every replica.

First hit wins: this process's switch → the plan's override → the session's pin → the caller's rule → the share → the default. A pin holds
for the life of a session; the process switch and the override pass it by without changing it, so that lifting them restores it.
"""

from contract.ports import Pin
from domain.backend_name import BackendName
from domain.plan import Plan, Route, bucket_of
from domain.turn import Turn


def route(turn: Turn, pin: Pin | None, plan: Plan, *, process_backend: BackendName | None) -> Route:
    """`process_backend` is AGENT_BACKEND: set by an operator who has lost the control plane, None when the plan decides."""
    bucket = pin.bucket if pin else bucket_of(plan.salt, turn.tenant_id, turn.session_id)
    backend, reason = _decide(turn, pin, plan, bucket, process_backend)
    return Route(backend=backend, reason=reason, plan_version=plan.version, bucket=bucket)


def _decide(turn: Turn, pin: Pin | None, plan: Plan, bucket: int, process_backend: BackendName | None) -> tuple[BackendName, str]:
    if process_backend is not None:
        return process_backend, "process"
    if plan.override is not None:
        return plan.override, "override"
    if pin is not None:
        return pin.backend, "pin"
    rule = plan.callers.get(turn.client_id)
    if rule is not None and rule.backend is not None:
        return rule.backend, "caller"
    if rule is not None and rule.langgraph_ppm is not None:
        return (BackendName.LANGGRAPH if bucket < rule.langgraph_ppm else BackendName.LANGGRAPH.other), "caller"
    if bucket < plan.langgraph_ppm:
        return BackendName.LANGGRAPH, "share"
    return plan.default, "default"


def pin_for(turn: Turn, decided: Route, plan: Plan, *, shadow_enabled: bool) -> Pin:
    """What a new session keeps: its backend, and whether all of it is shadowed."""
    sample_ppm = plan.caller_sample_ppm.get(turn.client_id, plan.sample_ppm) if shadow_enabled else 0
    draw = bucket_of(plan.salt, turn.tenant_id, turn.session_id, purpose="sample")
    return Pin(
        backend=decided.backend,
        reason=decided.reason,
        plan_version=decided.plan_version,
        bucket=decided.bucket,
        is_sampled=draw < sample_ppm,
    )
