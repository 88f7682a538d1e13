"""The accident dialogue as a graph. Nodes do, edges only read what a node has stored: every router is pure and total
(and a coroutine, because LangGraph hands a plain function to a thread).

normalize_input → hydrate_state → global_handoff_gate → safety_precheck → route_phase → one branch → … → compose_response.
A rejected proposal goes back to its phase node once, with a corrective note; nothing is said before a proposal stands.
"""

from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from backends.langgraph.accident.nodes.accident_collection import accident_collection
from backends.langgraph.accident.nodes.apply_external_update import apply_external_update
from backends.langgraph.accident.nodes.apply_form_patch import apply_form_patch
from backends.langgraph.accident.nodes.complete import complete
from backends.langgraph.accident.nodes.compose_response import compose_response
from backends.langgraph.accident.nodes.global_handoff_gate import global_handoff_gate
from backends.langgraph.accident.nodes.handoff import handoff
from backends.langgraph.accident.nodes.hydrate_state import hydrate_state
from backends.langgraph.accident.nodes.normalize_input import normalize_input
from backends.langgraph.accident.nodes.party_verification import party_verification
from backends.langgraph.accident.nodes.route_phase import route_phase
from backends.langgraph.accident.nodes.safety_precheck import safety_precheck
from backends.langgraph.accident.nodes.single_vehicle_photo import single_vehicle_photo
from backends.langgraph.accident.nodes.two_vehicle_photo import two_vehicle_photo
from backends.langgraph.accident.nodes.validate_fields import validate_fields
from backends.langgraph.accident.run import TurnRun
from backends.langgraph.accident.state import AccidentState

GRAPH_VERSION = "accident-1"

AccidentGraph = CompiledStateGraph[AccidentState, TurnRun, AccidentState, AccidentState]

NODES = (
    normalize_input,
    hydrate_state,
    global_handoff_gate,
    safety_precheck,
    route_phase,
    accident_collection,
    single_vehicle_photo,
    two_vehicle_photo,
    party_verification,
    apply_external_update,
    handoff,
    complete,
    validate_fields,
    apply_form_patch,
    compose_response,
)
_TALKS = ("accident_collection", "single_vehicle_photo", "two_vehicle_photo", "party_verification")
_BRANCHES = (*_TALKS, "apply_external_update", "handoff", "complete")


async def branch(state: AccidentState) -> str:
    """The branch route_phase chose; a state without one goes to a person."""
    chosen = state.get("route", "")
    return chosen if chosen in _BRANCHES else "handoff"


async def after_photo(state: AccidentState) -> str:
    """A turn that asked the model is validated; one that code settled is done."""
    return "validate_fields" if state.get("attempts", 0) else "apply_form_patch"


async def after_validation(state: AccidentState) -> str:
    """Back to the phase for the second and last try, or on. validate_fields takes the rejection away when no try is left."""
    if state.get("rejection") is None:
        return "apply_form_patch"
    return state.get("route", "") if state.get("route") in _TALKS else "apply_form_patch"


def build_graph(saver: BaseCheckpointSaver[Any] | None) -> AccidentGraph:
    """`saver` None: nothing is remembered between turns, which no decision needs."""
    graph = StateGraph(AccidentState, context_schema=TurnRun)
    for node in NODES:
        graph.add_node(node.__name__, cast(Any, node))
    graph.add_edge(START, "normalize_input")
    graph.add_edge("normalize_input", "hydrate_state")
    graph.add_edge("hydrate_state", "global_handoff_gate")
    graph.add_edge("global_handoff_gate", "safety_precheck")
    graph.add_edge("safety_precheck", "route_phase")
    graph.add_conditional_edges("route_phase", branch, list(_BRANCHES))
    graph.add_edge("accident_collection", "validate_fields")
    graph.add_edge("party_verification", "validate_fields")
    graph.add_conditional_edges("single_vehicle_photo", after_photo, ["validate_fields", "apply_form_patch"])
    graph.add_conditional_edges("two_vehicle_photo", after_photo, ["validate_fields", "apply_form_patch"])
    graph.add_edge("apply_external_update", "apply_form_patch")
    graph.add_conditional_edges("validate_fields", after_validation, [*_TALKS, "apply_form_patch"])
    graph.add_edge("apply_form_patch", "compose_response")
    graph.add_edge("handoff", "compose_response")
    graph.add_edge("complete", "compose_response")
    graph.add_edge("compose_response", END)
    return graph.compile(checkpointer=saver)
