"""code: one of the registered functions, where the real product runs a script in a sandbox."""

from sim.fastgpt.code import FUNCTIONS
from sim.fastgpt.code.call import CodeCall
from sim.fastgpt.run import NodeResult, Run
from sim.fastgpt.variables import UNDEFINED, storable
from sim.fastgpt.workflow import Node


async def run_code(node: Node, run: Run) -> NodeResult:
    data = {name: value for name, ref in node.inputs["data"].items() if (value := run.value(ref)) is not UNDEFINED}
    call = CodeCall(
        data=data,
        variables=storable(run.variables),
        words=run.workflow.words,
        texts=run.workflow.texts,
        now=run.now,
        plants=run.plants,
    )
    outputs = FUNCTIONS[node.inputs["function"]](call)
    return NodeResult(details={"customInputs": data, "customOutputs": outputs, "codeLog": ""}, outputs=outputs)
