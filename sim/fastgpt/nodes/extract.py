"""contentExtract: the model is asked for one JSON object.

Unknown keys and empty texts are dropped, required keys take their default; an answer that is no JSON counts as an empty object, not as
an error.
"""

import json
import re
from typing import Any, cast

from sim.fastgpt.model_client import ModelFailure
from sim.fastgpt.nodes.prompting import messages_for, without_unset
from sim.fastgpt.run import NodeResult, Run
from sim.fastgpt.workflow import Node


async def run_extract(node: Node, run: Run) -> NodeResult:
    query = str(run.value(node.inputs["content"]))
    if not query:
        return NodeResult(details={"errorText": "Input is empty"}, handle=None)
    keys = cast("dict[str, str]", node.inputs["keys"])
    prompt = "\n".join([run.filled(node.inputs["prompt"]), *(f"- {key}: {meaning}" for key, meaning in keys.items())])
    messages = messages_for(run, prompt, query)
    try:
        answer, usage = await run.model.whole(messages, model=run.workflow.model)
    except ModelFailure as failure:
        return NodeResult(details={"errorText": str(failure)}, handle=None)
    fields = _fields(answer, keys)
    if "deaf_injury" in run.plants and fields.get("ywrysw") is True:
        del fields["ywrysw"]
    defaults = cast("dict[str, Any]", node.inputs.get("defaults", {}))
    fields |= {key: value for key, value in defaults.items() if key not in fields}
    details = {
        "totalPoints": 0,
        "model": run.workflow.model,
        "query": query,
        "inputTokens": usage.get("prompt_tokens", 0),
        "outputTokens": usage.get("completion_tokens", 0),
        "extractDescription": node.inputs["description"],
        "extractResult": fields,
        "contextTotalLen": len(messages),
    }
    return NodeResult(details=details, outputs={"fields": fields} | fields)


def _fields(answer: str, keys: dict[str, str]) -> dict[str, Any]:
    match = re.search(r"\{.*\}", answer, re.DOTALL)
    try:
        found = json.loads(match.group()) if match else {}
    except ValueError:
        return {}
    return without_unset({key: found[key] for key in keys if key in found})
