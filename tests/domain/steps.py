"""How many steps a backtracking matcher takes for a pattern on a text: counted, not timed, so that a test can tell linear cost from more.

Walks the parsed pattern as Python's own engine does: greedy, lazy and possessive repeats, groups, look-around. It knows what our patterns
use and raises NotImplementedError for the rest.
"""

import random
import re
from collections.abc import Callable, Iterator
from re import _constants as op  # type: ignore[attr-defined]  # pyright: ignore
from re import _parser as parser
from typing import Any

Node = tuple[Any, Any]
_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_WORD": lambda char: char.isalnum() or char == "_",
    "CATEGORY_NOT_SPACE": lambda char: not char.isspace(),
}


class Steps:
    """Counts while it searches."""

    def __init__(self, pattern: re.Pattern[str], text: str, limit: int) -> None:
        self.count = 0
        self._text = text
        self._limit = limit
        self._dot_all = bool(pattern.flags & re.DOTALL)
        self._nodes: list[Node] = list(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))

    def match(self) -> int:
        """Steps of a whole match from the start; stops at the limit."""
        for end in self._sequence(self._nodes, 0, 0):
            if end == len(self._text) or self.count > self._limit:
                break
        return self.count

    def search(self) -> int:
        """Steps until the first match or the end of the text; stops at the limit."""
        for start in range(len(self._text) + 1):
            if next(self._sequence(self._nodes, 0, start), None) is not None or self.count > self._limit:
                break
        return self.count

    def spans(self) -> Iterator[tuple[int, int]]:
        """All matches, in the engine's order of trying."""
        for start in range(len(self._text) + 1):
            for end in self._sequence(self._nodes, 0, start):
                yield start, end

    def _sequence(self, nodes: list[Node], index: int, at: int) -> Iterator[int]:
        if index == len(nodes):
            yield at
            return
        for end in self._node(nodes[index], at):
            yield from self._sequence(nodes, index + 1, end)
            if self.count > self._limit:
                return

    def _node(self, node: Node, at: int) -> Iterator[int]:
        self.count += 1
        code, value = node
        text = self._text
        if code in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            if at < len(text) and self._takes(code, value, text[at]):
                yield at + 1
        elif code is op.BRANCH:
            for branch in value[1]:
                yield from self._sequence(list(branch), 0, at)
        elif code is op.SUBPATTERN:
            yield from self._sequence(list(value[3]), 0, at)
        elif code is op.ATOMIC_GROUP:
            yield from self._first(self._sequence(list(value), 0, at))
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            yield from self._repeat(code, value, at)
        elif code in (op.ASSERT, op.ASSERT_NOT):
            is_met = self._looks(value[0], list(value[1]), at)
            if is_met is (code is op.ASSERT):
                yield at
        elif code is op.AT:
            if self._is_at(value, at):
                yield at
        else:
            raise NotImplementedError(str(code))

    def _repeat(self, code: Any, value: Any, at: int) -> Iterator[int]:
        low, high, body = value
        nodes = list(body)
        most = len(self._text) + 1 if high is op.MAXREPEAT else int(high)
        if code is op.POSSESSIVE_REPEAT:
            yield from self._first(self._greedy(nodes, low, most, at))
        elif code is op.MAX_REPEAT:
            yield from self._greedy(nodes, low, most, at)
        else:
            yield from self._lazy(nodes, low, most, at)

    def _greedy(self, nodes: list[Node], low: int, most: int, at: int) -> Iterator[int]:
        if most > 0:
            for end in self._sequence(nodes, 0, at):
                if end > at:
                    yield from self._greedy(nodes, low - 1, most - 1, end)
                if self.count > self._limit:
                    return
        if low <= 0:
            yield at

    def _lazy(self, nodes: list[Node], low: int, most: int, at: int) -> Iterator[int]:
        if low <= 0:
            yield at
        if most > 0:
            for end in self._sequence(nodes, 0, at):
                if end > at:
                    yield from self._lazy(nodes, low - 1, most - 1, end)

    @staticmethod
    def _first(ends: Iterator[int]) -> Iterator[int]:
        if (end := next(ends, None)) is not None:
            yield end

    def _looks(self, direction: int, nodes: list[Node], at: int) -> bool:
        if direction == 1:
            return next(self._sequence(nodes, 0, at), None) is not None
        width = parser.SubPattern(parser.State(), nodes).getwidth()[0]
        start = at - width
        return start >= 0 and any(end == at for end in self._sequence(nodes, 0, start))

    def _is_at(self, where: Any, at: int) -> bool:
        text = self._text
        if where in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            return at == 0
        if where in (op.AT_END, op.AT_END_STRING):
            return at == len(text) or (at == len(text) - 1 and text[at] == "\n")
        if where is op.AT_BOUNDARY:
            sides = [0 <= place < len(text) and _CATEGORIES["CATEGORY_WORD"](text[place]) for place in (at - 1, at)]
            return sides[0] is not sides[1]
        raise NotImplementedError(str(where))

    def _takes(self, code: Any, value: Any, char: str) -> bool:
        if code is op.ANY:
            return self._dot_all or char != "\n"
        if code is op.LITERAL:
            return ord(char) == value
        if code is op.NOT_LITERAL:
            return ord(char) != value
        return _is_in(value, char)


def _is_in(items: list[Node], char: str) -> bool:
    is_negated = bool(items) and items[0][0] is op.NEGATE
    found = False
    for code, value in items:
        if code is op.LITERAL:
            found = found or ord(char) == value
        elif code is op.RANGE:
            found = found or value[0] <= ord(char) <= value[1]
        elif code is op.CATEGORY:
            found = found or _CATEGORIES[str(value)](char)
    return found is not is_negated


def hard_texts(pattern: re.Pattern[str], length: int) -> list[str]:
    """Texts that a pattern like this finds hard: what it wants, over and over, never quite."""
    wanted = _sample(list(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))) or "a"
    drawn = random.Random(5)
    alphabet = sorted(set(wanted))
    units = [wanted, wanted[:-1] or wanted, wanted[: max(1, len(wanted) // 2)], wanted[-1], wanted[0], *alphabet[:3]]
    mixed = "".join(drawn.choice(alphabet) for _ in range(length))
    return [*((unit * (length // len(unit) + 1))[:length] + "\x00" for unit in units), mixed]


def _sample(nodes: list[Node]) -> str:
    """Characters that lead deep into the pattern: every repeat twice, every branch's first way, nothing that is only looked at."""
    text = ""
    for code, value in nodes:
        if code is op.LITERAL:
            text += chr(value)
        elif code is op.IN:
            text += _one_of(value)
        elif code in (op.ANY, op.NOT_LITERAL):
            text += "车"
        elif code is op.BRANCH:
            text += _sample(list(value[1][0]))
        elif code is op.SUBPATTERN:
            text += _sample(list(value[3]))
        elif code is op.ATOMIC_GROUP:
            text += _sample(list(value))
        elif code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            text += _sample(list(value[2])) * max(int(value[0]), 2 if value[1] is op.MAXREPEAT or value[1] > 1 else 1)
    return text


def _one_of(items: list[Node]) -> str:
    if items[0][0] is op.NEGATE:
        return "车"
    for code, value in items:
        if code in (op.LITERAL, op.RANGE):
            return chr(value if code is op.LITERAL else value[0])
        if code is op.CATEGORY and str(value) == "CATEGORY_SPACE":
            return " "
    return "1"
