"""workflowStart: the user's text enters the flow."""

from sim.fastgpt.run import NodeResult, Run
from sim.fastgpt.workflow import Node


async def run_start(node: Node, run: Run) -> NodeResult:
    return NodeResult(outputs={"userChatInput": run.question})
