"""Short answers: yes, no, ready, not ready. A lexicon has a verdict or none; a model's `confirm` is asked only when there is none."""

import re

from domain.rules.wording import normal

_TAIL = r"[啊呀哦的了呢吧嘛哈啦咯]*"
_YES_WORD = (
    r"(?:对|对的|是|是的|没错|没问题|都对|全对|正确|嗯+|好|好的|行|可以|ok|okay|yes|👍|确认|对对+|没毛病|是这样|就是|都没问题|没有问题|"
    r"信息无误|无误)"
)
_YES = re.compile(rf"(?:嗯+|啊|哦|噢)?[,，]?{_YES_WORD}{_TAIL}(?:[,，。.!！]\s*.*)?", re.DOTALL)
_NO = re.compile(r"(?:嗯|啊|哦)?[,，]?(?:不对|不是|错了|不正确|有误|不行|没有(?!问题)|不|no|说错了|搞错了|写错了|都不对)(?:.*)", re.DOTALL)
_NO_ANYWHERE = re.compile(r"不对|不是|错了|有误|不正确|改一下|改成|应该是")
_CORRECTION = re.compile(r"不对|不是|错了|说错|搞错|写错|改成|改为|应该是|更正")
_READY = re.compile(
    r"(?:嗯+|好|那)?[,，]?(?:已经?|都|我)?"
    r"(?:准备好|弄好|搞好|放好|好|可以|行|ok|okay|👍|开始|安全|到位|拍吧|来吧|开始吧|可以开始|能拍|收到|知道)"
    rf"{_TAIL}(?:[,，。.!！~]+.*)?",
    re.DOTALL,
)
_NOT_READY = re.compile(r"等|没好|没准备|还没|没弄|没放|先|不行|不能|不可以|不好|慢点|稍后|一会")


def yes_or_no(text: str) -> bool | None:
    """The verdict of an answer to a question whose "yes" means the shown value is right."""
    plain = normal(text).lower()
    if _NO.fullmatch(plain) or _NO_ANYWHERE.search(plain):
        return False
    return True if _YES.fullmatch(plain) else None


def is_ready(text: str) -> bool | None:
    """True: go on; False: wait; None: neither was said."""
    plain = normal(text).lower()
    if _NOT_READY.search(plain):
        return False
    return True if _READY.fullmatch(plain) else None


def is_correction(text: str) -> bool:
    """The speaker takes something back, so that a new value replaces the stored one at once."""
    return _CORRECTION.search(normal(text)) is not None
