"""Where standing about is deadly: on an expressway, in a tunnel or on a bridge, people are first sent behind the barrier."""

import re

from domain.rules.wording import normal

EXPRESSWAY = "expressway"
_NAMED = re.compile(
    r"高速(?!行驶|开|冲|飞|驶|度|地|的时候|转|撞)|gaosu|应急车道|过江通道|过海通道|G[0-9]{1,4}(?=出|[^0-9]{0,3}收费|高速|[东西南北往])|"
    r"桩号|(?:在|上|走|跑|下)(?:了|着)?[^,，。]{0,6}高速(?!行驶|开|冲|飞|驶|度|地)|快速路|高架(?:桥|路|上)(?!底|下|底下)|(?:在|"
    r"上)高架|隧道(?!路)|大桥上|桥上|绕城|环城高速"
)
_DENIED = re.compile(r"(?:不是|不在|没有?上|没在|还没上|下了|出了)(?:在)?[^,，。]{0,3}(?:高速|快速路|高架|隧道|桥)")


def names_expressway(text: str) -> bool:
    """The speaker is on a road without a place to stop."""
    plain = normal(text).replace(" ", "")
    return _NAMED.search(plain) is not None and _DENIED.search(plain) is None
