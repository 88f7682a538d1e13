"""The injury detector: every row of its table, answers to its own question, and what must never clear anybody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.injury import Verdict, heard, injury
from domain.reassurance import is_whole_denial

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

# What once slipped through, by the way it slipped. A question is enough for some of them, silence or an all-clear for none.
HURT = {
    "a person, not the car, was hurt": (
        "行人被车撞伤了 · 老人被车撞伤了 · 他被后车撞伤 · 我骑车受伤了 · 坐车受伤了 · 手被车门刮伤了 · 车门碰伤了手 · 轮胎碰伤了脚 · "
        "没人受伤，有个老人被车撞伤了 · 后车撞伤我了 · 前车门把他腿夹伤了 · 车灯玻璃划伤了脸 · 骑电动车受伤了 · 我被车撞伤了 · "
        "他的车门刮伤了我的手 · 车子刮伤一个小孩 · 没人受伤，车头把人撞伤了 · 车受伤了人也受伤了 · 就是轮胎压伤了脚 · 对方车上受伤了 · "
        "下车受伤了 · 没人受伤，就是车门夹伤了手指 · 都没有受伤，就是保险杠碰伤了腿 · 双方都没事，后来老人被车刮伤"
    ),
    "the negation after the word denies something else": (
        "受伤的都没意识了 · 有人受伤都没人管 · 受伤的一个都没救出来 · 有两个受伤的都没醒 · 伤员都没动 · 骨折的都没处理 · 晕倒也没人扶 · "
        "我头疼都没好 · 伤者都没反应 · 流血都没止住 · 受伤的都没有人扶 · 两个受伤的都没有 · 伤者一个都没醒 · 受伤也没有办法 · "
        "我脖子疼没去医院 · 受伤的有两个都没动弹 · 受伤情况没人知道"
    ),
    "a death is no idiom": (
        "撞死路边一个人 · 压死路过的老人 · 人撞死心里很慌 · 把人撞死机动车跑了 · 碾死路人 · 撞死机动车驾驶员 · 车把人撞死路上了 · "
        "老人撞伤心脏病犯了 · 人快死了 · 压死胡同里的老人 · 撞死角落里的小孩 · 对方被撞倒了 · 把一个老太太给撞了 · 死的死伤的伤 · 一死一伤"
    ),
    "plain words": (
        "没有呼吸 · 没有心跳 · 没脉搏 · 没有意识 · 失去意识 · 昏过去了 · 叫不醒 · 喘不上气 · 喘不过气 · 呼吸困难 · 腿断了 · 胳膊断了 · "
        "骨头露出来 · "
        "头破了 · 抽搐 · 撞到一个小孩 · 把人撞了 · 有个行人被我撞了 · 撞倒一个人 · 人被压住了 · 被撞飞 · 送医 · 住院 · 抢救 · ICU · "
        "有生命危险 · "
        "出人命 · 脉搏没了 · 呼吸没有了 · 人已经没了 · 神志不清 · 口吐白沫 · 满脸是血 · 脑震荡 · 夹着腿了 · 轧了脚 · 撞到头了 · "
        "把老头带倒了 · "
        "刮倒一个阿姨 · 撞了一个骑车的 · 救护车来了 · 进医院了 · 眼睛看不见了"
    ),
}
DOUBTFUL = {
    "pity or pain, life or death": "他心疼得厉害 · 不知死活 · 死活不知 · 他死活没动 · 头疼的是乘客 · 撞得半死不活 · 伤心脏了 · 差点撞死人",
    "the car fared badly": "车翻了 · 掉河里 · 我车没事人有事 · 车掉沟里了 · 车滚下山坡 · 车撞伤了 · 我车没问题人有问题 · 车没事人不太好",
    "the denial is itself denied": (
        "没人没受伤 · 怎么会没人受伤 · 难道没人受伤 · 没有一个没受伤 · 没有人不受伤 · 哪有没受伤的 · 谁说没有人受伤 · 不敢说没人受伤 · "
        "不都没受伤 · 不见得没人受伤 · 未必没人受伤 · 难保没人受伤 · 无人幸免"
    ),
    "the denial is taken back": (
        "刚才说没人受伤是错的 · 没人受伤是假的 · 没人受伤，说错了 · 没人受伤是他乱说的 · 以为没人受伤 · 没人受伤这话不对 · 当时没人受伤"
    ),
    "the denial leaves somebody out": (
        "没受伤的有三个 · 没有受伤的，除了一个老人 · 没受伤的是我 · 没受伤那个打的电话 · 没人受伤，除了我 · 没人受伤，唯独乘客 · "
        "除我没人受伤 · "
        "大部分没受伤 · 几乎没人受伤 · 其他人没受伤 · 没人受伤比他重 · 没有伤员了，都送走了 · 我没伤着 · 乘客都没受伤 · "
        "我和老婆都没受伤 · 孩子都没事"
    ),
    "the denial is of one complaint, or of the car": (
        "没流血 · 没有骨折 · 没有生命危险 · 没有住院 · 没有昏迷 · 车没受伤 · 两车都没受伤 · 车毫发无损"
    ),
    "the denial is a wish": "但愿没人受伤 · 希望没人受伤 · 要没人受伤就好了",
    "something follows the denial": (
        "人没事老婆摔了 · 没人受伤老人倒地上了 · 没有人受伤都死了 · 没人受伤，老人有点懵 · 没人受伤，他不太对劲"
    ),
}
PLAIN_ALL_CLEARS = (
    "没有人受伤 · 人没事 · 都没有受伤，就是车门刮伤了 · 双方都没事 · 无人伤亡 · 没造成人员伤亡 · 我没受伤，对方也没受伤 · 没撞到人 · "
    "没有人员受伤 · "
    "没有任何人受伤 · 大家都没受伤 · 双方都没受伤 · 现场没有人受伤 · 两边都没有人受伤 · 没人受伤，就是刮了一下 · 人都没事，车有点刮 · "
    "没人受伤，前保险杠坏了 · 没有伤亡 · 人员平安 · 大家都没事 · 所有人都没事 · 我和对方都没受伤 · 没人受伤，只有车损 · "
    "人没事，车门刮伤了 · "
    "放心，没人受伤 · 车受伤了人没事 · 两个人都没事 · 没有受伤的人 · 没有受伤的 · 我们双方都没有受伤 · 追尾了，没人受伤 · "
    "我没事，他也没事 · "
    "人没受伤，车漆刮了 · 没发生人员伤亡 · 没有伤员 · 没撞人 · 没伤到人 · 没伤着人 · 毫发无损 · 人车平安 · 没人受伤，对方车的右边刮伤了 · "
    "没人受伤，是我的错 · 没人受伤，我的车被撞伤了 · 现场没有伤者，车能动"
)
CARS_ALONE = (
    "车门被刮伤了 · 车被撞伤了 · 右后车门刮伤 · 我的车右侧刮伤了 · 对方的后杠擦伤了 · 大灯破了 · 后视镜断了 · 两车车头碰到了 · "
    "一头撞到护栏 · "
    "掉头撞的 · 我没意识到他要变道 · 对方没反应过来 · 撞到人行道的石墩 · 前车头撞上护栏 · 门把手断了 · 车都没事 · 手机卡住了"
)


def _rows(table: dict[Verdict, str]) -> list[tuple[str, Verdict]]:
    return [(text, verdict) for verdict, texts in table.items() for text in texts.split(" · ")]


def _told(table: dict[str, str]) -> list[str]:
    return [text for texts in table.values() for text in texts.split(" · ")]


@pytest.mark.parametrize("text, verdict", _rows(ROWS))
def test_utterance_says(text: str, verdict: Verdict):
    assert injury(text, is_asked=False) is verdict


@pytest.mark.parametrize("text, verdict", _rows(ANSWERS))
def test_answer_to_the_open_question_says(text: str, verdict: Verdict):
    assert injury(text, is_asked=True) is verdict


@pytest.mark.parametrize("is_asked", [False, True])
@pytest.mark.parametrize("text", _told(HURT))
def test_a_hurt_person_is_present(text: str, is_asked: bool):
    assert injury(text, is_asked=is_asked) is Verdict.PRESENT


@pytest.mark.parametrize("is_asked", [False, True])
@pytest.mark.parametrize("text", _told(DOUBTFUL))
def test_a_doubtful_word_is_asked_about_at_least(text: str, is_asked: bool):
    assert injury(text, is_asked=is_asked) in (Verdict.UNCERTAIN, Verdict.PRESENT)


@pytest.mark.parametrize("lead", ["没人受伤，", "大家都没事，", "没有人受伤", "大家都没事"])
@pytest.mark.parametrize("text", [*HURT["plain words"].split(" · "), *DOUBTFUL["the car fared badly"].split(" · ")])
def test_an_all_clear_before_it_hides_nothing(lead: str, text: str):
    assert injury(lead + text, is_asked=True) in (Verdict.UNCERTAIN, Verdict.PRESENT)
    assert not is_whole_denial(heard(lead + text), is_asked=True)


@pytest.mark.parametrize("is_asked", [False, True])
@pytest.mark.parametrize("text", PLAIN_ALL_CLEARS.split(" · "))
def test_a_plain_all_clear_needs_no_second_question(text: str, is_asked: bool):
    assert injury(text, is_asked=is_asked) is Verdict.ABSENT


@pytest.mark.parametrize("text", CARS_ALONE.split(" · "))
def test_a_damaged_car_says_nothing_about_people(text: str):
    assert injury(text, is_asked=False) is Verdict.NONE


@pytest.mark.parametrize("text", ["没有人受伤", "人没事", "双方都没受伤", "没人受伤", "现场都没有受伤", "人员没有伤亡"])
def test_whole_denial_for_everybody_needs_no_second_key(text: str):
    assert is_whole_denial(heard(text), is_asked=False)


@pytest.mark.parametrize(
    "text",
    [
        *(text for text, verdict in _rows(ROWS) if verdict is not Verdict.ABSENT),
        *_told(HURT),
        *_told(DOUBTFUL),
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
    assert not is_whole_denial(heard(text), is_asked=False)


@pytest.mark.parametrize("text", ["没有", "没", "都没有"])
def test_short_no_denies_only_while_it_is_asked(text: str):
    assert is_whole_denial(heard(text), is_asked=True)
    assert not is_whole_denial(heard(text), is_asked=False)


@given(st.text(max_size=40), st.booleans())
def test_every_text_has_a_verdict_and_only_an_absent_one_can_be_clear(text: str, is_asked: bool):
    verdict = injury(text, is_asked=is_asked)
    assert not is_whole_denial(heard(text), is_asked=is_asked) or verdict is Verdict.ABSENT


@given(
    st.sampled_from(["有人受伤了", "头晕", "流血了", "叫救护车"]), st.sampled_from(["", "好了，", "我倒车，", "没人受伤，", "双方都没事，"])
)
def test_a_denial_in_the_same_breath_does_not_hide_an_injury(hurt: str, lead: str):
    assert injury(lead + hurt, is_asked=True) is Verdict.PRESENT
