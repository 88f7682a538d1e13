"""Where standing about is deadly: on an expressway, in a tunnel or on a bridge, people are first sent behind the barrier."""

import re

from domain.rules.wording import normal

EXPRESSWAY = "expressway"
_NAMED = re.compile(
    r"高速(?:公路|路|上|路上|口)|(?:在|上|走|跑|下)(?:了|着)?[^,，。]{0,6}高速(?!行驶|开|冲|飞|驶|度|地)|快速路|高架(?:桥|路|上)|(?:在|"
    r"上)高架|隧道|大桥上|桥上|绕城|环城高速"
)
_DENIED = re.compile(r"(?:不是|不在|没有?上|没在|还没上|下了|出了)(?:在)?[^,，。]{0,3}(?:高速|快速路|高架|隧道|桥)")


def names_expressway(text: str) -> bool:
    """The speaker is on a road without a place to stop."""
    plain = normal(text).replace(" ", "")
    return _NAMED.search(plain) is not None and _DENIED.search(plain) is None
