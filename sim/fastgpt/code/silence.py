"""Silence, the opening, and what is said once a conversation has ended."""

from typing import Any

from sim.fastgpt.code.call import CodeCall
from sim.fastgpt.code.questions import repeat_prompt
from sim.fastgpt.code.tidy import count_inside

NO_REPLY_LIMIT = 3


def count_no_replies(call: CodeCall) -> dict[str, Any]:
    count = max(call.count("no_reply_count") + 1, count_inside(str(call.data.get("inside") or ""), 0))
    if count >= NO_REPLY_LIMIT:
        return {"stage_code": "0004", "no_reply_count": count, "say": call.texts["endings"]["0004"]}
    return {"stage_code": call.stage, "no_reply_count": count, "say": call.texts["no_reply"] + repeat_prompt(call)}


def greet(call: CodeCall) -> dict[str, Any]:
    """A repeated opening changes nothing."""
    if call.stage != "1001":
        return {"stage_code": call.stage, "pending": call.text_of("pending"), "say": repeat_prompt(call)}
    return {"stage_code": "1001", "pending": "READY", "say": call.texts["greeting"]}


def repeat_ending(call: CodeCall) -> dict[str, Any]:
    return {"say": call.texts["done_again"] if call.stage == "0000" else call.texts["ended_again"]}
