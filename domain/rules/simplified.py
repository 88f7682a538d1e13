"""Traditional characters as simplified ones, character by character, so that one lexicon reads both.

The pairs come from the OpenCC tables; they are asked once, when this module is imported, because a detector runs on every message.
"""

from opencc import OpenCC

_CJK = "".join(map(chr, range(0x3400, 0x4DC0))) + "".join(map(chr, range(0x4E00, 0xA000)))
_CONVERTER = OpenCC("t2s")
_TO_SIMPLIFIED = str.maketrans(
    # OpenCC leaves this one alone because it is also a surname; after a verb it is the particle.
    {"著": "着"} | {char: simple for char in _CJK if (simple := _CONVERTER.convert(char)) != char and len(simple) == 1}
)


def simplified(text: str) -> str:
    """The same text with every traditional character that has one simplified form replaced. Idempotent; never changes the length."""
    return text.translate(_TO_SIMPLIFIED)
