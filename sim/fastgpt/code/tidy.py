"""Width and brackets of the input: `inside` is the text between whole-message brackets, empty for an ordinary message.
`pending` is the question that is open now, whoever wrote the fields since the last turn."""

import re
import unicodedata
from typing import Any

from sim.fastgpt.code.call import CodeCall
from sim.fastgpt.code.questions import pending_at

_BRACKETED = re.compile(r"[【\[〔〖「『(<《](?P<inside>.*)[】\]〕〗」』)>》][。.!！~\s]*", re.DOTALL)


def tidy_input(call: CodeCall) -> dict[str, Any]:
    folded = unicodedata.normalize("NFKC", str(call.data.get("text") or ""))
    text = "".join(char for char in folded if unicodedata.category(char) != "Cf").strip()
    match = _BRACKETED.fullmatch(text)
    inside = re.sub(r"\s+", "", match.group("inside")) if match else ""
    pending = pending_at(call.stage, call.known(), call.text_of("pending"))
    return {"text": match.group("inside").strip() if match else text, "inside": inside, "pending": pending}


def count_inside(inside: str, default: int) -> int:
    """The number of times an event string claims, in figures or in Chinese."""
    match = re.search(r"(\d{1,2}|[一二两三四五六七八九十])次", inside)
    if match is None:
        return default
    word = match.group(1)
    return int(word) if word.isdigit() else {"两": 2, "十": 10}.get(word, "零一二三四五六七八九".find(word))
