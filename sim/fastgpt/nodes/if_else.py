"""ifElseNode: the first branch whose expression is found in the value; branches are IF, ELSE IF 1, ELSE IF 2, …, ELSE."""

import re

from sim.fastgpt.run import NodeResult, Run
from sim.fastgpt.variables import UNDEFINED
from sim.fastgpt.workflow import Node


async def run_if_else(node: Node, run: Run) -> NodeResult:
    handle = "ELSE"
    for index, branch in enumerate(node.inputs["branches"]):
        value = run.value(branch["value"])
        if value is not UNDEFINED and value is not None and re.search(branch["matches"], str(value)):
            handle = "IF" if index == 0 else f"ELSE IF {index}"
            break
    return NodeResult(details={"totalPoints": 0, "ifElseResult": handle}, outputs={"ifElseResult": handle}, handle=handle)
