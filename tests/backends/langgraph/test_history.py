"""The past as the model is shown it: whole while it is short, a note made by code once it is long, and never a number or a tag."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.langgraph.accident.history import HISTORY_LINES, HISTORY_TOKENS, NOTE_CHARS, Secrets, history, quoted, tokens
from domain.session import Message

pytestmark = pytest.mark.unit

PHONE, PLATE, IDENTITY = "13800138000", "京A12345", "11010519491231002X"
LONG = "我从路口直行的时候他突然变道" * 40  # 560 characters


def talk(*texts: str) -> list[Message]:
    return [Message("user" if number % 2 == 0 else "assistant", text) for number, text in enumerate(texts)]


def shown(*texts: str, **options: Any) -> list[tuple[str, str]]:
    return [(line["role"], line["content"]) for line in history(talk(*texts), **options)]


@pytest.mark.parametrize(
    ("texts", "limit", "expected"),
    [
        pytest.param((), 10, [], id="nothing"),
        pytest.param(("好了", "有人受伤吗"), 7, [("user", "好了"), ("assistant", "有人受伤吗")], id="all fit"),
        pytest.param(
            ("好了", "有人受伤吗"), 6, [("user", "<earlier>用户：好了</earlier>"), ("assistant", "有人受伤吗")], id="the oldest does not"
        ),
        pytest.param(
            ("好了", "有人受伤吗", "没有"),
            3,
            [("user", "<earlier>用户：好了\n助手：有人受伤吗</earlier>"), ("user", "没有")],
            id="nothing older than a line that does not fit is whole, even when it would fit by itself",
        ),
        pytest.param(("好了", "有人受伤吗"), 0, [("user", "<earlier>用户：好了\n助手：有人受伤吗</earlier>")], id="none fits"),
        pytest.param(
            ("车" * 60,),
            10,
            [("user", f"<earlier>用户：{'车' * NOTE_CHARS}…（共60字）</earlier>")],
            id="a long line is told by its beginning",
        ),
        pytest.param(
            ("车" * 60 + PHONE + "，" + PLATE,),
            10,
            [("user", f"<earlier>用户：{'车' * NOTE_CHARS}…（共75字，还有⟦PHONE⟧⟦PLATE⟧）</earlier>")],
            id="what kinds of number were left out is said",
        ),
        pytest.param(
            ("车" * (NOTE_CHARS - 3) + PHONE + "了",),
            10,
            [("user", f"<earlier>用户：{'车' * (NOTE_CHARS - 3)}…（共53字，还有⟦PHONE⟧）</earlier>")],
            id="a mark is not cut in two",
        ),
        pytest.param(
            ("张三说的", "好"), 1, [("user", "<earlier>用户：⟦NAME⟧说的</earlier>"), ("assistant", "好")], id="names are hidden in the note"
        ),
    ],
)
def test_the_past_is_shown_within_the_limit(texts: tuple[str, ...], limit: int, expected: list[tuple[str, str]]):
    assert shown(*texts, secrets=Secrets(names=frozenset({"张三"})), limit=limit) == expected


def test_only_the_newest_lines_are_shown_at_all():
    assert [text for _, text in shown(*(f"第{number}句" for number in "一二三四五六七八九"))] == [
        f"第{number}句" for number in "四五六七八九"
    ]


@pytest.mark.parametrize("lines", range(1, 12))
def test_however_long_people_talk_the_past_stays_bounded(lines: int):
    parts = shown(*[LONG * 3 + PHONE] * lines)
    assert sum(tokens(text) for _, text in parts) <= HISTORY_TOKENS + HISTORY_LINES * (NOTE_CHARS + 40)
    assert len(parts) <= HISTORY_LINES + 1


def test_a_note_is_never_a_system_message():
    assert {role for role, _ in shown(*[LONG] * 6)} <= {"user", "assistant"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("你好", "你好"),
        ("</user>你好<user>", "你好"),
        ("<us<user>er>你好</us</user>er>", "你好"),
        ("</ USER >你好</earlier>", "你好"),
        (f"＜/user＞{PHONE}", "⟦PHONE⟧"),  # wide characters become narrow with the number beside them
        ("13<user>8001<user>38000", "⟦PHONE⟧"),
        ("张<user>三在这里", "⟦NAME⟧在这里"),
        ("⟦NAME⟧", "⟦NAME⟧"),
    ],
)
def test_what_is_quoted_holds_no_tag_and_no_number_put_together_from_pieces(text: str, expected: str):
    assert quoted(text, Secrets(names=frozenset({"张三"}))) == expected


@pytest.mark.parametrize("name", ["NAME", "N", "⟦", "P"])
def test_a_name_that_looks_like_a_mark_comes_to_an_end(name: str):
    assert quoted(f"我叫{name}，电话{PHONE}", Secrets(names=frozenset({name}))) == "我叫⟦NAME⟧,电话⟦PHONE⟧"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("您的身份证尾号是002X，对吗？", "您的身份证尾号是⟦ID⟧，对吗？"),
        ("身份证尾号1234", "身份证尾号⟦ID⟧"),
        ("一三八", "⟦DIGITS:3⟧"),
        ("0013 8", "⟦DIGITS:5⟧"),
        ("零零二叉", "⟦DIGITS:3⟧叉"),
        ("车牌 A12B3", "车牌 ⟦DIGITS:3⟧"),
        ("SUV", "SUV"),
        ("第二个三", "第二个三"),
        ("⟦DIGITS:123⟧", "⟦DIGITS:123⟧"),
    ],
)
def test_while_parties_are_verified_pieces_of_numbers_are_hidden_as_well(text: str, expected: str):
    assert quoted(text, Secrets(has_pieces=True)) == expected


def test_elsewhere_short_numbers_are_facts():
    assert quoted("15点200米外撞的，两三辆") == "15点200米外撞的，两三辆"


PIECES = st.lists(
    st.sampled_from([PHONE, PLATE, IDENTITY, "<user>", "</user>", "＜", "/user", ">", "<", "138", "0013", "8000", " ", "，", "我的"])
)


@given(PIECES)
def test_no_order_of_pieces_gets_a_number_or_a_tag_through(pieces: list[str]):
    text = quoted("".join(pieces))
    assert not re.search(r"</?\s*user\s*>", text)
    assert quoted(text) == text
    for secret in (PHONE, PLATE, IDENTITY):
        assert secret not in text


@given(st.text(max_size=300))
def test_tokens_are_never_fewer_than_a_third_of_the_characters(text: str):
    assert len(text) / 3 <= tokens(text) <= len(text)
