"""Does the speaker ask for a person? An explicit wish is obeyed at once, in every stage."""

import re

from domain.rules.wording import normal

_WISH = re.compile(
    r"转(?:接)?(?:个|到|给)?人工|找(?:个)?人工|人工(?:客服|服务|坐席)|要人工|接人工|真人|活人|找(?:个)?(?:客服|交警|警察)|转(?:接)?客服|接(?:个|一下|通)?客服|叫(?:个)?(?:交警|警察)|"
    r"我要报警|不想(?:跟|和)(?:你这)?(?:机器人?|电脑)(?:说|聊|讲)|换(?:个)?人(?:来|跟|和)?(?:说|聊|处理)?"
)
_BARE = re.compile(r"(?:我要|给我|快)?(?:人工|客服)[啊呀吧。.!！~]*")
_REFUSED = re.compile(r"(?:不用|不要|不需要|别|先别|不必|没要|不想)(?:给我)?(?:转|找|接|叫|要)")
_ASKED_ABOUT = re.compile(r"(?:会|能|可以|是不是|要不要|什么时候|怎么|需不需要)[^,，。]{0,6}(?:人工|客服|真人)[^,，。]{0,4}(?:吗|么|呢|\?)")


def asks_for_person(text: str) -> bool:
    """True for a wish; False when it is declined or when the sentence only asks how that works."""
    plain = re.sub(r"\s+", "", normal(text))
    if _BARE.fullmatch(plain):
        return True
    return any(
        _WISH.search(clause) and not _REFUSED.search(clause) and not _ASKED_ABOUT.search(clause)
        for clause in re.split(r"[,，。.!！;；]", plain)
    )
