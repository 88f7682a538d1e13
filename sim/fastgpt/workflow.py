"""The workflow file as values: nodes, edges, declared variables, and the words and texts its code nodes use.

Loading checks what a broken file would otherwise show only in the middle of a conversation: dangling edges and unknown node types.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, cast

import yaml

from sim.fastgpt.variables import Declared

VARIABLES_NODE = "VARIABLE_NODE_ID"
NODE_TYPES = frozenset({"workflowStart", "ifElseNode", "code", "contentExtract", "variableUpdate", "chatNode", "answerNode"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """`next` maps an outgoing handle (`right`, or a branch of an ifElseNode) to a node id; no handle means the flow ends there."""

    id: str
    name: str
    type: str
    inputs: Mapping[str, Any]
    next: Mapping[str, str]
    shows_status: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    name: str
    entry: str
    model: str
    history_rounds: int
    nodes: Mapping[str, Node]
    variables: tuple[Declared, ...]
    words: Mapping[str, str]
    texts: Mapping[str, Any]


class BrokenWorkflow(Exception):
    """The workflow file cannot be run: the message says where."""


def load_workflow(text: str | None = None) -> Workflow:
    """From the given YAML text, or from the file beside this module. Raises BrokenWorkflow."""
    source = text if text is not None else resources.files("sim.fastgpt").joinpath("workflow.yaml").read_text(encoding="utf-8")
    data = cast("dict[str, Any]", yaml.safe_load(source))
    workflow = Workflow(
        name=data["name"],
        entry=data["entry"],
        model=data["model"],
        history_rounds=data["history"],
        nodes={node["id"]: _node(node) for node in data["nodes"]},
        variables=tuple(
            Declared(key=item["key"], label=item.get("label", item["key"]), type=item["type"], default=item.get("default"))
            for item in data["variables"]
        ),
        words=data.get("words", {}),
        texts=data.get("texts", {}),
    )
    _check(workflow)
    return workflow


def _node(data: dict[str, Any]) -> Node:
    return Node(
        id=data["id"],
        name=data["name"],
        type=data["type"],
        inputs=data.get("inputs", {}),
        next=data.get("next", {}),
        shows_status=data.get("shows_status", False),
    )


def _check(workflow: Workflow) -> None:
    if workflow.entry not in workflow.nodes:
        raise BrokenWorkflow(f"entry {workflow.entry} is no node")
    for node in workflow.nodes.values():
        if node.type not in NODE_TYPES:
            raise BrokenWorkflow(f"node {node.id}: unknown type {node.type}")
        for handle, target in node.next.items():
            if target not in workflow.nodes:
                raise BrokenWorkflow(f"node {node.id}: handle {handle} leads to {target}, which does not exist")
