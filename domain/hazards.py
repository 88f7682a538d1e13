"""Dangers and complications other than injuries, by lexicon: what takes a case to a person even when nobody is hurt.

One row a category. `certain` words raise it; the same words under a linked negation deny it; `doubtful` words ask one question first, in a
category that has one. `innocent` words look alike and mean something else: they are gone before the row reads.
"""

import re
from dataclasses import dataclass

from domain.handoff_reason import HandoffReason
from domain.injury import Verdict, heard
from domain.questions import QuestionId

_R, _Q = HandoffReason, QuestionId
_NOTHING = re.compile(r"(?!)")
_ASKED = re.compile(r"有没有|是不是|不知道|不清楚|不确定|会不会|好像不|要不要|用不用|需不需要|能不能|吗|\?|如果|要是|万一|假如")
_CLAUSE = re.compile(r"[,，。.!！;；\n]|但是|不过|可是|就是|只是")
_OTHERS = r"对方|他|她|那人|那车|那个人|那辆车|司机|前车|后车|前面(?:的|那)?车|后面(?:的|那)?车|肇事(?:车|者|司机)|人家|白车|黑车|货车|轿车"
_DRINK = r"(?:点|一?点儿?|一?杯|[两几三四]杯|[一两几]口|[一两几]瓶|很多|不少|过|大|些|啤|白|红|米|黄|药|的是)*"
_BIG_VEHICLES = (
    r"公交(?:车|大巴)?|公共汽车|大客车?|大巴|中巴|旅游巴士|大货车?|重卡|大卡车?|卡车|半挂|挂车|渣土车|泥头车|水泥罐?车|搅拌车|集装箱车"
)


@dataclass(frozen=True, slots=True)
class Hazard:
    reason: HandoffReason
    certain: re.Pattern[str]
    doubtful: re.Pattern[str] = _NOTHING
    question: QuestionId | None = None  # what a doubtful word asks
    innocent: re.Pattern[str] = _NOTHING


HAZARDS: tuple[Hazard, ...] = (
    Hazard(
        _R.FIRE,
        re.compile(
            r"着火|起火|失火|冒(?:着|出)?[黑白浓青]?烟|[黑浓]烟|maoyan|zhaohuo|火星子?|🔥|(?:机盖|车头|发动机|引擎|油箱|车尾|"
            r"机舱)[^,，。]{0,3}着了|"
            r"自燃|火苗|明火|火光|爆炸|炸了|烧起来|着起来|烧着了?|在烧|燃烧|烧了起来|点燃"
        ),
        re.compile(r"烟小|(?:没|不)(?:再|怎么)?冒烟了|糊味|焦味|烧焦|有烟|一股烟|火[^,，。]{0,3}灭|扑灭|灭火器|冒气|发烫"),
        _Q.CONFIRM_FIRE,
        re.compile(r"(?:打不|打|点|发动不)着火|着急上火|火锅|火车站?|防火|火药味|烧(?:烤|钱|饭)|抽烟|香烟|尾气"),
    ),
    Hazard(
        _R.ENTRAPMENT,
        re.compile(
            r"被?困(?:在|住|到)|被困|卡(?:住|死)(?:了)?(?:出不来|动不了|下不来)|卡在(?:车|里面|座|驾驶|方向盘|副驾)|夹住(?:了)?(?:人|"
            r"腿|脚|手|出不来)|"
            r"(?:人|腿|脚|手|司机|他|她)(?:也|都|被|还|给){0,2}(?:卡|夹|挤)(?:住|在)|压在(?:车|底)|压住了?(?:人|腿|脚)|(?:人|他|她|"
            r"司机|我)[^车,，。]{0,4}出不来|"
            r"出不来人|破拆|(?:拽|拉|弄|爬|逃|钻)不出|解不开安全带|倒挂|人(?:都|也)?(?:还)?没(?:有)?出来|人(?:都|也)?(?:还)?在(?:里面|"
            r"里头)(?!等|坐)|"
            r"(?:人|师傅|司机|身子|身体)[^,，。]{0,3}卡着|没过(?:车窗|窗户|车顶)|"
            r"下不(?:来|了)车|(?:车门|门)[^,，。]{0,4}(?:打不开|变形)[^,，。]{0,6}(?:出不|下不|里面有人|人在里)"
        ),
        re.compile(r"卡住|夹住|出不来|(?:车门|门)[^,，。]{0,4}打不开|(?:还|有人)(?:留)?在车(?:里|上|内)(?:没|出|面)"),
        _Q.CONFIRM_TRAPPED,
        re.compile(r"困难|(?:好|很|太|有点|犯|疲)困|困在(?:车流|路上|堵)|夹在[^,，。]{0,3}(?:车|中间)"),
    ),
    Hazard(
        _R.HAZMAT,
        re.compile(
            r"危险(?:化学)?品|危化|罐车|化学(?:品|原料|药)|化工|泄漏|泄露|漏(?:了|出|着|一地|出来)?(?:的)?(?:汽|柴|机)?油|油(?:都|一直|"
            r"在|也)?漏|汽油味|煤气|天然气|"
            r"液化气|燃气|农药|有毒|毒气|剧毒|硫酸|盐酸|强酸|酒精罐|腐蚀|易燃|易爆|烟花爆竹|雷管|炸药|放射"
        ),
        re.compile(
            r"漏水|漏液|漏东西|(?:一|满)地(?:的)?(?:油|液体|水)|有油|油味|滴油|(?:奇怪的?|怪|刺鼻的?|难闻的?)味|刺鼻|加气站|不明液体|漏气"
        ),
        _Q.CONFIRM_HAZMAT,
        re.compile(r"(?:轮胎|胎|车胎|气囊|空调)[^,，。]{0,3}漏气|漏(?:拍|了?说|掉|交|填)|(?:泄|透)漏(?:个人|信息|隐私)"),
    ),
    Hazard(
        _R.DRUNK_DRIVING,
        re.compile(
            rf"喝(?:了|过|的)?{_DRINK}酒|喝酒|饮酒|酒后|(?:酒|身上)味|酒气|酒驾|醉|喝(?:得|的)?(?:太)?(?:多|高|大|麻)了?|毒驾|吸毒|"
            rf"嗑药|磕了药|溜冰毒|"
            r"喝(?:了)?(?:几|两|一|三)(?:杯|瓶|口|两)|hejiu|饮(?:大|咗|多)|[一二两三半几0-9]+[两斤]的?白的?|抿了|碰了[两几三一]杯|"
            r"酒蒙子|酒鬼|喝到[^,，。]{0,4}点"
        ),
        innocent=re.compile(
            r"查酒驾|酒店|酒厂|酒吧|酒楼|酒水|酒席|水喝多|(?:喝|带)(?:了)?(?:几|两|一|三)(?:杯|瓶|口)(?:水|茶|咖啡|奶茶|可乐|饮料)|陶醉"
        ),
    ),
    Hazard(
        _R.HIT_AND_RUN,
        re.compile(
            rf"逃逸|肇事[^,，。]{{0,4}}(?:逃|跑)|逃离|撒腿|蹽了|脚底抹油|没影|走咗|taoyi|(?:没|压根没|根本没)停[^,，。]{{0,6}}(?:走|开|"
            rf"跑)|接着开|骑跑了|"
            rf"逃跑|跑路了|(?:{_OTHERS})[^,，。]{{0,8}}(?:跑了|逃了|开走了|溜了|跑掉|跑没影|跑远|不见了|开车走|驾车离开|"
            rf"开车离开|扬长而去|一溜烟)|"
            r"(?:撞|刮|蹭|追|碰)(?:了|完|到|上)?(?:人|我|我的?车)?(?:之后|后|完)?(?:就|直接|没停)(?:跑|逃|溜|开走)|^(?:人|车)?(?:就|"
            r"已经|早)?跑了|找不到对方|没停(?:车)?就走|早跑了|一个人影没有"
        ),
        innocent=re.compile(
            r"(?:开走|挪)[^,，。]{0,4}(?:挪|让|靠边|(?<!没)停|路边)[^,，。]*|(?:魂|心)[^,，。]{0,2}跑了|跑(?:了)?(?:多少|"
            r"[0-9一二两三四五六七八九十]+)(?:万|公里|步)"
        ),
    ),
    Hazard(
        _R.NO_LICENCE,
        re.compile(
            r"(?:没有?|无|没考|没拿|还没拿|没得)(?:到)?(?:考)?(?:驾驶证|驾驶执照|驾照|驾驶本|行驶资格|本儿?(?=$|[,，。]))|无证|"
            r"(?:驾照|驾驶证|驾驶本|证)(?:也|都|已经|早就|早|被|给|让|还){0,3}(?:吊销|注销|扣了|暂扣|过期|扣满|扣完|没有?考|到期|失效|"
            r"没下来|没拿)|科目[一二三四][^,，。]{0,4}(?:没|还没|不)过|meijiazhao|哪来的本|准驾|增驾|"
            r"C1[^,，。]{0,4}开[^,，。]{0,2}[AB]|未成年|偷开|实习期上高速"
        ),
        re.compile(r"没带(?:驾驶证|驾照|证|本)|(?:驾照|驾驶证|证件?|本)[^,，。]{0,4}(?:没带|忘|落|不在身上)"),
        _Q.CONFIRM_LICENCE,
        re.compile(r"身份证|行驶证|保险证|(?:没有?|无)证(?:人|据)"),
    ),
    Hazard(
        _R.NO_PLATE,
        re.compile(
            r"无牌|(?:没|未)有?(?:上|挂|装|办)?(?:车)?牌照?(?!子)|没有?(?:上|挂)(?:车)?牌|(?:没|无|未)有?号牌|套牌|假(?:车)?牌|"
            r"牌[^,，。]{0,6}(?:一看就)?假|临时?牌|"
            r"临时号牌|遮挡号牌|"
            r"(?:没|无|未)有?(?:买|上|交|投)?(?:车|交强)?(?:保险|险)(?!杠|公司)|保险[^,，。]{0,4}(?:过期|到期|脱|断|没买|没交|没续)|"
            r"脱保|脱险|没年检|年检过期|没有?审车|报废车"
        ),
        innocent=re.compile(r"脱险了|没(?:事|有)?危险|没牌面"),
    ),
    Hazard(
        _R.VIOLENCE,
        re.compile(
            r"打人|揪着?(?:我|领)|围住(?:了)?我?|围着我|钢管|推了我|砸(?:了)?我|骂我|开瓢|斩我|砍我|捅我|打(?:了)?我(?!的?电话|电话)|"
            r"(?:要|想|动手)打|被打|挨打|动手(?:打|了|$)|打起来|打架|打(?:了)?起架|持刀|拿(?:着)?(?:刀|棍|扳手|砖)|威胁|揍|"
            r"扇(?:了)?(?:我|耳光)|踹|推搡|掐(?:我|脖)"
        ),
        innocent=re.compile(r"打(?:了)?(?:人|我)[家的]?[^,，。]{0,2}电话|自己动手|动手术|打人工"),
    ),
    Hazard(
        _R.DISPUTE,
        re.compile(
            r"不认(?!识|得|路|字)|不承认|争议|争执|扯皮|吵(?:起来|架|了|着|翻)|争吵|谈不(?:拢|妥)|说不(?:拢|通)|协商不|不(?:肯|"
            r"愿意?)(?:认|承担|赔|私了|签)|不同意|"
            r"不让(?:我)?走|拦着|堵着不|堵(?:着)?(?:车|路)不让|赖账|耍赖|讹|碰瓷|各执一词|反悔|凭什么我|不签字|谈崩|各说各|张口就要|"
            r"不给不让|chaoqilai|都说是对方|不服|推卸"
        ),
        innocent=re.compile(r"路堵着|不同意见"),
    ),
    Hazard(
        _R.VEHICLE_IMMOBILE,
        re.compile(
            r"(?:车|车子|车辆|轮子|轮胎)(?!上|里|内)[^人他她,，。]{0,5}(?:动不了|开不走|不能动|开不动|走不了|不能开|开不了|没法开|"
            r"没法动|打不着火|发动不了|抛锚|趴窝|掉沟|翻了)|"
            r"拖车|拖走|板车拉|得拖|发动不起来|推不动|半轴断|悬空|(?:前|后|左|右)?轮(?:子|胎)?[^,，。]{0,3}掉了|dongbuliao|清障|救援车|"
            r"爆胎|(?:轮子|车轮|轮胎)[^,，。]{0,3}(?:掉|飞|断|瘪)|(?:安全)?气囊[^,，。]{0,3}(?:弹|爆|打|炸|开)"
        ),
        innocent=re.compile(
            r"别被?拖走|怕被?拖走|拖车(?:公司|钩)|气囊(?:都|也)?没[^,，。]{0,2}(?:弹|爆|打|炸|开)|(?:还|都|也)?能开走|堵(?:得|的)?(?:车)?[^,，。]{0,3}动不了"
        ),
    ),
    Hazard(
        _R.SPECIAL_VEHICLE,
        re.compile(
            rf"警车|军车|武警车|校车|军牌|WJ|wj|渣土|集装箱|巴士|幼儿园(?:专用|校车)|dahuoche|{_BIG_VEHICLES}|(?:撞|碰|刮|追|蹭|跟|和|"
            rf"与)[^,，。]{{0,6}}救护车|消防车|工程车|吊车|铲车|挖掘机|拖拉机|油罐车|外国车牌|使馆车"
        ),
        innocent=re.compile(
            r"(?:公交|大巴|校车|公共汽车|货车|卡车)(?:后头|后面|旁边|站|卡|车站|站台|专用|道|车道|司机说|停靠|公司|优先)|小(?:货车|"
            r"卡车|客车)|皮卡车?|"
            r"等(?:公交|校车|大巴)(?:车)?|(?:坐|挤)(?:公交|大巴)车?|"
            r"(?:叫|喊|等|打|派|联系)[^,，。]{0,3}(?:警车|消防车|救护车)|(?:警车|消防车|救护车)[^,，。]{0,3}(?:来了|到了)"
        ),
    ),
    Hazard(
        _R.NON_MOTOR,
        re.compile(r"行人|路人|走路的|过马路的|步行的|轮椅|滑板车|小推车|骑手|送餐的"),
        innocent=re.compile(
            r"行人(?:道|横道|天桥|通道|过街)|人行(?:道|横道)|(?:没|没有)行人|路人(?:甲)?(?:说|帮|报|拍|看|提醒|告诉|打)|人行"
        ),
    ),
    Hazard(
        _R.OTHER_PARTY_ABSENT,
        re.compile(
            r"(?:对方|车主|司机)(?:的)?(?:人|车主|司机)?(?:也|都|现在|已经)?(?:不在|没在|没来|没出现)|"
            r"停着(?:的时候)?(?:就)?被(?:人)?(?:撞|刮|蹭|碰)|停(?:在|的)[^,，。]{0,6}被(?:人)?(?:撞|刮|蹭|碰)|"
            r"(?:联系|找|打)不(?:上|到|着|通)[^,，。]{0,3}(?:对方|车主|人)|(?:对方|车主)[^,，。]{0,4}(?:联系|打)不(?:上|通)|"
            r"不知道(?:是)?谁(?:撞|刮|蹭|碰|干)的?|谁(?:撞|刮|蹭)的我|(?:本人|主人|车上|人)(?:都|也)?(?:不在|没在|没来|没人)|没人来认|"
            r"空车|电话[^,，。]{0,3}(?:没人接|打不通|打唔通|冇人)|唔喺度|纸条都没|没见着人|对方先(?:走|回)"
        ),
    ),
    Hazard(
        _R.NON_ID_DOCUMENT,
        re.compile(
            r"(?:只有|用|是|拿|持|办|用的是)(?:的)?(?:护照|港澳|台胞证|军官证|士兵证|回乡证|通行证|居住证|外国人)|没有?(?:中国|"
            r"大陆)?身份证(?!号?码?(?:照|复))|外国人|外籍|老外"
        ),
        innocent=re.compile(r"没有?(?:带)身份证"),
    ),
    Hazard(
        _R.OTHER_COMPLEX,
        re.compile(
            r"不想活|不活了|buxianghuo|活着没意思|一了百了|轻生|寻死|再也不醒|药我?都?准备好|不打算过明天|照顾我(?:妈|爸|孩子|家人)|"
            r"烧(?:我|死|他)|活不下去|撞死(?:他|她|你|他们)|弄死|杀了?(?:他|她|你|人)|自杀|自残|同归于尽|跳(?:桥|楼|下去)|砍(?:死|他|"
            r"人)"
        ),
        innocent=re.compile(r"跳(?:桥|楼)价"),
    ),
)

QUESTION_REASONS: dict[str, HandoffReason] = {hazard.question: hazard.reason for hazard in HAZARDS if hazard.question}
_NOT = r"(?:没有?|未|无|不是|不存在|没得|冇|木有|并没有?|不涉及|不用|不需要|没必要)"
_LINK = r"(?:人员|人|任何|什么|发生|出现|看到|闻到|有|在|再|是|叫|要|什么的)"
# A list under one negation: "没有着火、冒烟或者漏油".
_LISTED = r"(?:[\u4e00-\u9fff]{1,6}?(?:、|或者?|和|及|与|也没有?))"
_NEGATED = re.compile(rf"{_NOT}{_LINK}{{0,3}}(?:{_LISTED}{_LINK}?){{0,4}}$")
_DOUBLE_NEGATION = re.compile(r"(?:不是|并非|不可能|怎么会|哪能|谁说)(?:没|不|未)")
_REACH = 40  # characters; a negation stands no farther left of its term
_DENIED_AFTER = re.compile(r"(?:情况|现象|问题|的)*(?:[:：]|都|也|倒)?(?:没有|没|无|不存在)(?:$|[的啊呀了])")


def hazards(text: str) -> dict[HandoffReason, Verdict]:
    """What a text says about each category: PRESENT, UNCERTAIN or ABSENT. A category that is not named is not in the result."""
    clauses = [clause for clause in _CLAUSE.split(heard(text)) if clause]
    found: dict[HandoffReason, Verdict] = {}
    for hazard in HAZARDS:
        verdicts = {_read(hazard.innocent.sub("", clause), hazard) for clause in clauses}
        for verdict in (Verdict.PRESENT, Verdict.UNCERTAIN, Verdict.ABSENT):
            if verdict in verdicts:
                found[hazard.reason] = verdict
                break
    return found


def _read(clause: str, hazard: Hazard) -> Verdict:
    doubtful = hazard.doubtful.search(clause)
    is_doubted = doubtful is not None and not _is_negated(clause, doubtful)
    terms = list(hazard.certain.finditer(clause))
    if not terms:
        return Verdict.UNCERTAIN if is_doubted else Verdict.ABSENT if doubtful else Verdict.NONE
    if all(_is_negated(clause, term) for term in terms):
        return Verdict.UNCERTAIN if is_doubted else Verdict.ABSENT
    if _ASKED.search(clause):
        return Verdict.UNCERTAIN if hazard.question else Verdict.NONE
    return Verdict.PRESENT


def _is_negated(clause: str, term: re.Match[str]) -> bool:
    left = clause[max(0, term.start() - _REACH) : term.start()]
    if _DOUBLE_NEGATION.search(left):
        return False
    return _NEGATED.search(left) is not None or _DENIED_AFTER.match(clause, term.end()) is not None
