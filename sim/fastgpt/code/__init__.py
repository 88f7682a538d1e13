"""The functions that the workflow's code nodes name: one registry. Each takes a CodeCall and returns the node's outputs."""

from collections.abc import Callable
from typing import Any

from sim.fastgpt.code.call import CodeCall
from sim.fastgpt.code.decide import decide_next
from sim.fastgpt.code.photos import advance_photo, count_photo_failures
from sim.fastgpt.code.screening import screen_text
from sim.fastgpt.code.silence import count_no_replies, greet, repeat_ending
from sim.fastgpt.code.tidy import tidy_input

FUNCTIONS: dict[str, Callable[[CodeCall], dict[str, Any]]] = {
    "tidy_input": tidy_input,
    "repeat_ending": repeat_ending,
    "advance_photo": advance_photo,
    "count_photo_failures": count_photo_failures,
    "count_no_replies": count_no_replies,
    "greet": greet,
    "screen_text": screen_text,
    "decide_next": decide_next,
}
