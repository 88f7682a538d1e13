"""Hurt people who were once overheard, and plain all-clears that must stay all-clears. Labelled by meaning."""

import pytest

from domain.injury import Verdict
from domain.safety import detect

pytestmark = [pytest.mark.unit, pytest.mark.security]

HURT = [
    "行人被车撞伤了",
    "老人被车撞伤了",
    "他被后车撞伤",
    "我骑车受伤了",
    "坐车受伤了",
    "手被车门刮伤了",
    "车门碰伤了手",
    "轮胎碰伤了脚",
    "没人受伤，有个老人被车撞伤了",
    "没有呼吸",
    "没有心跳",
    "没脉搏",
    "没有意识",
    "失去意识",
    "昏过去了",
    "叫不醒",
    "喘不上气",
    "呼吸困难",
    "腿断了",
    "胳膊断了",
    "骨头露出来",
    "头破了",
    "抽搐",
    "撞到一个小孩",
    "把人撞了",
    "有个行人被我撞了",
    "撞倒一个人",
    "人被压住了",
    "被撞飞",
    "送医",
    "住院",
    "抢救",
    "有生命危险",
    "出人命",
    "没人受伤，胳膊断了",
    "大家都没事，对方住院了",
    "撞死路边一个人",
    "压死路过的老人",
    "人撞死心里很慌",
    "把人撞死机动车跑了",
    "撞了个骑车的大爷",
    "对方被撞倒了",
    "孩子被夹住了",
    "司机被撞昏了",
    "把一个老太太给撞了",
    "人没事，就是腿断了",
    "他住院了",
    "人送医院了",
    "膝盖被撞破了",
    "有个学生被刮倒了",
]

DOUBTFUL = [
    "受伤的都没意识了",
    "有人受伤都没人管",
    "受伤的一个都没救出来",
    "有两个受伤的都没醒",
    "伤员都没动",
    "骨折的都没处理",
    "晕倒也没人扶",
    "我头疼都没好",
    "不知死活",
    "他心疼得厉害",
    "车翻了",
    "掉河里了",
    "我车没事人有事",
    "没人没受伤",
    "怎么会没人受伤",
    "难道没人受伤",
    "刚才说没人受伤是错的",
    "没受伤的有三个",
    "没有受伤的，除了一个老人",
    "没有生命危险",
    "不用住院",
    "没送医院",
    "差点撞死人",
    "气囊弹出来了",
]

WELL = [
    "没有人受伤",
    "没人受伤",
    "人没事",
    "双方都没事",
    "无人伤亡",
    "没造成人员伤亡",
    "都没有受伤，就是车门刮伤了",
    "我没受伤，对方也没受伤",
    "没撞到人",
    "没有撞到人",
    "大家都没事",
    "人都没事",
    "没有人员受伤",
    "没有人员伤亡",
    "双方都没受伤",
    "我们双方都没有受伤",
    "都没事，车刮了一下",
    "人没受伤，车受伤了",
    "没人受伤，车门被刮伤了",
    "没人受伤，我的车被撞了",
    "没人受伤，后保险杠被撞坏了",
    "没有人受伤，我倒车撞到柱子了",
    "没人受伤，撞到护栏了",
    "没人受伤，车头被撞伤了",
    "人都没事，追尾了",
    "没有任何人受伤",
    "两边人都没事",
    "现场的人都没有受伤",
    "没伤着人",
    "没有人受伤，对方的车被我刮了",
]

SILENT = [
    "我被追尾了",
    "我的车被撞了",
    "后车撞了我",
    "对方撞上我了",
    "保险杠碰伤",
    "车门被刮伤了",
    "车被撞伤了",
    "心疼我的车",
    "吓死我了",
    "撞到护栏了",
    "撞到人行道的石墩了",
    "我被后车撞了",
    "车漆被刮了",
    "前车被我撞了",
    "堵死了",
    "追尾了前车",
]


@pytest.mark.parametrize("pending", [None, "YWRYSW", "CONFIRM_INJURY"])
@pytest.mark.parametrize("text", HURT)
def test_a_hurt_person_is_heard(text, pending):
    finding = detect(text, pending)
    assert finding.injury is Verdict.PRESENT
    assert not finding.is_clear


@pytest.mark.parametrize("pending", [None, "YWRYSW", "CONFIRM_INJURY"])
@pytest.mark.parametrize("text", DOUBTFUL)
def test_a_doubt_is_never_an_all_clear(text, pending):
    finding = detect(text, pending)
    assert finding.injury in (Verdict.UNCERTAIN, Verdict.PRESENT)
    assert not finding.is_clear


@pytest.mark.parametrize("pending", [None, "YWRYSW"])
@pytest.mark.parametrize("text", WELL)
def test_a_plain_all_clear_stays_one(text, pending):
    assert detect(text, pending).injury is Verdict.ABSENT


@pytest.mark.parametrize("text", SILENT)
def test_talk_of_vehicles_raises_no_alarm(text):
    assert detect(text, None).injury is Verdict.NONE
