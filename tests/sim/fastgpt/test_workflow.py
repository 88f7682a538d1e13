"""The workflow file: what is wrong in it is told at the start."""

import pytest

from sim.fastgpt.code import FUNCTIONS
from sim.fastgpt.nodes import NODES
from sim.fastgpt.workflow import NODE_TYPES, BrokenWorkflow, load_workflow

pytestmark = pytest.mark.unit

HEAD = "{name: n, entry: a, model: m, history: 6, variables: [], nodes: [%s]}"


def test_every_code_node_names_a_function_that_exists():
    nodes = load_workflow().nodes.values()
    assert {node.inputs["function"] for node in nodes if node.type == "code"} == set(FUNCTIONS)


def test_every_updated_variable_is_declared():
    workflow = load_workflow()
    declared = {item.key for item in workflow.variables}
    updated = {key for node in workflow.nodes.values() if node.type == "variableUpdate" for key in node.inputs["updates"]}
    assert updated <= declared


def test_every_node_type_has_a_runner():
    assert set(NODES) == NODE_TYPES


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("{id: b, name: b, type: answerNode}", "entry"),
        ("{id: a, name: a, type: dance}", "unknown type"),
        ("{id: a, name: a, type: answerNode, next: {right: z}}", "leads to z"),
    ],
)
def test_a_broken_file_is_refused(nodes: str, words: str):
    with pytest.raises(BrokenWorkflow, match=words):
        load_workflow(HEAD % nodes)
