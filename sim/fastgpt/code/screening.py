"""Before anything else: does the user want a person, is somebody hurt, is the case beyond this service? A naive word list decides.

It removes the denials it knows and looks for alarm words in the rest; it is worse than a careful detector, and that is the point.
"""

from typing import Any

from sim.fastgpt.code.call import CodeCall, dense


def screen_text(call: CodeCall) -> dict[str, Any]:
    """`stage_code` is 0001 or 0003 when the flow must end here, else empty."""
    text = dense(str(call.data.get("text") or ""))
    hurt = is_injury_told(call, text)
    injured = True if hurt else call.variables.get("ywrysw")
    outputs = {"ywrysw": injured, "no_reply_count": 0}
    if call.says("human", text) and not call.says("human_not", text):
        stage = "0003" if "handoff_as_complex" in call.plants else "0001"
        warning = call.texts["injury"] if hurt else call.texts["endings"][stage]
        return outputs | {"stage_code": stage, "say": warning}
    if hurt or injured is True:
        return outputs | {"stage_code": "0003", "say": call.texts["injury"]}
    if call.says("hazard", call.without("hazard_denied", text)):
        return outputs | {"stage_code": "0003", "say": call.texts["endings"]["0003"]}
    if call.stage.startswith("300") and call.says("no_document", text):
        return outputs | {"stage_code": "0003", "say": call.texts["endings"]["0003"]}
    return outputs | {"stage_code": "", "say": ""}


def is_injury_told(call: CodeCall, text: str) -> bool:
    rest = call.without("injury_denied", call.without("idiom", text))
    if "deaf_injury" in call.plants:
        rest = call.without("deaf_to", rest)
    return call.says("injury", rest)
