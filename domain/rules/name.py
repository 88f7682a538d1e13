"""A person's name: Han with a middle dot, or Latin."""

import re

from domain.rules.field_error import FieldError
from domain.rules.wording import normal, spoken_text

MAX_CHARS = 20
_LEAD = re.compile(r"^(?:我的)?(?:姓名|名字)?(?:我叫|我是|他叫|她叫|对方叫|叫做?|是|[:：])+\s*|^(?:我的)?(?:姓名|名字) +")
_TITLE = re.compile(r"(?:先生|女士|小姐|师傅){1,3}$")
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af〇"
_LATIN = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_NAME = re.compile(rf"[{_HAN}]{{2,20}}|[{_HAN}]+(?:·[{_HAN}]+)+|[{_LATIN}]+(?:[ .'-]{{1,2}}[{_LATIN}]+)*\.?")
# A surname that is spelled by its parts, as people do because so many sound alike.
_SPELLED = {
    "弓长张": "张", "立早章": "章", "木子李": "李", "耳东陈": "陈", "双木林": "林", "口天吴": "吴", "言午许": "许", "古月胡": "胡",
    "木易杨": "杨", "文刀刘": "刘", "走肖赵": "赵", "人可何": "何", "双人徐": "徐", "三横王": "王", "草头黄": "黄", "干勾于": "于",
    "人则俞": "俞", "关耳郑": "郑", "日月明": "明",
}  # fmt: skip
_SURNAMES = (
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏窦章云苏潘葛范彭郎鲁韦昌马苗凤方俞任袁柳鲍史唐费廉岑薛雷贺倪汤"
    "滕殷罗毕郝邬安常乐于时傅皮卞齐康伍余元卜顾孟黄穆萧尹姚邵湛汪祁毛禹狄米贝明臧计伏成戴谈宋茅庞熊纪舒屈项祝董梁杜阮蓝闵席季麻强贾路娄危江童颜"
    "郭梅盛林刁钟徐邱骆高夏蔡田樊胡凌霍虞万支柯管卢莫房裘缪干解应宗丁宣邓郁单杭洪包诸左石崔吉龚程嵇邢裴陆荣翁荀羊惠甄曲封储靳段巫焦牧车侯伊宁仇"
    "甘厉武符刘景詹束龙叶司韶黎薄白蒲邰赖卓蔺屠蒙池乔谭申冉雍桑桂牛寿边尚农温庄晏柴瞿阎慕连茹习艾容向古易廖肖"
)
_COMPOUND_SURNAMES = (
    "欧阳",
    "司马",
    "上官",
    "诸葛",
    "东方",
    "皇甫",
    "尉迟",
    "公孙",
    "令狐",
    "慕容",
    "司徒",
    "夏侯",
    "端木",
    "长孙",
    "宇文",
)
# Words of two to four characters that begin like a name.
_NO_NAMES = re.compile(
    r"方便|马上|安全|平安|明天|明白|高兴|白天|白牌|成功|常常|金额|车.*|时间|应该.*|任何|何时|何必|边上|路边|路上|单方|单车|解决|解释|黄牌|蓝牌|容易|"
    r"向前|申请|计划|强制|支持|连续|万一|干嘛|干什么"
)
_NOT_SAID = re.compile(r"姓.|.姓|我姓.|不知道|不清楚|没有|不想说")


def person_name(raw: object, label: str) -> str:
    """Two to 20 characters. Raises FieldError: 姓名格式不正确."""
    name = unwrapped(re.sub(r"[•・‧∙⋅]", "·", spoken_text(raw, label, MAX_CHARS)))
    if not 2 <= len(name) <= MAX_CHARS or not _NAME.fullmatch(name) or _NOT_SAID.fullmatch(name):
        raise FieldError("姓名格式不正确")
    return name


def unwrapped(text: str) -> str:
    """The name without what people put around it. A title alone leaves nothing; a surname spelled by its parts leaves the surname."""
    name, before = text, None
    while name != before:
        before = name
        name = _TITLE.sub("", _LEAD.sub("", name).strip(" 。.,，!！"))
    spelled = next((parts for parts in _SPELLED if name.startswith(parts)), None)
    return name if spelled is None else _SPELLED[spelled] + name.removeprefix(spelled).lstrip("的,， ")


def bare_name(text: str) -> str | None:
    """The name when a whole utterance is nothing else: two to four Han characters that begin with a surname."""
    name = unwrapped(normal(text))
    if not re.fullmatch(rf"[{_HAN}]{{2,4}}", name) or _NO_NAMES.fullmatch(name):
        return None
    return name if name[0] in _SURNAMES or name.startswith(_COMPOUND_SURNAMES) else None
