"""Walks the workflow from its entry, node by node. A failing node ends the walk in silence: its record is the only trace."""

import time

from sim.fastgpt.eras import Era
from sim.fastgpt.memory import new_id
from sim.fastgpt.nodes import NODES
from sim.fastgpt.run import Run
from sim.fastgpt.wire import seconds
from sim.fastgpt.workflow import Node

MAX_NODES = 100


async def walk(run: Run, era: Era) -> None:
    """Fills the run's answer, variables and records. Nodes after a client's leaving are not started."""
    node_id: str | None = run.workflow.entry
    for _ in range(MAX_NODES):
        if node_id is None or run.listener.is_gone:
            return
        node = run.workflow.nodes[node_id]
        node_id = await _step(node, run, era)


async def _step(node: Node, run: Run, era: Era) -> str | None:
    if node.shows_status:
        await run.listener.node_began(node.name)
    began = time.monotonic()
    result = await NODES[node.type](node, run)
    run.outputs[node.id] = dict(result.outputs)
    details = dict(result.details)
    if era.error_key and "errorText" in details:
        details = {"error": details["errorText"]} | details
    record = details | {
        "id": new_id(16),
        "nodeId": node.id,
        "moduleName": node.name,
        "moduleType": node.type,
        "runningTime": seconds(time.monotonic() - began),
    }
    run.records.append(record)
    await run.listener.node_ended(record)
    return node.next.get(result.handle) if result.handle is not None else None
