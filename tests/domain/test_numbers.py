"""Numbers in running text: found for the form, hidden from the model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.numbers import hidden, number_candidates, said_plate
from tests.fakes.values import NOON

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "text, shown",
    [
        ("我的手机13800138000", "我的手机⟦PHONE⟧"),
        ("138 0013 8000", "⟦PHONE⟧"),
        ("幺三八洞洞幺三八洞洞洞", "⟦PHONE⟧"),
        ("11010519491231002x", "⟦ID⟧"),
        ("身份证1101 0519 4912 3100 2X，车牌京A12345", "身份证⟦ID⟧，车牌⟦PLATE⟧".replace("，", ",")),
        ("对方叫李四，车牌粤BD12345", "对方叫李四,车牌⟦PLATE⟧"),
        ("北京A12345撞了我", "⟦PLATE⟧撞了我"),
        ("一一零一零五", "⟦DIGITS:6⟧"),
        ("三点二十发生的", "三点二十发生的"),
        ("两辆车", "两辆车"),
    ],
)
def test_model_sees_only_what_kind_of_number_it_is(text: str, shown: str):
    assert hidden(text) == shown


@pytest.mark.parametrize(
    "text, shown",
    [
        ("幺三八洞洞", "⟦DIGITS:5⟧"),
        ("零零二叉", "⟦DIGITS:4⟧"),
        ("前面是138", "前面是⟦DIGITS:3⟧"),
        ("不对，后面四位是八零零一", "不对,后面四位是⟦DIGITS:4⟧"),
        ("13800138000", "⟦PHONE⟧"),
        ("京A12345", "⟦PLATE⟧"),
        ("我叫张三", "我叫张三"),
        ("一辆车", "一辆车"),
    ],
)
def test_where_numbers_are_dictated_their_pieces_are_hidden_too(text: str, shown: str):
    assert hidden(text, pieces=True) == shown


@given(
    st.from_regex(r"1[3-9][0-9]{9}", fullmatch=True), st.sampled_from(["", "电话", "我是 ", "好的,"]), st.sampled_from(["", " 谢谢", "。"])
)
def test_no_phone_number_is_ever_shown(phone: str, lead: str, tail: str):
    assert phone not in hidden(f"{lead}{phone}{tail}")


def test_numbers_of_a_party_are_found_by_field():
    assert number_candidates("我是张三 13800138000 11010519491231002X", 2, NOON) == {
        "sfzmhm2": "11010519491231002X",
        "sjhm2": "13800138000",
    }
    assert number_candidates("110105194912310021", 1, NOON) == {}
    assert number_candidates("没有", 1, NOON) == {}


def test_plate_is_found_inside_a_sentence():
    found = said_plate("不对，是京A12345")
    assert found is not None
    assert found.number == "京A12345"
    assert said_plate("我倒车") is None
