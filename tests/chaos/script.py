"""What the partner says in every cell: an accident with one car, up to its first photo."""

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["chat", "silence", "write", "same_write", "shadow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One turn: words, or a field written from outside."""

    text: str = ""
    write: tuple[str, Any] | None = None

    def body(self, session: str, *, in_chunks: bool = False) -> dict[str, Any]:
        if self.write:
            return {"sessionId": session, "key": self.write[0], "value": self.write[1]}
        return {"sessionId": session, "text": self.text, "needFormUpdate": True, "useTextChunk": in_chunks}


_TALK = (
    Line(text="【会话开始】"),
    Line(text="准备好了"),
    Line(text="没有人受伤，我自己倒车撞到柱子了"),
    Line(text="还在现场，十分钟前发生的"),
    Line(text="没有电动车也没有摩托车"),
    Line(text="好了"),
    Line(text="这个要怎么拍啊"),
    Line(text="好的，我去拍"),
)
_SILENCE = Line(text="【用户无回复】")
_WRITE = Line(write=("ywmtc", "false"))

FREE = ("【会话开始】", _SILENCE.text)  # what needs no model
TIMES = ("sgfssj",)  # fields that hold a time of day, different in every run


def lines_for(kind: Kind, armed: int) -> tuple[Line, ...]:
    """The conversation, whose turn `armed` is the one that something happens to. Two more lines follow it."""
    talk = list(_TALK[: armed + 3])
    match kind:
        case "chat" | "shadow":
            pass
        case "silence":
            talk.insert(armed, _SILENCE)
        case "write":
            talk.insert(armed, _WRITE)
        case "same_write":
            talk.insert(1, _WRITE)
            talk.insert(armed, _WRITE)
    return tuple(talk[: armed + 3])
