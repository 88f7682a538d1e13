"""Which backend serves a turn. Pure: the same plan, session and caller give the same route on every replica.

First hit wins: this process's switch → the plan's override → the session's pin → the caller's rule → the share → the default. A pin holds
for the life of a session; the process switch and the override pass it by without changing it, so that lifting them restores it. A plan
that carries its sessions along asks a pin of an older version again, as if the session were new: that is a wish, which a hand-over
(rollout/handover.py) may have to refuse.
"""

from contract.ports import Pin
from domain.backend_name import BackendName
from domain.plan import Plan, Route, bucket_of
from domain.turn import Turn


def route(turn: Turn, pin: Pin | None, plan: Plan, *, process_backend: BackendName | None) -> Route:
    """`process_backend` is AGENT_BACKEND: set by an operator who has lost the control plane, None when the plan decides."""
    is_asked_again = pin is not None and plan.carries and pin.plan_version < plan.version
    bucket = pin.bucket if pin and not is_asked_again else bucket_of(plan.salt, turn.tenant_id, turn.session_id)
    if process_backend is not None:
        backend, reason = process_backend, "process"
    elif plan.override is not None:
        backend, reason = plan.override, "override"
    elif pin is None:
        backend, reason = _as_new(turn, plan, bucket)
    elif is_asked_again and (wanted := _as_new(turn, plan, bucket)[0]) is not pin.backend:
        backend, reason = wanted, "carry"
    else:
        backend, reason = pin.backend, "pin"
    return Route(backend=backend, reason=reason, plan_version=plan.version, bucket=bucket)


def _as_new(turn: Turn, plan: Plan, bucket: int) -> tuple[BackendName, str]:
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
