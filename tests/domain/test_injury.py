"""The injury detector: every row of its table, answers to its own question, and what must never clear anybody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.injury import Verdict, injury, is_clear_denial

pytestmark = pytest.mark.unit

ROWS = {
    Verdict.ABSENT: (
        "没有人受伤 · 人没事 · 双方都没事 · 无人伤亡 · "
        "没造成人员伤亡 · 车受伤了人没事 · 都没有受伤，就是车门刮伤了 · 没撞到人 · 我没受伤，对方也没受伤 · "
        "我和他都没受伤 · 冇得人受商 · 木有人受伤 · 人员伤亡：无 · 受伤的一个都没有 · 沒有人受傷"
    ),
    Verdict.UNCERTAIN: (
        "没受伤吧? · 没有受伤？ · 应该没有受伤 · 人都没事吧应该 · 我没事 · "
        "我没受伤 · 乘客没受伤 · 他们都没受伤 · 有没有人受伤我不知道 · 没有看到有人受伤 · "
        "不是没有人受伤 · 不需要救护车 · 医院门口，没人受伤 · 没死人 · 伤得不重 · "
        "小孩一直哭 · 我们没受伤 · 我们都没受伤 · 我车上的人没受伤 · nobody is hurt"
    ),
    Verdict.PRESENT: (
        "我头有点晕 · 腰痛 · 好像有人受伤了 · 他好像没气了 · "
        "我没受伤，但是对方说脖子疼 · 没人受伤，就是有点疼 · 没有大碍，去医院看看就行 · 赶紧叫救护车 · "
        "撞到人了 · 受了点伤 · 流了很多血 · 除了我没人受伤 · 对方头流血了 · he is bleeding"
    ),
    Verdict.NONE: "吓死我了 · 心疼我的车 · 保险杠碰伤 · 没事 · 今天天气不错 · 好了 · 他妈的烦死了",
}
ANSWERS = {
    Verdict.ABSENT: "没有 · 没 · 无 · 都没有 · 没有人 · 木有 · 冇 · 没得 · 没有啊。",
    Verdict.PRESENT: "有 · 有的 · 有人 · 有2个 · 有两个人",
    Verdict.UNCERTAIN: "没事 · 对 · 是 · 嗯 · 行 · OK · 👍 · 对方不知道有没有事 · 应该没受伤吧 · 我没事",
    Verdict.NONE: "今天天气不错 · 我倒车撞的",
}


def _rows(table: dict[Verdict, str]) -> list[tuple[str, Verdict]]:
    return [(text, verdict) for verdict, texts in table.items() for text in texts.split(" · ")]


@pytest.mark.parametrize("text, verdict", _rows(ROWS))
def test_utterance_says(text: str, verdict: Verdict):
    assert injury(text, is_asked=False) is verdict


@pytest.mark.parametrize("text, verdict", _rows(ANSWERS))
def test_answer_to_the_open_question_says(text: str, verdict: Verdict):
    assert injury(text, is_asked=True) is verdict


@pytest.mark.parametrize("text", ["没有人受伤", "人没事", "双方都没受伤", "没人受伤", "现场都没有受伤", "人员没有伤亡"])
def test_whole_denial_for_everybody_needs_no_second_key(text: str):
    assert is_clear_denial(text, is_asked=False)


@pytest.mark.parametrize(
    "text",
    [
        *(text for text, verdict in _rows(ROWS) if verdict is not Verdict.ABSENT),
        "没人受伤，他一直坐在地上不说话",
        "没受伤，走路一瘸一拐",
        "以为没人受伤结果他说腰不行",
        "没受伤就是吓了一跳",
        "没人受伤吗",
        "没事",
        "平安",
    ],
)
def test_anything_else_is_never_a_whole_denial(text: str):
    assert not is_clear_denial(text, is_asked=False)


@pytest.mark.parametrize("text", ["没有", "没", "都没有"])
def test_short_no_denies_only_while_it_is_asked(text: str):
    assert is_clear_denial(text, is_asked=True)
    assert not is_clear_denial(text, is_asked=False)


@given(st.text(max_size=40), st.booleans())
def test_every_text_has_a_verdict_and_only_an_absent_one_can_be_clear(text: str, is_asked: bool):
    verdict = injury(text, is_asked=is_asked)
    assert not is_clear_denial(text, is_asked=is_asked) or verdict is Verdict.ABSENT


@given(
    st.sampled_from(["有人受伤了", "头晕", "流血了", "叫救护车"]), st.sampled_from(["", "好了，", "我倒车，", "没人受伤，", "双方都没事，"])
)
def test_a_denial_in_the_same_breath_does_not_hide_an_injury(hurt: str, lead: str):
    assert injury(lead + hurt, is_asked=True) is Verdict.PRESENT
