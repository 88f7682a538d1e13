"""How far a denial of injuries can be trusted: what clears by itself, what needs a second key, and what no key clears.

A list of words for being hurt is never complete, so nothing is cleared because no such word was found. It is the other way round: a denial
counts only when everything else in the utterance is wording known to be harmless. `is_whole_denial` reads utterances that are nothing but a
denial for everybody; `is_explained` reads denials in the company of cars, places, times and manoeuvres. One unknown word and neither holds.
Both match whole utterances, with possessive patterns: the cost is linear.
"""

import re
from importlib.resources import files

_TAIL = r"(?:[的啊呀哦了呢嘛哈啦哒滴噢喔咧嘞咯哩耶哟哇儿]|~|～){0,6}+"
_NOT = r"(?:真的?|确实|肯定|绝对|一定|并|压根|完全|倒)?(?:没得|莫得|没的|没有?|并无|无|未|木有|冇得?|冒得|么得)"

# Everybody, or nobody named. One side ("我们", "车上", "乘客") is not here.
_EVERYBODY = (
    r"(?:事故)?(?:现场)?(?:这次|本次)?(?:所有|全部|全体|在场|双方|两边|两方)?的?"
    r"(?:(?:两车|两台车|两辆车)上?的?人员?|人员?|大家伙?儿?|大伙儿?|双方|两边|两方|所有人|每个人|个个|人人|谁|一个人?|"
    r"当事人)?的?(?:人员?)?(?:目测)?(?:也|"
    r"都|全|全部|均|皆|通通|统统|就是|倒是|是|倒|真的|确实|肯定|绝对){0,4}"
)
_HURT = (
    r"(?:任何|一个|半个|什么|啥|有|人员?|哪个|谁){0,3}(?:受到?|造成|出现|发生|存在|有)?(?:任何|什么|啥|人员?)?(?:的)?"
    r"(?:受伤|伤亡|伤到人|伤着人|伤着|伤到|死伤|伤害|伤员|伤者|损伤|受到伤害|人身伤害|人伤|伤人|伤及人员|有伤|伤)(?:的?(?:人员?|情况|"
    r"现象|问题))?"
)
_FINE = (
    r"(?:(?:一点|半点)事儿?(?:都|也)?没有|啥事(?:都|也)?没有|什么事(?:都|也)?没有|没事情|没事|没有事|没得事|莫得事|没有?任何事|"
    r"没有?任何问题|没问题|没有问题|平安无事|"
    r"平安|安全|安然无恙|毫发无[伤损]|好好的|挺好的?|"
    r"很好|好着呢|都好|冇事|"
    r"无事|无恙|木有事)"
)

_WHOLE = (
    rf"(?:{_EVERYBODY}(?:真的?|确实|肯定|绝对|一定|并)?(?:没得|莫得|没有?|无|未|木有|冇得?|冒得|么得)(?:{_HURT}){_TAIL}"
    rf"|(?:事故)?(?:现场)?(?:真的?|确实|肯定|绝对|并)?(?:没得|莫得|没有?|无|冇得?|木有)(?:任何|一个)?人员?(?:受(?:到)?伤|伤亡|伤着|"
    rf"死伤){_TAIL}"
    rf"|(?:现场)?(?:的|所有|全部)?(?:人员?|大家伙?儿?|大伙儿?|双方|两边|所有人|每个人)(?:人员?)?(?:也|都|全|全部|均|皆|也都|全都|通通|"
    rf"统统|倒是|是|倒|真的|确实|肯定){{0,4}}{_FINE}{_TAIL}"
    rf"|(?:都|全都?){_FINE}{_TAIL}"
    rf"|无人(?:员)?(?:受伤|伤亡)|(?:零|0)人?(?:员)?(?:伤亡|受伤|伤)|不存在(?:任何)?(?:人员)?(?:受伤|伤亡)(?:的?情况)?|人车(?:都|"
    rf"均)?(?:平安|没事|"
    rf"安全){_TAIL}|毫发无[伤损]{_TAIL}|安然无恙{_TAIL}"
    rf"|(?:一个|半个)?受伤的(?:人)?(?:一个|半个)?(?:都|也)?没有{_TAIL}|没一个受伤的?{_TAIL}"
    rf"|(?:人员)?(?:受伤|伤亡)(?:情况|人员|人数)?[:：]?(?:没有|没|无|0|零){_TAIL})"
)
_SHORT = (
    rf"(?:(?:都|也|全|一个|一个人|一个也|一个都|肯定|真|真的|绝对|确实|并|倒是){{0,3}}(?:没得|莫得|没有?|无|木有|冇得?|么得)(?:人|一个|"
    rf"任何人|任何|的事|这回事|这种情况|这情况)?{_TAIL}"
    rf"|零|0[个人]?|一切(?:都)?(?:平安|安全|好|正常){_TAIL}|不存在{_TAIL})"
)
_MARKS = r"[,，。.!！;；、:：~～…\-—\s\"“”'‘’()（）]"

# Cars, their parts and what happens to cars: composites, so that "严重" or "断了" count only when they are said of a car.
_CAR = (
    r"(?:(?:我|我们|咱|他|她|对方|人家|自己|双方|两|两家|后面|前面|那|这|他们|另外)?的?(?:一|两|俩|2|1|那|这|另一|几|多少)?(?:辆|台|部|"
    r"个)?的?"
    r"(?:小|大|轿|货|客|面包|越野|私家|家用|出租|网约|黑色|白色|红色|蓝色|灰色|银色|黄色|绿色|黑|白|红|新|旧|前|后|本|电动汽|新能源汽|"
    r"商务|皮卡|suv|机动){0,4}"
    r"(?:轿车|汽车|车辆|车子|车|suv|皮卡|奔驰|宝马|奥迪|大众|丰田|本田|特斯拉|比亚迪|五菱|捷达|桑塔纳|帕萨特|卡罗拉|凯美瑞|雅阁|思域|"
    r"特斯拉|理想|小鹏|蔚来))"
)
_PART = (
    r"(?:左|右|前|后|侧|边|两边|一侧|的|车){0,4}(?:保险杠|前杠|后杠|杠|车身|车门|车头|车尾|车屁股|屁股后面|车顶|车漆|漆面|车窗|车灯|"
    r"大灯|尾灯|头灯|雾灯|转向灯|灯|后视镜|倒车镜|反光镜|镜子|轮胎|轮毂|车胎|叶子板|翼子板|"
    r"引擎盖|机盖|发动机盖|后备箱盖子?|前盖|后盖|后备箱|门槛|车标|轮眉|尾门|底盘|侧面|侧边|车牌|车牌架|玻璃|前挡|挡风玻璃|雷达|水箱|"
    r"中网|门|裙边|侧裙|门把手|油漆|漆|车皮|"
    r"外壳|蒙皮|钣金)"
)
_AMOUNT = (
    r"(?:有点儿?|有些|稍微|稍|轻微|略微|一点儿?点?|一点点|一块|一下下?|一道|一条|几道|几条|好几道|一个|个|一小块|一大块|一片|些|点儿?|"
    r"不少|挺|比较|很|特别|非常|也|都|全|就|只是|只|还|给|被|得|的|了|有|好像)"
)
_DAMAGE = (
    r"(?:(?:被)?(?:刮|剐|擦|蹭|碰|撞|磕|划|挤)(?:花|坏|掉|破|伤|瘪|凹|变形|裂|烂|碎|歪|了|到|着|一下){0,4}|坏|掉漆|掉|凹陷|凹进去|凹|"
    r"瘪|裂开|裂纹|裂|碎|烂|破损|破|刮痕|划痕|擦痕|蹭痕|痕迹|印子|印|坑|变形|"
    r"损坏|损伤|受损|受伤|损失|毁|松动|松|脱落|断|掉下来|歪|爆胎|爆|不亮|报废|严重|轻微|不严重|不大|没事|没啥事|没什么事|没什么大?问题|"
    r"没啥大?问题|没有大?问题|没多大事|没什么大碍|没什么损失|问题不大|"
    r"没问题|没大事|没大碍|能开|开不了|动不了|走不了|花|洞)"
)
_CAR_STATE = rf"(?:{_CAR}|{_PART})(?:的?{_PART})?(?:{_AMOUNT}){{0,5}}{_DAMAGE}(?:{_AMOUNT}|{_DAMAGE}){{0,8}}+"
_OBJECT = (
    r"(?:(?:路边|旁边|停车场|地库|车库|门口|小区|水泥|石|隔离|中间|限高)?的?(?:一个|一根|一棵|个|根|棵)?(?:柱子|石柱|柱|墙角|墙壁|围墙|"
    r"墙|护栏|栏杆|隔离带|隔离栏|隔离墩|大树|树|电线杆|电杆|路灯杆?|灯杆|杆子|石墩子?|石头|水泥墩|墩子|"
    r"马路牙子|马路牙|路沿石|路沿|路肩|路牙|花坛|绿化带|台阶|桩子|桩|大门|门|栏|道闸|闸机|减速带|垃圾桶|垃圾箱|广告牌|指示牌|标志牌|"
    r"消防栓|锥桶|雪糕筒|限位器|限高杆|岗亭|坑|水沟(?!里)))"
)
_DRIVER = (
    r"(?:我们?|咱们?|本人|自己|我自己|对方|人家|他们?|她们?|双方|两个|两车|俩车|前车|后车|那个司机|对方司机|对方车主|前面|后面|前面的|"
    r"后面的|那人)"
)
_HIT = (
    r"(?:追尾|追了尾|碰撞|相撞|刮擦|刮蹭|剐蹭|擦碰|(?:轻轻|轻微|稍微|不小心|直接|突然|又|刚|给)?(?:撞|碰|刮|剐|擦|蹭|顶|怼|追|磕|"
    r"挤)(?:上|到|了|着|上了|到了|过|在|一下|一下下|一起|在一起|的|了一下){0,3})"
)
_COLLISION = (
    rf"(?:跟|和|与|同|把|被|让|给)?(?:{_CAR})?(?:的)?(?:{_PART})?(?:给|从后面|后面|在后面)?{_HIT}(?:的)?(?:{_CAR}|"
    rf"{_OBJECT})?(?:的)?(?:{_PART})?"
)
# A street or square by its name: no person in it, and it ends as places do.
_ADDRESS = (
    r"在(?:[^,，。.!！;；、他她我人老孩娃客司]|人(?=民)){1,10}(?:交叉口|路口|路|街|大道|广场|停车场|小区|桥上|附近|门口|收费站|"
    r"服务区)(?:上|旁边|边)?"
)
_CLOCK = (
    r"(?!一点(?![钟半多0-9一二三四五]))[0-9零一二两三四五六七八九十]{1,3}点(?:[0-9零一二三四五六七八九十]{1,3}分?|半|钟|多|一刻|"
    r"左右){0,2}"
)
_NUMBERS = r"(?:[0-9]{1,4}|[零〇一二两三四五六七八九十百半]+)"

# Said of a person, these words of traffic mean a person was hit. They undo what the lists above allow.
_PERSON_HIT = re.compile(
    r"(?:我|他|她|对方|人|司机|孩子|老人|乘客|行人)(?:也|都|是|就|给|才|还){0,4}被(?!追尾|追了尾|后车|前车|对方的?车|别的车|别人的?车|"
    r"人家的?车|他的?车|她的?车|一辆|那辆|这辆|一台|车追|追)"
    r"|(?<!没)(?<!没有)(?<!未)(?:撞|碰|刮|剐|擦|蹭|顶|怼|挤|磕|压)(?:上|到|了|着|伤|倒|死|飞|过|在){0,3}(?:他|她|人|我|个人|谁)(?!家|"
    r"们的|的|车|自己的|前|后|"
    r"的车|尾|左|右|门|保|们车)"
    r"|(?:他|她|对方|我|司机|人)(?:也|都|就)?(?:撞|碰|磕|刮|擦|蹭|挤)(?:了|着)?(?:一下)?(?=$|[,，。.!！;；、])"
    r"|(?:他|她|对方|司机|人)(?:也|都|就|还)?(?:断|坏|破|歪|裂|烂|凹|掉|毁|损)"
)
# "No, only me": a denial for all but one.
_ONLY_SOMEBODY = re.compile(
    r"(?:没|无)[^车]{0,12}(?:就|只|只有|就是|只是|除了|但是?)(?:是|有|剩)?(?:我|他|她|对方|人家|司机|驾驶[员人]|本人|自己|"
    r"[一两二三几0-9]个|有人)"
    r"(?:们|自己|一个人?|两个人?|本人|受|有){0,2}(?:的|了|吧|啊)?(?=$|[,，。.!！;；、])"
    r"|[,，。.!！;；、](?:但是?|可是|不过|就是)?(?:我|他|她|对方|人家)们?[.…~。]*$"
)


def _word_lists(text: str) -> dict[str, list[str]]:
    """`[name]` lines open a list; words are parted by blanks; `#` lines are comments."""
    lists: dict[str, list[str]] = {}
    words: list[str] = []
    for line in text.splitlines():
        if line.startswith("["):
            words = lists.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            words += line.split()
    return lists


_Patterns = tuple[re.Pattern[str], ...]
_WORD_LISTS = _word_lists(files("domain").joinpath("harmless_words.txt").read_text("utf-8"))
_NEGATION = re.compile(_NOT)
_PARTICLES = "啊呀哦呢嘛哈啦噢喔"
_MARK = re.compile(_MARKS)
_WHOLE_DENIAL = re.compile(_WHOLE)
_SHORT_DENIAL = re.compile(_SHORT)
_ANY_DENIAL = re.compile(
    rf"(?:{_DRIVER}|{_EVERYBODY}|{_CAR}|[和跟与同]|(?:我|我们|对方|他)?(?:这边|那边|这里|方|车上|车里)的?人?|车上的?人?|乘客|驾驶员|"
    rf"司机|老婆|老公|大人|小孩|老人|孩子|朋友|家人){{0,4}}+(?:也|"
    rf"都|全|均){{0,3}}+"
    rf"(?:{_NOT}(?:{_HURT}|撞[到了]?人|碰[到了]?人|刮[到了]?人|压[到了]?人|人)|{_FINE}){_TAIL}|{_WHOLE}"
)
_COMPANY = tuple(re.compile(pattern) for pattern in (_CAR_STATE, _COLLISION, _ADDRESS, _CAR, _PART, _OBJECT, _CLOCK, _NUMBERS, _MARKS))
_WORDS = frozenset(word for words in _WORD_LISTS.values() for word in words)
_AROUND = frozenset(_WORD_LISTS["around"])
_LONGEST = max(map(len, _WORDS))


def is_whole_denial(plain: str, *, is_asked: bool) -> bool:
    """`plain` (domain/injury.py folds it) is a denial that covers everybody, said once or more, and polite noise; nothing else.
    While the question is open, a bare "no" is one too."""
    denials = (_WHOLE_DENIAL, _SHORT_DENIAL) if is_asked else (_WHOLE_DENIAL,)
    return _is_made_of(plain, denials, (_MARK,), _AROUND)


def is_explained(plain: str, *, is_asked: bool) -> bool:
    """A denial, whomever it covers, beside nothing but harmless wording about the accident. While the question is open, a bare "no" is
    one too."""
    if _PERSON_HIT.search(plain) or _ONLY_SOMEBODY.search(plain):
        return False
    return _is_made_of(plain, (_ANY_DENIAL, _SHORT_DENIAL) if is_asked else (_ANY_DENIAL,), _COMPANY, _WORDS)


def denies_for_all(plain: str) -> bool:
    """Somewhere in the utterance stands a denial that covers everybody."""
    return _WHOLE_DENIAL.search(plain) is not None


def _is_made_of(plain: str, needed: _Patterns, allowed: _Patterns, words: frozenset[str]) -> bool:
    """The text can be cut into known pieces from end to end, one of them needed. All cuts are tried, place by place, each place once for
    every way to have got there: with or without a denial so far, and the denial that ends right here."""
    reached: list[set[tuple[bool, str]]] = [set() for _ in range(len(plain) + 1)]
    reached[0].add((False, ""))
    for place in range(len(plain)):
        if not reached[place]:
            continue
        ends = {match.end() for pattern in allowed if (match := pattern.match(plain, place))}
        ends |= {place + size for size in range(1, _LONGEST + 1) if plain[place : place + size] in words}
        for end in ends:
            if place < end <= len(plain):
                reached[end] |= {(found, "") for found, _ in reached[place]}
        for end in {match.end() for pattern in needed if (match := pattern.match(plain, place))} - {place}:
            piece = plain[place:end]
            reached[end] |= {(True, piece) for _, before in reached[place] if not _denies_denial(before, piece)}
    return any(found for found, _ in reached[-1])


def _denies_denial(before: str, piece: str) -> bool:
    """ "Nobody is not hurt": two different denials with nothing in between, not even a breath."""
    return bool(before) and before != piece and before[-1] not in _PARTICLES and _NEGATION.match(piece) is not None
