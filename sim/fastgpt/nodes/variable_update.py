"""variableUpdate: writes variables and tells the client the whole set. A source without a value erases its target; a target
that is not declared is passed over and shows as null."""

from sim.fastgpt.run import NodeResult, Run
from sim.fastgpt.variables import UNDEFINED, coerced, visible
from sim.fastgpt.workflow import Node


async def run_variable_update(node: Node, run: Run) -> NodeResult:
    types = {item.key: item.type for item in run.workflow.variables}
    results: list[object] = []
    for key, reference in node.inputs["updates"].items():
        if key not in types:
            results.append(None)
            continue
        value = coerced(run.value(reference), types[key])
        run.variables[key] = value
        results.append(None if value is UNDEFINED else value)
    await run.listener.variables(visible(run.variables))
    return NodeResult(details={"updateVarResult": results})
