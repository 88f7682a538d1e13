"""The one door of every value: tables of what is taken, what is refused and in which words; and what holds for any input."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.fields import FIELDS, GROUPS, INTERNAL_KEYS, FieldError, UnknownField, accept, derive, in_order, require_consistent
from tests.fakes.values import NOON

pytestmark = pytest.mark.unit

TAKEN: dict[str, list[tuple[Any, Any]]] = {
    "hphm1": [
        ("京a 12345", "京A12345"),
        ("京A·12345", "京A12345"),
        ("浙Ａ１２３４５", "浙A12345"),
        ("北京A12345", "京A12345"),
        ("广东BF12345", "粤BF12345"),
        ("京A一二三四五", "京A12345"),
        ("粤Z1234港", "粤Z1234港"),
        ("粤BD12345", "粤BD12345"),
        ("粤B12345D", "粤B12345D"),
        ("京AD1234", "京AD1234"),
        ("京A1O345", "京A10345"),
        ("苏A1234挂", "苏A1234挂"),
        ("粤b·d12345", "粤BD12345"),
    ],
    "sfzmhm1": [
        ("11010519491231002X", "11010519491231002X"),
        ("11010519491231002x", "11010519491231002X"),
        ("１１０１０５１９４９１２３１００２Ｘ", "11010519491231002X"),
        ("1101 0519 4912 3100 2叉", "11010519491231002X"),
        ("340524800101001", "34052419800101001X"),
    ],
    "sjhm1": [
        ("13800138000", "13800138000"),
        (13800138000, "13800138000"),
        ("138 0013 8000", "13800138000"),
        ("+86 138-0013-8000", "13800138000"),
        ("一三八零零一三八零零零", "13800138000"),
        ("幺三八洞洞幺三八洞洞洞", "13800138000"),
        ("8613800138000", "13800138000"),
    ],
    "sgfssj": [
        ("刚刚", "2026-07-27 15:20:00"),
        ("现在", "2026-07-27 15:20:00"),
        ("十分钟前", "2026-07-27 15:10:00"),
        ("半小时前", "2026-07-27 14:50:00"),
        ("半个钟头前", "2026-07-27 14:50:00"),
        ("一个多小时前", "2026-07-27 14:20:00"),
        ("三点", "2026-07-27 15:00:00"),
        ("四点", "2026-07-27 04:00:00"),
        ("下午三点", "2026-07-27 15:00:00"),
        ("今天上午10点20", "2026-07-27 10:20:00"),
        ("早上八点半", "2026-07-27 08:30:00"),
        ("中午", "2026-07-27 12:00:00"),
        ("两点一刻", "2026-07-27 14:15:00"),
        ("昨天下午三点", "2026-07-26 15:00:00"),
        ("昨晚十一点", "2026-07-26 23:00:00"),
        ("昨晚一点", "2026-07-27 01:00:00"),
        ("凌晨一点", "2026-07-27 01:00:00"),
        ("7月25号下午3点", "2026-07-25 15:00:00"),
        ("上周五晚上八点", "2026-07-24 20:00:00"),
        ("2026年7月25日15:00", "2026-07-25 15:00:00"),
        ("2026-07-25 15:00", "2026-07-25 15:00:00"),
        ("2026/7/25 3:05pm", "2026-07-25 15:05:00"),
        ("2026-07-27T15:00:00+09:00", "2026-07-27 14:00:00"),
        ("2026-07-27T07:10:00Z", "2026-07-27 15:10:00"),
        ("1785136800000", "2026-07-27 15:20:00"),
        (1785136800, "2026-07-27 15:20:00"),
        ("2026-07-27 15:24:00", "2026-07-27 15:20:00"),
    ],
    "xm1": [("张三", "张三"), ("买买提·吐尔逊", "买买提·吐尔逊"), ("John Smith", "John Smith"), ("我叫张三", "张三"), ("张三先生", "张三")],
    "jdcsl": [(2, 2), ("2", 2), ("２", 2), ("两", 2), ("二辆", 2), ("2辆", 2), ("十二辆", 12), (0, 0), (99, 99)],
    "ywrysw": [
        (True, True),
        ("true", True),
        ("TRUE", True),
        (1, True),
        ("是", True),
        ("有", True),
        ("0", False),
        ("无", False),
        ("n", False),
    ],
    "hpzl1": [("02", "02"), (2, "02"), ("２", "02"), ("小型汽车", "02"), ("蓝牌", "02"), ("黄牌", "01"), ("摩托", "07")],
    "bjrjs": [("当事人", "当事人"), ("我是司机", "当事人"), ("坐车的", "乘客"), ("我老公出的事", "家属或代报")],
    "sgyy": [("倒车", "倒车"), ("我倒车撞到柱子了", "倒车"), ("撞到护栏了", "撞固定物"), ("车轮飞了 电话13800138000", "车轮飞了 电话*")],
}

REFUSED: list[tuple[str, Any, str]] = [
    ("hphm1", "京A1234", "车牌号位数不对，普通车牌7位，新能源车牌8位"),
    ("hphm1", "京A123456", "车牌号格式不正确"),
    ("hphm1", "123456", '车牌号应以省份简称开头，如"京A12345"'),
    ("hphm1", "A12345", '车牌号应以省份简称开头，如"京A12345"'),
    ("hphm1", "京I12345", "车牌号第二位应为字母且不含I、O"),
    ("hphm1", "苏A12345挂", "车牌号位数不对，普通车牌7位，新能源车牌8位"),
    ("hphm1", "京" * 13, "车牌号过长，最多12个字符"),
    ("sfzmhm1", "110105194912310021", "身份证号校验位不正确，请核对"),
    ("sfzmhm1", "440524188001010014", "身份证号中的出生日期不合理"),
    ("sfzmhm1", "110105200302300016", "身份证号中的出生日期不正确"),
    ("sfzmhm1", "1101051949123100", "身份证号应为18位"),
    ("sfzmhm1", "01010519491231002X", "身份证号格式不正确"),
    ("sfzmhm1", "1101051949A231002X", "身份证号格式不正确"),
    ("sfzmhm1", "990105194912310021", "身份证号校验位不正确，请核对"),
    ("sfzmhm1", "100105194912310021", "身份证号地区代码不正确"),
    ("sjhm1", "12800138000", "手机号应以13至19开头"),
    ("sjhm1", "010-62345678", "请提供手机号码，不支持座机"),
    ("sjhm1", "1380013800", "手机号应为11位数字"),
    ("sjhm1", 1.5, "手机号类型不正确"),
    ("sgfssj", "前天早上", "无法识别事故发生时间"),
    ("sgfssj", "随便", "无法识别事故发生时间"),
    ("sgfssj", "32点", "无法识别事故发生时间"),
    ("sgfssj", "明天下午三点", "事故发生时间不能晚于当前时间"),
    ("sgfssj", "今天晚上八点", "事故发生时间不能晚于当前时间"),
    ("sgfssj", "1999-12-31 10:00", "事故发生时间不合理"),
    ("jdcsl", "2.0", "机动车数量应为0到99的整数"),
    ("jdcsl", 2.0, "机动车数量应为0到99的整数"),
    ("jdcsl", "1e3", "机动车数量应为0到99的整数"),
    ("jdcsl", True, "机动车数量应为0到99的整数"),
    ("jdcsl", 100, "机动车数量应为0到99的整数"),
    ("ywrysw", "maybe", "有无人员伤亡只能为是或否"),
    ("ywrysw", 2, "有无人员伤亡只能为是或否"),
    ("ywrysw", "  ", "有无人员伤亡不能为空"),
    ("ywrysw", [], "有无人员伤亡类型不正确"),
    ("hpzl1", "98", "号牌种类代码不存在"),
    ("xm1", "王", "姓名格式不正确"),
    ("xm1", "姓王", "姓名格式不正确"),
    ("xm1", '"张三"', "姓名格式不正确"),
    ("xm1", "12", "姓名格式不正确"),
    ("xm1", "", "姓名不能为空"),
    ("bjrjs", "路人甲乙", "报警人角色不正确"),
]


@pytest.mark.parametrize("key, raw, stored", [(key, raw, stored) for key, rows in TAKEN.items() for raw, stored in rows])
def test_value_is_stored_in_its_normal_form(key: str, raw: Any, stored: Any):
    value = accept(key, raw, NOON)
    assert value == stored
    assert type(value) is type(stored)


@pytest.mark.parametrize("key, raw, message", REFUSED)
def test_value_is_refused_in_words_that_do_not_hold_it(key: str, raw: Any, message: str):
    with pytest.raises(FieldError) as caught:
        accept(key, raw, NOON)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "key, message",
    [
        ("foo", "不支持的字段：foo"),
        ("all", "不支持的字段：all"),
        ("acdinfo", "不支持的字段：acdinfo"),
        ("Ywrysw", "不支持的字段：Ywrysw"),
        ("", "不支持的字段："),
        ("stage_code", "字段不允许修改：stage_code"),
        ("phase", "字段不允许修改：phase"),
    ],
)
def test_key_that_nobody_may_write_is_unknown(key: str, message: str):
    with pytest.raises(UnknownField) as caught:
        accept(key, "1", NOON)
    assert str(caught.value) == message


@pytest.mark.parametrize("key", FIELDS)
def test_null_clears_every_field(key: str):
    assert accept(key, None, NOON) is None


ANYTHING = st.one_of(
    st.text(max_size=50), st.integers(), st.booleans(), st.floats(allow_nan=True), st.lists(st.integers(), max_size=2), st.sampled_from(
        [raw for rows in TAKEN.values() for raw, _ in rows]
    )
)  # fmt: skip


@given(st.sampled_from(list(FIELDS)), ANYTHING)
def test_accepting_an_accepted_value_changes_nothing(key: str, raw: object):
    try:
        once = accept(key, raw, NOON)
    except FieldError:
        return
    assert accept(key, once, NOON) == once


def test_fields_stand_in_output_order_and_fill_their_groups():
    assert list(FIELDS)[:8] == ["ywrysw", "ywfjdc", "ywmtc", "bjrjs", "sgfssj", "sfsgxc", "jdcsl", "sgyy"]
    assert GROUPS["acdhuman1"] == ("xm1", "hpzl1", "hphm1", "sfzmhm1", "sjhm1")
    assert [key for keys in GROUPS.values() for key in keys] == list(FIELDS)
    assert not INTERNAL_KEYS.intersection(FIELDS)
    assert {key for key, spec in FIELDS.items() if spec.is_sensitive} == {"sfzmhm1", "sjhm1", "sfzmhm2", "sjhm2"}


@pytest.mark.parametrize(
    "number, form, derived",
    [
        ("粤BD12345", {}, {"hpzl1": "52", "hphm1": "粤BD12345"}),
        ("粤B12345D", {"hpzl1": "02"}, {"hpzl1": "51", "hphm1": "粤B12345D"}),
        ("京A12345", {}, {"hpzl1": "02", "hphm1": "京A12345"}),
        ("京A12345", {"hpzl1": "01"}, {"hpzl1": "01", "hphm1": "京A12345"}),
        ("京A12345", {"hpzl1": "52"}, {"hpzl1": "02", "hphm1": "京A12345"}),
        ("京A1234警", {}, {"hpzl1": "23", "hphm1": "京A1234警"}),
    ],
)
def test_plate_says_its_type(number: str, form: dict[str, Any], derived: dict[str, Any]):
    assert list(derive("hphm1", number, form).items()) == list(derived.items())


@pytest.mark.parametrize(
    "form, key, message",
    [
        ({"sjhm1": "13800138000", "sjhm2": "13800138000"}, "sjhm2", "手机号与另一方相同，请核对"),
        ({"hphm1": "京A12345", "hphm2": "京A12345"}, "hphm1", "车牌号与另一方相同，请核对"),
        ({"hphm1": "粤BD12345", "hpzl1": "02"}, "hpzl1", "号牌种类与车牌号不一致"),
        ({"hphm1": "京A12345", "hpzl1": "52"}, "hpzl1", "号牌种类与车牌号不一致"),
    ],
)
def test_values_that_exclude_each_other_are_refused(form: dict[str, Any], key: str, message: str):
    with pytest.raises(FieldError) as caught:
        require_consistent(form, (key,))
    assert str(caught.value) == message


def test_in_order_drops_what_is_no_field():
    assert list(in_order({"xm1": "张三", "stage": 1, "ywrysw": False})) == ["ywrysw", "xm1"]  # pyright: ignore[reportArgumentType]
