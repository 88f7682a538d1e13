"""Photo steps: they move one by one, on the client's events only."""

import re
from typing import Any

from sim.fastgpt.code.call import CodeCall
from sim.fastgpt.code.questions import repeat_prompt
from sim.fastgpt.code.tidy import count_inside

FAILURE_LIMIT = 3
_NEXT = {
    "2000": "2001", "2001": "2002", "2002": "2003", "2003": "2004", "2004": "2005", "2005": "3001",
    "2010": "2011", "2011": "2012", "2012": "2013", "2013": "2014", "2014": "2015", "2015": "2016", "2016": "3001",
}  # fmt: skip


def advance_photo(call: CodeCall) -> dict[str, Any]:
    stage = call.stage
    step = re.search(r"(2\d{3})$", str(call.data.get("inside") or ""))
    reset: dict[str, Any] = {"no_reply_count": 0, "photo_failures": {}}
    is_out_of_step = stage not in _NEXT or (step is not None and step.group(1) != stage)
    if is_out_of_step:
        kept = {"no_reply_count": 0, "photo_failures": call.table("photo_failures")}
        return kept | {"stage_code": stage, "pending": call.text_of("pending"), "say": repeat_prompt(call)}
    target = _NEXT[stage]
    if target == "3001":
        question = repeat_prompt(call, stage=target, pending="XM_1")
        return reset | {"stage_code": target, "pending": "XM_1", "say": call.texts["photos_done"] + question}
    return reset | {"stage_code": target, "pending": "PHOTO", "say": call.texts["photo_received"] + call.texts["photos"][target]}


def count_photo_failures(call: CodeCall) -> dict[str, Any]:
    """An explicit count is a claim about the total; a bare event adds one."""
    stage, counts = call.stage, call.table("photo_failures")
    if stage not in _NEXT:
        return {"stage_code": stage, "no_reply_count": 0, "photo_failures": counts, "say": repeat_prompt(call)}
    before = int(counts.get(stage) or 0)
    claimed = count_inside(str(call.data.get("inside") or ""), 0)
    failures = max(before, claimed) if claimed else before + 1
    if failures >= FAILURE_LIMIT:
        return {"stage_code": "0005", "no_reply_count": 0, "photo_failures": {stage: failures}, "say": call.texts["endings"]["0005"]}
    say = call.texts["photo_retry"] + call.texts["photos"][stage]
    return {"stage_code": stage, "no_reply_count": 0, "photo_failures": {stage: failures}, "say": say}
