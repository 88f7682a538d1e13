"""What the scripted model understands."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.model.reading import read, spoken_digits

pytestmark = pytest.mark.unit

FACTS: list[tuple[str, str, dict[str, Any]]] = [
    ("没有人受伤，我自己倒车撞到柱子了", "YWRYSW", {"ywrysw": False, "bjrjs": "当事人", "jdcsl": 1, "sgyy": "倒车"}),
    ("好了，我跟前面一辆车追尾了，人都没事", "READY", {"ywrysw": False, "bjrjs": "当事人", "sgyy": "追尾"}),
    ("在现场，就两辆小车，没有电动车摩托车", "SFSGXC", {"ywfjdc": False, "ywmtc": False, "sfsgxc": True, "jdcsl": 2}),
    ("没有", "FJDC_MTC", {"ywfjdc": False, "ywmtc": False}),
    ("没有", "YWRYSW", {"ywrysw": False}),
    ("没有", "SGYY", {}),
    ("跟一辆轿车刮了", "", {"jdcsl": 2, "sgyy": "刮擦"}),
    ("我跟一辆电动车碰了", "", {"ywfjdc": True, "bjrjs": "当事人"}),
    ("对方开的是电动汽车", "", {}),
    ("三辆车连环追尾", "", {"jdcsl": 3, "sgyy": "追尾"}),
    ("已经回家了", "SFSGXC", {"sfsgxc": False}),
    ("我叫王小明", "XM_1", {"xm1": "王小明"}),
    ("张三", "XM_1", {"xm1": "张三"}),
    ("等一下", "XM_1", {}),
    ("京a 12345", "HPHM_1", {"hphm1": "京A12345"}),
    ("1101 0519 4912 3100 2x", "SFZMHM_1", {"sfzmhm1": "11010519491231002X"}),
    ("一三八零零零", "SJHM_1", {"sjhm1": "138000"}),
]


@pytest.mark.parametrize(("text", "asking", "fields"), FACTS)
def test_only_what_was_said_is_read(text: str, asking: str, fields: dict[str, Any]):
    assert read(text, asking=asking).fields == fields


@pytest.mark.parametrize(
    ("text", "safety"),
    [
        ("人都没事", "none"),
        ("还在现场", "none"),
        ("对方脖子疼", "present"),
        ("没人受伤，他一直坐在地上不说话", "present"),
        ("没受伤就是吓了一跳", "suspected"),
        ("应该没受伤吧", "suspected"),
        ("车门碰伤了", "none"),
    ],
)
def test_doubt_about_people_is_never_read_as_safety(text: str, safety: str):
    assert read(text, asking="YWRYSW").safety == safety


def test_what_belongs_to_the_other_party_is_filed_there():
    assert read("对方叫李四，车牌粤BD12345", asking="XM_2", party=2).fields == {"xm2": "李四", "hphm2": "粤BD12345"}
    assert "xm1" not in read("对方叫李四", asking="HPHM_1").fields


@pytest.mark.parametrize(
    ("text", "answer"), [("今天天气不错", "irrelevant"), ("嗯那个就是说吧", "unclear"), ("不想说", "refused"), ("还在现场", "valid")]
)
def test_an_answer_is_judged_against_the_open_question(text: str, answer: str):
    assert read(text, asking="SFSGXC").answer == answer


def test_a_person_is_wanted_unless_it_is_denied():
    assert read("太麻烦了，转人工").wants_human
    assert not read("不用转人工").wants_human


def test_digits_with_words_between_are_no_dictation():
    assert spoken_digits("幺三八洞洞") == "13800"
    assert spoken_digits("大概一三八") == ""


@given(st.text(max_size=80), st.sampled_from(["", "XM_1", "YWRYSW", "SJHM_2", "CONFIRM_SFZMHM_1", "SGYY"]))
def test_no_text_is_too_strange_to_read(text: str, asking: str):
    assert read(text, asking=asking).answer in ("valid", "unclear", "irrelevant", "refused")
