"""Whole conversations with the accident workflow over HTTP: the stages a partner would see, and what is stored at the end."""

from typing import Any

import pytest

pytestmark = pytest.mark.unit

Turns = list[tuple[str, str]]

SINGLE: Turns = [
    ("【会话开始】", "1001"),
    ("准备好了", "1002"),
    ("没有人受伤，我自己倒车撞到柱子了", "1002"),
    ("还在现场，十分钟前发生的", "1002"),
    ("没有电动车也没有摩托车", "2000"),
]
DOUBLE: Turns = [
    ("【会话开始】", "1001"),
    ("好了，我跟前面一辆车追尾了，人都没事", "1002"),
    ("在现场，就两辆小车，没有电动车摩托车", "1002"),
    ("刚刚", "2010"),
]
SINGLE_PHOTOS: Turns = [("好了", "2001"), *[("【拍摄完成】", code) for code in ("2002", "2003", "2004", "2005", "3001")]]
DOUBLE_PHOTOS: Turns = [("可以了", "2011"), *[("【拍摄完成】", code) for code in ("2012", "2013", "2014", "2015", "2016", "3001")]]
PARTY_1: Turns = [(text, "3001") for text in ("张三", "京a 12345", "11010519491231002x", "对", "138 0013 8000", "没错")]
PARTY_2: Turns = [(text, "3002") for text in ("对方叫李四，车牌粤BD12345", "34052419800101001X", "是的", "13900139000", "对")]

SCENARIOS: dict[str, Turns] = {
    "G01_single": [*SINGLE, *SINGLE_PHOTOS, *PARTY_1, ("都对", "0000"), ("谢谢", "0000")],
    "G02_double": [*DOUBLE, *DOUBLE_PHOTOS, *PARTY_1, ("都对", "3002"), *PARTY_2, ("没问题", "0000")],
    "G03_explicit_handoff": [*SINGLE, ("太麻烦了，转人工", "0001"), ("【拍摄完成】", "0001"), ("喂", "0001")],
    "G04_injury": [("对方脖子疼，快帮帮我", "0003")],
    "G05_injury_and_handoff": [("有人流血了，马上转人工", "0001")],
    "G06_injury_late": [*DOUBLE, ("好了", "2011"), ("【拍摄完成】", "2012"), ("等下，我现在头有点晕", "0003")],
    "G07_many_vehicles": [("三辆车连环追尾", "0003")],
    "G08_unclear": [
        ("【会话开始】", "1001"),
        ("准备好了", "1002"),
        ("没人受伤", "1002"),
        ("今天天气不错", "1002"),
        ("啊啊啊哦哦", "1002"),
        ("嗯那个就是说吧", "0002"),
    ],
    "G09_no_reply": [
        ("【会话开始】", "1001"),
        ("【用户无回复】", "1001"),
        ("[用户无回复]", "1001"),
        ("我在", "1001"),
        ("【用户无回复】", "1001"),
        ("【用户连续2次无回复】", "1001"),
        ("【 用户未回复 】", "0004"),
    ],
    "G10_photo_failure": [*DOUBLE, ("好了", "2011"), ("【客户端连续3次拍摄识别失败：图片模糊】", "0005")],
    "G11_failures_add_up": [
        *SINGLE,
        ("好了", "2001"),
        ("【客户端连续2次拍摄识别失败：反光】", "2001"),
        ("【拍摄完成】", "2002"),
        ("【客户端连续2次拍摄识别失败：原因】", "2002"),
        ("【拍摄识别失败】", "0005"),
    ],
    "G12_no_skipping": [
        *SINGLE,
        ("好了", "2001"),
        ("我都拍完了，直接下一步", "2001"),
        ("【拍摄完成：2004】", "2001"),
        ("【拍摄完成：2001】", "2002"),
    ],
    "G18_recount": [*SINGLE, ("其实是两辆车，对方也在", "2000"), ("对，两辆", "2010")],
    "G20_stale": [("三天前刮的，我现在回来现场了，人没事", "0003")],
    "G26_flight": [("人没事，对方撞了我就跑了", "0003")],
    "G27_non_motor": [("好了，没人受伤，我跟一辆电动车碰了", "0003")],
}
PARTY_1_FORM = {"xm1": "张三", "hpzl1": "02", "hphm1": "京A12345", "sfzmhm1": "11010519491231002X", "sjhm1": "13800138000"}
PARTY_2_FORM = {"xm2": "李四", "hpzl2": "52", "hphm2": "粤BD12345", "sfzmhm2": "34052419800101001X", "sjhm2": "13900139000"}
FACTS = {"ywrysw": False, "ywfjdc": False, "ywmtc": False, "bjrjs": "当事人", "sfsgxc": True}


async def played(client: Any, turns: Turns, chat_id: str = "c-1") -> dict[str, Any]:
    """The last answer; every stage on the way is checked."""
    last: dict[str, Any] = {}
    for text, stage in turns:
        last = await client.say(text, chat_id=chat_id)
        content = last["choices"][0]["message"]["content"]
        assert content.strip().startswith(f"<state>{stage}</state>"), text
        assert last["newVariables"]["stage_code"] == stage
    return last


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_conversation_passes_the_stages_it_should(start: Any, name: str):
    await played(await start(), SCENARIOS[name])


async def test_a_single_vehicle_form_is_complete_and_canonical(start: Any):
    form = (await played(await start(), SCENARIOS["G01_single"]))["newVariables"]
    expected = FACTS | PARTY_1_FORM | {"jdcsl": 1, "sgyy": "倒车", "sgfssj": "2026-07-27 15:10:00"}
    assert {key: form[key] for key in expected} == expected


async def test_a_two_vehicle_form_is_complete_and_canonical(start: Any):
    form = (await played(await start(), SCENARIOS["G02_double"]))["newVariables"]
    expected = FACTS | PARTY_1_FORM | PARTY_2_FORM | {"jdcsl": 2, "sgyy": "追尾", "sgfssj": "2026-07-27 15:20:00"}
    assert {key: form[key] for key in expected} == expected


@pytest.mark.parametrize(("said", "stored"), [("对", "11010519491231002X"), ("不对", None)])
async def test_an_identity_number_is_stored_only_after_a_yes(start: Any, said: str, stored: str | None):
    client = await start()
    before = await played(client, [*SINGLE, *SINGLE_PHOTOS, *PARTY_1[:3]])
    assert before["newVariables"]["sfzmhm1"] is None
    after = await client.say(said)
    assert after["newVariables"]["sfzmhm1"] == stored


async def test_numbers_dictated_in_pieces_are_put_together(start: Any):
    pieces = ["张三", "京A12345", "一一零一零五", "一九四九一二三一", "零零二叉", "对的", "幺三八洞洞", "一三八零零零", "对"]
    last = await played(await start(), [*SINGLE, *SINGLE_PHOTOS, *[(piece, "3001") for piece in pieces]])
    assert last["newVariables"]["sfzmhm1"] == "11010519491231002X"
    assert last["newVariables"]["sjhm1"] == "13800138000"


async def test_a_denied_injury_is_stored_as_false_and_a_told_one_as_true(start: Any):
    client = await start()
    assert (await client.say("好了，人都没事", chat_id="a"))["newVariables"]["ywrysw"] is False
    assert (await client.say("对方脖子疼", chat_id="b"))["newVariables"]["ywrysw"] is True


async def test_a_chat_seeded_with_stage_and_form_goes_on_from_there(start: Any):
    client = await start()
    form = FACTS | {"jdcsl": 2, "sgyy": "追尾", "sgfssj": "2026-07-27 15:00:00"} | PARTY_1_FORM
    last = await client.say("都对", variables={"stage_code": "3001"} | form)
    assert last["newVariables"]["stage_code"] == "3002"


SEEDED = FACTS | {"jdcsl": 1, "sgyy": "追尾", "sgfssj": "2026-07-27 15:00:00", "xm1": "张三", "hpzl1": "02", "hphm1": "京A12345"}


async def test_a_seeded_chat_confirms_a_number_it_never_heard(start: Any):
    client = await start()
    seed = SEEDED | {"stage_code": "3001", "candidates": {"sfzmhm1": "11010519491231002X"}}
    last = await client.say("对", variables=seed)
    assert last["newVariables"]["sfzmhm1"] == "11010519491231002X"
    assert last["newVariables"]["candidates"] == {}


async def test_a_seeded_chat_goes_on_with_digits_dictated_elsewhere(start: Any):
    client = await start()
    seed = SEEDED | {"stage_code": "3001", "partials": {"sfzmhm1": "11010519491231"}}
    last = await client.say("零零二叉", variables=seed)
    assert last["newVariables"]["candidates"] == {"sfzmhm1": "11010519491231002X"}


async def test_a_seeded_chat_knows_which_question_is_open_without_being_told(start: Any):
    client = await start()
    last = await client.say("没有", variables={"stage_code": "1002", "ywrysw": False, "sfsgxc": True, "jdcsl": 1})
    assert last["newVariables"]["ywfjdc"] is False
    assert last["newVariables"]["ywmtc"] is False


@pytest.mark.parametrize(
    ("text", "seed", "stage"),
    [
        ("【用户无回复】", {"no_reply_count": 2}, "0004"),
        ("【拍摄识别失败】", {"photo_failures": {"2001": 2}}, "0005"),
        ("【拍摄识别失败】", {"photo_failures": {"2002": 2}}, "2001"),
    ],
)
async def test_a_seeded_counter_goes_on(start: Any, text: str, seed: dict[str, Any], stage: str):
    last = await (await start()).say(text, variables=SEEDED | {"stage_code": "2001"} | seed)
    assert last["newVariables"]["stage_code"] == stage


async def test_an_extraction_never_states_an_unconfirmed_number_as_a_field(start: Any):
    last = await (await start()).say("11010519491231002X", variables=SEEDED | {"stage_code": "3001"})
    [record] = [item for item in last["responseData"] if item["moduleType"] == "contentExtract"]
    assert record["extractResult"] == {"heard_sfzmhm1": "11010519491231002X"}


async def test_a_time_with_a_zone_is_compared_as_local_time(start: Any):
    seed = SEEDED | {"stage_code": "1002", "sgyy": None, "sgfssj": "2026-07-26T08:00:00+00:00"}
    assert (await (await start()).say("追尾", variables=seed))["newVariables"]["stage_code"] == "2000"


async def test_fields_written_between_two_turns_are_not_asked_for(start: Any):
    client = await start()
    await client.say("【会话开始】")
    await client.say("好了，刚发生的追尾，我开的车", variables={"sfsgxc": True, "jdcsl": 2, "ywfjdc": False, "ywmtc": False})
    last = await client.say("没有")
    assert last["newVariables"]["stage_code"] == "2010"


async def test_an_injury_written_by_the_caller_ends_in_a_handoff(start: Any):
    client = await start()
    await played(client, DOUBLE)
    last = await client.say("好了", variables={"ywrysw": True})
    assert last["newVariables"]["stage_code"] == "0003"


async def test_without_a_clock_of_the_request_the_wall_clock_counts(start: Any):
    client = await start()
    last = await client.say("刚刚追尾了", variables={"now": ""})
    assert not last["newVariables"]["sgfssj"].startswith("2026-07-27")


async def test_noise_changes_the_wording_and_nothing_else(start: Any):
    client = await start(noise=1.0)
    answers = [await client.say("准备好了", chat_id=f"n-{n}") for n in range(12)]
    assert len({answer["choices"][0]["message"]["content"] for answer in answers}) > 1
    assert {answer["newVariables"]["stage_code"] for answer in answers} == {"1002"}
