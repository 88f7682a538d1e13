"""chatNode: the model writes to the user. A failure leaves only `errorText` in the record; the flow then ends as if all were well.

The first pieces are held back while they could still be the opening of a thinking tag, so the client may see two pieces as one.
"""

from sim.fastgpt.model_client import ModelFailure
from sim.fastgpt.nodes.prompting import messages_for, preview
from sim.fastgpt.run import NodeResult, Run
from sim.fastgpt.workflow import Node

HOLD_CHARS = len("<think>")
EMPTY_ANSWER = "chat:LLM_model_response_empty"
PLANTED_FAILURE = "Connection error."


async def run_chat(node: Node, run: Run) -> NodeResult:
    if "node_error" in run.plants:
        return NodeResult(details={"errorText": PLANTED_FAILURE}, handle=None)
    query = str(run.value(node.inputs["content"]))
    messages = messages_for(run, run.filled(node.inputs["prompt"]), query)
    usage: dict[str, int] = {}
    try:
        written, text = await _speak(run, messages, usage)
    except ModelFailure as failure:
        return NodeResult(details={"errorText": str(failure)}, handle=None)
    if not text:
        return NodeResult(details={"errorText": EMPTY_ANSWER}, handle=None)
    details = {
        "totalPoints": 0,
        "model": run.workflow.model,
        "inputTokens": usage.get("prompt_tokens", 0),
        "outputTokens": usage.get("completion_tokens", 0),
        "query": query,
        "maxToken": node.inputs["max_tokens"],
        "reasoningText": "",
        "historyPreview": preview(messages, written),
        "contextTotalLen": len(messages) + 1,
        "finishReason": "stop",
    }
    return NodeResult(details=details, outputs={"answerText": written})


async def _speak(run: Run, messages: list[dict[str, str]], usage: dict[str, int]) -> tuple[str, str]:
    """What was written to the client, and what the model said; they differ when the client left. Raises ModelFailure."""
    held, written, said = "", "", ""
    async for piece in run.model.pieces(messages, model=run.workflow.model, noise_seed=run.noise_seed, usage=usage):
        if run.listener.is_gone:
            return written, said
        said += piece
        held += piece
        if written or len(held) >= HOLD_CHARS:
            written, held = await _write(run, written, held), ""
    if held:
        written = await _write(run, written, held)
    return written, said


async def _write(run: Run, written: str, piece: str) -> str:
    run.answer += piece
    await run.listener.text(piece)
    return written + piece
