"""The node kinds this emulator runs: one file a kind, one table of them."""

from collections.abc import Awaitable, Callable

from sim.fastgpt.nodes.answer import run_answer
from sim.fastgpt.nodes.chat import run_chat
from sim.fastgpt.nodes.code import run_code
from sim.fastgpt.nodes.extract import run_extract
from sim.fastgpt.nodes.if_else import run_if_else
from sim.fastgpt.nodes.start import run_start
from sim.fastgpt.nodes.variable_update import run_variable_update
from sim.fastgpt.run import NodeResult, Run
from sim.fastgpt.workflow import Node

NODES: dict[str, Callable[[Node, Run], Awaitable[NodeResult]]] = {
    "workflowStart": run_start,
    "ifElseNode": run_if_else,
    "code": run_code,
    "contentExtract": run_extract,
    "variableUpdate": run_variable_update,
    "chatNode": run_chat,
    "answerNode": run_answer,
}
