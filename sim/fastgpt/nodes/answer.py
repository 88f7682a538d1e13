"""answerNode: a fixed reply. On the wire its text begins with a line feed; its record does not hold that line feed."""

from sim.fastgpt.run import NodeResult, Run
from sim.fastgpt.workflow import Node


async def run_answer(node: Node, run: Run) -> NodeResult:
    text = run.filled(node.inputs["text"])
    run.answer += f"\n{text}"
    await run.listener.fixed_text(f"\n{text}")
    return NodeResult(details={"textOutput": text})
