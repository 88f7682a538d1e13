"""Is somebody hurt? Reads one utterance and says PRESENT, UNCERTAIN, ABSENT or NONE. Deterministic, runs before any model.

Built to raise and to doubt, not to clear: ABSENT is only one of two keys, and domain/reassurance.py says how far it may be trusted.
Negation counts when it is linked to the term; any other negation is doubt.
"""

import re
from enum import StrEnum

from domain.rules.simplified import simplified
from domain.rules.wording import normal


class Verdict(StrEnum):
    PRESENT = "present"
    UNCERTAIN = "uncertain"
    ABSENT = "absent"
    NONE = "none"


_HOMOPHONES = {
    "meiyouren": "没有人",
    "meiyou": "没有",
    "meiren": "没人",
    "meishi": "没事",
    "每有人": "没有人",
    "没友人": "没有人",
    "没又人": "没有人",
    "呒没": "没有",
    "流学": "流血",
    "头运": "头晕",
    "受商": "受伤",
    "首伤": "受伤",
    "手伤": "受伤",
    "shou伤": "受伤",
    "shoushang": "受伤",
    "流雪": "流血",
    "liuxue": "流血",
    "骨者": "骨折",
    "骨哲": "骨折",
    "guzhe": "骨折",
    "晕到": "晕倒",
    "头云": "头晕",
    "脑壳": "脑袋",
}
# What is said of a machine: "车没气了", "刹车不行了".
_MACHINE = re.compile(
    r"车(?:子|辆|身)?(?:也|都|倒是|倒|其实){0,2}没有?(?:什么|啥|多)?大?(?:问题|事|碍|损失|损坏)(?:的|了|吧)?(?=$|[,，。.!！;；、])|"
    r"(?:(?:汽|轿|货|我的|这|那|辆)?车子?|刹车|轮胎|车胎|胎|电瓶|电池|发动机|手机|空调|引擎|变速箱|离合)(?:也|都|就|好像|一下|突然|又|"
    r"熄火){0,3}(?:没气|不行|没反应|死|没电)了?(?![^,，。]{0,2}[人他她])"
)
# An idiom goes only where it cannot be the end of a killing (`撞死｜路边`) or the start of another word (`死｜机动车`, `伤｜心脏`).
_IDIOMS = re.compile(
    r"他妈的|妈的|特么|痛快|(?:(?<=系统)|(?<=手机)|(?<=页面)|(?<=网络))卡死|疼死我的?(?=车|爱车|新车)|伤到(?=车?漆|车身|轮毂|车门|门板|"
    r"保险杠|杠|后视镜|钣金)|"
    r"(?<![撞压轧碾砸辗打摔人])(?:吓死|气死|累死|急死|烦死|堵死|冤死|笑死|热死|冻死|该死|拼死|伤脑筋|伤感情|伤心(?!脏|口)|"
    r"死机(?!动)|死角|死胡同|死板|死路一条|死心(?=塌|眼|了?$|了?[,，。]))|"
    r"肉疼|(?<=脑)袋?疼(?=的是)|心疼(?:死)?(?:我|他|她|这|那|自己|刚|新|爱|买|辆|台|的|了){0,4}(?:车(?!上|里|内|主)|钱|漆)|头疼(?:的是|"
    r"这)(?![我他她老小孩乘司那人])"
)
_ANIMALS = re.compile(
    r"(?:撞|压|轧|碾|碰)(?:死|伤|到|上|了){0,3}(?:一|两|几)?(?:只|条|头)?(?:小|流浪|野|别人的|人家的)?(?:狗|猫|鸡|鸭|鹅|羊|牛|猪|兔子?|"
    r"鸟|蛇)(?!和|跟|还有|、|主)"
)
_HEARTACHE = re.compile(r"(?:心疼|头疼的是|头疼这)(?:死(?:我)?了?)?")  # pity or pain: a question tells

_PART = (
    r"(?:车身|车门|车头|车尾|车顶|车漆|车窗|车灯|保险杠|前杠|后杠|漆|大灯|尾灯|后视镜|倒车镜|轮胎|轮毂|叶子板|翼子板|引擎盖|机盖|底盘)"
    r"(?:面|皮)?"
)
_CAR = r"车(?:辆|子)?"
_VEHICLE_SUBJECT = (
    r"(?:^|(?<=[,，。.！!；;、\n])|(?<=没事)|(?<=没受伤)|(?<=没有受伤)|(?<=平安)|(?=就是|只是|但是|不过|可是))"
    r"(?:就是|只是|只有|但是?|不过|可是|然后|主要是?)?[我你他她们的两这那辆台部前后左右边侧面只都也新旧小轿货黑白红色对双方自己家就是]{0,8}"
)
_VEHICLE_END = (
    r"(?:了|的|啊|呢|点|一点|一点点|一块|一些|而已|严重|厉害){0,3}"
    r"(?=$|[,，。.！!；;、\n]|但|不过|可是|就是|只是|人(?:员)?(?:都|也|全)?(?:没事|没有事|没受伤|没有受伤|平安))"
)
_HOW = r"(?:也|都|就|只|只是|有点|稍微|轻微)?"
_BY_SOMEBODY = r"被(?:对方|别人|他|人|前车|后车|一辆)?(?:的?车)?给?"
_HURT_VEHICLE = re.compile(
    f"{_VEHICLE_SUBJECT}(?:{_PART}{_HOW}(?:受|碰|刮|擦|撞|划|蹭|剐|磕)伤|{_CAR}{_HOW}(?:受|刮|擦|划|蹭|剐)伤|"
    f"(?:{_CAR}|{_PART})(?:的)?[左右前后][侧边面部方]{_HOW}(?:刮|擦|划|蹭|剐)伤|"
    f"(?:{_CAR}|{_PART}){_HOW}{_BY_SOMEBODY}(?:碰|刮|擦|撞|划|蹭|剐|磕|砸)伤){_VEHICLE_END}"
)
_MAYBE_HURT_VEHICLE = re.compile(f"{_VEHICLE_SUBJECT}{_CAR}{_HOW}(?:碰|撞|磕)伤{_VEHICLE_END}")  # the car was hurt, or hurt somebody
_VEHICLE_LEFT = re.compile(f"(?:{_CAR}|{_PART})(?:都|也|倒是|倒|全都?|并){{0,2}}$")
_SEPARABLE = re.compile(r"受(?:了|过|着|点|些|到|了点|了些|了轻|了重|了一?点儿?)伤|受的伤")
_QUESTION_AND_ANSWER = re.compile(r"(?:人员)?(?:受伤|伤亡)(?:情况|人员|人数)?[:：]\s*(?:没有|没|无|0|零)(?=$|[,，。.;；])")

_PERSON = (
    r"(?:行人|路人|老人|老太太?|老头|老奶奶|老爷爷|小孩|孩子|小朋友|小男孩|小女孩|男孩|女孩|男生|女生|男的|女的|娃|婴儿|宝宝|学生|大爷|"
    r"大妈|大叔|阿姨|骑车的|骑(?:自行|电动|电瓶|摩托|三轮)车的|过马路的|走路的|"
    r"奶奶|爷爷|骑手|外卖员|外卖小哥|快递员|环卫工|工人|交警|乘客|司机|孕妇|妇女|老婆|老公|儿子|女儿|我妈|我爸|人(?!行道|行横))"
)
_COUNTED = r"(?:(?:一|两|二|三|四|几|好几|[0-9])?(?:个|位|名|群|对))?"
_HIT = r"(?:撞|碰|压|刮|剐|蹭|轧|碾|顶|砸|夹|绊)"
_HEAD = r"(?<![车前后里石木镜像龙码这那路两迎对掉调回机一])(?:头|额头)|脑袋|脑门"
_BODY = (
    f"(?:{_HEAD}|脸|眼睛|鼻子|鼻梁|嘴|牙|下巴|脖子|肩膀|锁骨|胳膊|手臂|手腕|手指|(?<!门把)(?<!扶)手|胸|胸口|肋骨|肚子|腰|(?<![靠椅])背|"
    f"大腿|小腿|腿|膝盖|脚踝|脚|骨头)"
)
_BROKEN = (
    r"(?:断|折|破|裂|肿|露|扭|崴|划|刮|剐|擦|磕|碰|夹|压|撞|砸|轧|碾|烫|青|麻|酸|卡|脱臼|变形|动不了|不能动|不行|抬不|"
    r"看不见|看不清|睁不开|听不见|没知觉|没有知觉)"
)
# Denying one of these leaves every lesser injury open.
_DEATH = (
    r"死了|死人|死亡|去世|身亡|没气了|没了?(?:呼吸|心跳|脉搏)(?!困难|急促|不|加)|没有(?:呼吸|心跳|脉搏)(?!困难|急促|不|加)|"
    r"断气|咽气|(?:撞|压|轧|碾|砸|辗|摔|打)死|人(?:都|也|已经|就)?没了|没气息|遇难"
)
_GRAVE = (
    rf"{_DEATH}|(?:没|没有|没了|无|失去|丧失)意识(?!到)|不行了|"
    r"(?:呼吸|心跳|脉搏|意识)(?:都|也|已经)?(?:没了|没有了|停|微弱|不清|模糊)|"
    r"送医|住院|抢救|icu|重症|手术|缝针|缝了|担架|病危|病重|生命危险|人命|救命|奄奄一息|"
    r"不省人事|[叫喊]不[醒应]|醒不过来|昏过去|昏死|昏了|休克|抽搐|抽筋|痉挛|白沫|神志不清|脑震荡|瘫[在倒]|命悬一线|呼吸困难|呼吸急促|"
    r"呼吸不|喘不[上过了]|透不过气|上不来气|瘫痪|瘫了"
)
# Denying one of these speaks of everybody; denying any other word speaks of that complaint alone.
_GENERAL = (
    f"受伤|伤者|伤员|伤到人|伤了人|伤人|有人伤|伤亡|死伤|(?:撞|碰|压|轧|碾|砸|摔|磕|夹|弄)伤|{_HIT}(?:到|了|着)?人(?!行道|行横)|带到人|"
    f"人被撞|"
    r"人(?:都|也)?有(?:点|些)?事(?!要|找|先|故|情)|伤了|伤到|伤着"
)
_COMPLAINT = (
    f"{_HIT}(?:到|了|倒|倒了|飞|飞了|上|着|翻|伤|伤了|死|死了)?{_COUNTED}{_PERSON}|[擦划]伤了?{_COUNTED}{_PERSON}|"
    f"把{_COUNTED}{_PERSON}(?:都|也|给){{0,2}}(?:{_HIT}|带倒|弄倒|弄伤)|"
    f"{_PERSON}(?:也|都|是|给|就){{0,2}}被[^,，。]{{0,6}}(?:{_HIT}|卡|困|甩|抛)|"
    f"(?:对方|[我他她])(?:也|都)?被[^,，。]{{0,6}}{_HIT}(?:倒|昏|晕|伤)|(?<![车杠镜牌灯盖胎])被[撞甩抛弹]飞|"
    f"{_BODY}(?:都|也|给|好像|全|摔|撞){{0,2}}(?:被[^,，。]{{0,4}})?{_BROKEN}|"
    f"(?:{_HIT}|烫)(?:到|了|着|伤|伤了|住|住了|破|断)(?:我|他|她|对方|孩子|老人)?的?{_BODY}(?![垫踏刹架套机把盖轮挡面后景线车灯])|"
    r"[一二两三四五六几0-9]死[一二两三四五六几0-9]伤|(?:满|浑身|全身|一身|一脸|都是|全是|好多|很多|大量)[^,，。]{0,2}血|"
    r"内伤|外伤|脱臼|胸口闷|轻伤|重伤|擦伤|扭伤|骨折|骨裂|骨头断|流血|流了[^,，。]{0,3}血|出血|见血|吐血|昏迷|晕倒|头晕|晕|头疼|头痛|"
    r"脖子疼|脖子痛|腰疼|腰痛|"
    r"胸闷|憋气|胸口疼|疼|痛|恶心|想吐|呕吐|麻木|起不来|站不起来|磕破|摔破|撞破头|破了头"
)
_INJURY = f"{_GENERAL}|{_COMPLAINT}"
_TERM = re.compile(f"{_GRAVE}|{_INJURY}")
_DEATH_TERM = re.compile(_DEATH)
_GRAVE_TERM = re.compile(_GRAVE)
_GENERAL_TERM = re.compile(_GENERAL)
_RESCUE = re.compile(r"救护车|120|一二零|医院|急救")
_RESCUE_VERB = re.compile(r"送|叫|去|要|打|喊|需|快来|派|拉|进")
_RESCUE_CAME = re.compile(r"(?:车)?(?:都|已经|刚|正在|马上)?(?:来|到了|拉|接|把)")
_SOFT = re.compile(
    r"伤|死|磕|摔|撞头|碰头|哭|血|不舒服|难受|吓到|倒地|倒在|躺|崴|扭到|破皮|破了皮|划破|肿|淤青|抬不起|怀孕|孕妇|气囊|翻车|侧翻|"
    r"擦破|蹭破|捂着|发抖|卡在|没什么大|没啥大|大碍|"
    r"翻了|翻过|翻[进下]|四轮朝天|[掉冲栽落翻开坠滚][到进下入]{0,2}(?:了)?(?:河|沟|水|海|湖|江|桥|崖|悬崖|山|坑|池)|落水|坠|"
    r"撞飞|[压夹]住|压着|压在|瘸|蹲在|趴在|爬不|站不|走不[了动]|一动不动|不动了|不会动|没动静|"
    r"(?:[人他她]|对方|司机|孩子)(?:都|也)?(?:没有?反应(?!过来)|动不了|不能动)|脸色|冷汗|吐了|包扎|绷带|口子|送走|抬走|抬上|被抬|喘|昏|"
    r"救人|甩出|飞出|出事了|"
    r"人有(?:点|些)?(?:问题|危险|不)|人不太?[好行对]|不太?对劲|懵|迷糊|出大事|有危险|石膏|心慌|幸免|看不见了|睁不开|听不见了"
)
# The body, how people lie about, and what is done with the hurt: with no word for being hurt, still a reason to ask.
_BODY_NAMED = re.compile(
    r"后脑|脑袋|脑门|额头|头皮|颧骨|眉骨|鼻梁|鼻子|(?<!路)(?<!马路)牙(?!科|子板)|嘴角|嘴唇|舌头|下巴|耳朵|眼睛|眼角|"
    r"(?<!丢)(?<!翻)脸(?!皮|书|面)|脖子|颈椎|脊椎|尾椎|(?<!路)肩(?!并)|锁骨|胸(?!有成)|肋|肚子|腹|腰|胯|髋|腿|膝|"
    r"(?<!一)(?<!前)(?<!后)(?<!三)脚(?!垫|踏|刹|架|手架|本|油门)|脚踝|胳膊|膀子|手臂|手腕|手肘|手指|指头|指甲|骨(?!架|干)|皮肤|内脏|"
    r"血压|心脏病|颈部|背部|头部|面部|腿部|胸部|腰部"
)
_POSTURE = re.compile(
    r"趴|瘫|躺|蹲|跪|卷[到进]|碾|怼飞|撞飞|飞出|滑出去|甩[出下]|滚下|翻白|抽过去|一拐|一瘸|瘸|发抖|直抖|一直抖|抖个|说不出话|不答应|"
    r"叫不[应动]|不起来|弯不|直不|抬不|动弹|不能动弹|救命|呻吟|缝.{0,3}针|石膏|拍.?片|做?ct|核磁|急诊|住院|"
    r"要观察|缓不过|不会说话|犯病|老毛病|速效|救心丸|(?:哪能|怎么会|怎么可能|还能)没事|重影|看不清东西|嗡嗡|发闷|胸闷|木木|麻木|发麻|"
    r"麻了|肿|淤|发紫|紫了|(?<!发)青(?:了|一块|的)|鼓了?[个一]?包|"
    r"起了?[个一]?大?包|见红|流了一地|开瓢|凉了|白布|当场(?:走|没|死)|"
    r"(?:[人他她娃仔婆伯佬公]|老人)[^,，。]{0,3}(?:冇咗|郁唔|跌咗|跌倒|倒地)|郁唔到|跌咗|(?:人|他|她|孩子|老人|行人|"
    r"对方是个老人)[,，]?(?:给|也|都)?倒了(?!车)|(?:人|他|她|孩子|老人|对方)(?:被|让|给)[^,，。]{0,4}(?:拉|抬|接|送)走|"
    r"遭[^,，。]{0,2}撞|被[^,，。]{0,3}(?:刮|带|撞|挂|擦|碰)倒|玻璃碴|进玻璃|扎手|烫|🤕|🩸|🚑|💀|😵|🏥"
)
_LIMITED = re.compile(r"除了|除外|以外|只有|只是我|暂时|目前|现在还|还没|刚才还|重伤|大伤|大碍|大事|没什么|没啥|没怎么|没太|多少|明显|较大")
_ONE_SIDE = re.compile(r"我们|我这边|我这里|车上|我这车|我方|全车")
_BOTH_SIDES = re.compile(r"双方|大家|所有人|两边|对方|他|她|两车")
_OTHERS_ONLY = re.compile(r"他们|她们|对方都")
_HEDGE = re.compile(
    r"假如|如果|要是|万一|怎么处理|(?:受没受|伤没伤|疼没疼|痛没痛)|吗|(?<![什怎这那多])么|吧|\?|是不是|有没有|有无|可能|好像|似乎|也许|"
    r"不知道|不清楚|不确定|说不好|不好说|应该|大概|估计|会不会|没看清|没注意|算不算|不晓得|看不清"
)
# Beside a denial these make it weak; alone they say nothing about injuries.
_WEAK = re.compile(
    r"以为|听说|据说|说是|本来|原本|但愿|希望|最好|就好|^要没|假设|若|不见得|未必|难保|不一定|说不定|没准|保不齐|大部分|大多|多数|基本|"
    r"几乎|"
    r"其他|其它|其余|另外|别人|别的|当时|一开始|刚开始|起初|看起来|看上去|看着|看样子|表面|暂且"
)
_ASKING = re.compile(
    r"有没有|有无|是不是|会不会|算不算|不知道|不清楚|不确定|不晓得|没看清|没注意|看不清|差点|差一点|险些|万一|假如|如果|要是"
)
_QUESTION = re.compile(r"吗|\?|吧")
_DOUBLE_NEGATION = re.compile(
    r"不是没|并非没|不可能没|没说没|不代表没|谁说|难说没|才怪|不可能|怎么(?:会|可能|能)|咋(?:会|可能|能)|难道|哪能|哪会|哪里没|哪有|"
    r"哪里有|岂|不会没|不能没|"
    r"(?:没有?|无|未|不)(?:有|人|谁|一个|哪个|是|能|敢|说|都){0,4}(?:没|无|未|不受)"
)
_EXCEPTION = re.compile(
    r"(?:除了|除开|除去|除[我他她]|只有|唯独|就差)(?!(?:我的?|对方的?|两辆?|一点)?(?:车(?!里|上|内|主|下)|漆|保险杠|前杠|后杠|后视镜|"
    r"大灯|轮胎|财产|物损))|"
    r"除.{1,4}(?:外|以外)"
)
_EXCEPTED = re.compile(f"{_EXCEPTION.pattern}|除外|以外|之外|例外")
_TAKEN_BACK = re.compile(
    r"(?:没|无|未).{0,30}(?:说错|是错|搞错|弄错|(?<!我)错了|不对|假的|假话|骗|谎|胡说|瞎说|乱说|乱讲|胡扯|扯淡|收回|不算数|不准|不是真|"
    r"反话|不成立|不可信|不属实)"
)
_LINKED_NEGATION = r"(?:没有|没得|冇得|冒得|木有|冇|没|未|无)(?:人员|人|有|任何|谁|出现|造成|发生|受|的|一个|到|过|被){0,4}"
_NEGATED_LEFT = re.compile(_LINKED_NEGATION + "$")
_NEGATED_TERM = re.compile(f"{_LINKED_NEGATION}(?:{_INJURY})")
# `受伤的一个都没有` and nothing after it; `受伤的都没醒` is no denial. Nobody stands left of the word.
_DENIED_AFTER = re.compile(
    r"的?(?:人员?|情况)?(?:(?:一个|半个)(?:都|也)(?:没有|没|无)|(?:都|也)(?:没有|无)|(?<=的)(?:没有|没得))(?:的|啊|呀|哦)*[~]*"
)
_NOBODY_NAMED = re.compile(r"(?:嗯|哦|啊|现场|这边|那边|双方|两边|大家|人员|一个|半个)*")
# `没受伤的有三个`, `没受伤那个`, `没有受伤比他重的`: the denial describes somebody, it does not speak of all.
_DESCRIBES = re.compile(r"的(?!(?:人员?|情况|现象)?(?:的|啊|呀|哦|了|呢|嘛|哈|[。.!~])*$)|那|这个|这位|比|得|到")
_ANY_NEGATION = re.compile(r"没有|没|未|无|冇|木有|冒得|不(?!知|清楚|确定|晓得)")

_EVERYBODY = r"人(?:员|都)?|大家|双方|两边|两个人|我们|全车|车上|(?<![车门灯胎漆])(?<!车子)(?<!车辆)都|所有"
_SELF = r"我(?!们)|本人|自己"
_OWN_PEOPLE = r"乘客|老婆|孩子|小孩"
_OTHER_PARTY = r"对方|对面(?=车|的|司机|那)|他(?!们)|她(?!们)|前车|后车|那个人|老人"
_OTHER = f"{_OTHER_PARTY}|{_OWN_PEOPLE}"
_FINE = r"没事|没有事|没什么事|没啥事|没啥问题|没什么问题|平安|好好的|没问题|挺好|都好"
_SUBJECT_FINE = re.compile(f"(?:{_EVERYBODY}|{_SELF}|{_OTHER})[^,，车]{{0,3}}(?:{_FINE})")
_ALL_FINE = re.compile(r"毫发无[伤损]|无人伤亡|人车平安|没伤着人?")
_SCOPE_ALL = re.compile(_EVERYBODY)
_SCOPE_SELF = re.compile(_SELF)
_SCOPE_OTHER = re.compile(_OTHER)
_SCOPE_OTHER_PARTY = re.compile(_OTHER_PARTY)
_SCOPE_EVERY = re.compile(r"(?<!我)都|双方|我们|大家|没有?人|无人")
_SCOPE_EVERY_OF_OTHERS = re.compile(r"双方|大家|所有|没有?人|无人")
_WITH_SELF = re.compile(r"我|双方|大家")
_CLAUSE_END = re.compile(
    r"[，,。.！!；;、\n]|(?=但是|不过(?!气|来)|可是|然而|就是|只是|但(?!愿))"
    r"|(?<=.{2})(?=(?:他|她|对方)(?!们|和|跟)(?!.{0,3}(?:都|也)?(?:没|无)))"
)

_NOBODY = "nobody"
_REACH = 40  # characters; the longest pattern that ends at a term is shorter

_SHORT_DENIAL = re.compile(r"(?:没有|没|无|没有的|都没有|没有人|没人|木有|冇|没得|莫得|没有没有|没没)[啊呀哦的了呢嘞哈]*[。.!]?")
_ANSWER_END = re.compile(r"[,，。.!！;；、~…\n]+")
# "我没有，对方也没有": each covers one side.
_SELF_DENIAL = re.compile(r"(?:我|我们|我自己|我这边|我方)(?:也|都|是){0,2}(?:没有|没得|没|冇)(?:受伤|事)?[的啊呀哦了]*")
_OTHER_DENIAL = re.compile(
    r"(?:对方|他|她|他们|她们|那边|对面)(?:司机|的人|人)?(?:也|都|是){0,2}(?:没有|没得|没|冇)(?:受伤|事)?[的啊呀哦了]*"
)
# "目前没有", "我这边没有", "看起来没有": a denial with a condition on it.
_HEDGED_DENIAL = re.compile(
    r"^(?!.*(?:电动|摩托|非机动|自行车|电瓶|牌|驾照|保险|争议|喝酒|别的车|其他车|钱|问题))(?:我|我们|我这|暂时|暂|目前|现在|看起来|"
    r"看着|看上去|表面|应该|好像|大概|但愿|希望|刚才|之前|当时|开始|以为|起码|至少|还|好像).{0,6}(?:没有|没得|没|无)(?:的|啊|呀|哦|了|"
    r"呢|看到|发现)?$"
)
_SHORT_AFFIRMATION = re.compile(
    r"(?:有|有的|(?:现在)?有了|有人|有[一两二三四五六几0-9]个(?:人)?|有[一两二三四五六几0-9]位|有受伤的?|是有)[啊呀的哦呢]*[。.!]?"
)
_AMBIGUOUS = re.compile(r"(?:(?:对|是|是的|嗯|好|好的|行|ok|哦|啊|呃|额|唔|没事|没事的|没有事|👍|[?!。.,])+)[啊呀的了]*[。.!]?")
_FOREIGN = re.compile(
    r"\b(?:hurt\w*|injur\w*|bleed\w*|blood\w*|dead|died|dying|pain\w*|ambulance|unconscious|concussion|hospital|(?:can'?t|"
    r"cannot) (?:move|breathe|feel|walk)|"
    r"on the ground|broke\w* (?:his |her |my |an? )?(?:arm|leg|bone|rib|neck|nose)\w*|dizzy|faint\w*)\b"
)
_FOREIGN_DOUBT = re.compile(r"\b(?:no|not|nobody|none|never|without|any|maybe|think|if)\b|n't|\?")


def injury(text: str, *, is_asked: bool) -> Verdict:
    """What one utterance says. `is_asked`: the question about injuries (or its confirmation) is open, so that bare answers count."""
    plain = heard(text)
    cleaned = _cleaned(plain)
    evidence = _Evidence()
    for clause in filter(None, _CLAUSE_END.split(cleaned)):
        evidence.read(clause)
    if is_asked:
        evidence.hear_answers(plain)
    verdict = evidence.verdict
    if verdict is Verdict.ABSENT and (_EXCEPTED.search(cleaned) or _TAKEN_BACK.search(cleaned)):
        return Verdict.UNCERTAIN
    if verdict is Verdict.NONE:
        verdict = _foreign(text)
    if verdict is not Verdict.NONE or not is_asked:
        return verdict
    return _bare_answer(plain)


def is_death(text: str) -> bool:
    """Whether an utterance that is PRESENT speaks of the dead: it names a death, and no negation stands left of it."""
    return any(
        _Clause(part).negated_from > match.start()
        for part in filter(None, _CLAUSE_END.split(_cleaned(heard(text))))
        for match in _DEATH_TERM.finditer(part)
    )


def heard(text: str) -> str:
    """One utterance as the detectors read it: simplified, lower case, without spaces, words that a recogniser mixes up put right."""
    plain = simplified(normal(text).lower()).replace(" ", "")
    for heard, meant in _HOMOPHONES.items():
        plain = plain.replace(heard, meant)
    return plain


def _cleaned(plain: str) -> str:
    """Without idioms; cars are not casualties; separable verbs joined; `伤亡:无` read as a denial."""
    answered = _SEPARABLE.sub("受伤", _QUESTION_AND_ANSWER.sub("没有人受伤", plain))
    spoken = _HEARTACHE.sub("难受", _IDIOMS.sub("", _ANIMALS.sub("撞", _MACHINE.sub("车坏", answered))))
    return _MAYBE_HURT_VEHICLE.sub("车疑伤", _HURT_VEHICLE.sub("车损", spoken))


def _bare_answer(plain: str) -> Verdict:
    if _SHORT_DENIAL.fullmatch(plain):
        return Verdict.ABSENT
    if _SHORT_AFFIRMATION.fullmatch(plain):
        return Verdict.PRESENT
    if _HEDGE.search(plain) or _AMBIGUOUS.fullmatch(plain):
        return Verdict.UNCERTAIN
    return Verdict.NONE


def _foreign(text: str) -> Verdict:
    words = normal(text).lower()
    if not _FOREIGN.search(words):
        return Verdict.NONE
    return Verdict.UNCERTAIN if _FOREIGN_DOUBT.search(words) else Verdict.PRESENT


class _Clause:
    """What holds for a whole clause, found once however many terms it has, so that the cost grows with the text and no faster."""

    __slots__ = ("called_from", "denial", "has_exception", "is_doubted", "is_question", "negated_from", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_doubted = (_DOUBLE_NEGATION.search(text) or _ASKING.search(text)) is not None
        self.is_question = _QUESTION.search(text) is not None
        self.has_exception = _EXCEPTION.search(text) is not None
        self.negated_from = _end(_ANY_NEGATION, text)
        self.called_from = _end(_RESCUE_VERB, text)
        self.denial = _denial(text)

    def left(self, position: int) -> str:
        """The nearest characters before a position, enough for every pattern that ends there."""
        return self.text[max(0, position - _REACH) : position]

    def is_denied_after(self, match: re.Match[str]) -> bool:
        if _GRAVE_TERM.fullmatch(match.group()) or len(self.text) > 2 * _REACH:
            return False
        is_nobody_named = _NOBODY_NAMED.fullmatch(self.text[: match.start()]) is not None
        return is_nobody_named and _DENIED_AFTER.fullmatch(self.text[match.end() :]) is not None

    def is_about_vehicle(self, denial: re.Match[str], start: int) -> bool:
        return "人" not in self.text[:start] and "人" not in denial.group() and _VEHICLE_LEFT.search(self.left(start)) is not None


class _Evidence:
    """What the clauses of one utterance add up to: PRESENT beats UNCERTAIN; ABSENT needs denials that cover everybody."""

    __slots__ = ("_covered", "_found")

    def __init__(self) -> None:
        self._found: set[Verdict] = set()
        self._covered: set[str] = set()

    @property
    def verdict(self) -> Verdict:
        for verdict in (Verdict.PRESENT, Verdict.UNCERTAIN):
            if verdict in self._found:
                return verdict
        if "all" in self._covered or {"self", "other"} <= self._covered:
            return Verdict.ABSENT
        return Verdict.UNCERTAIN if self._covered else Verdict.NONE

    def read(self, text: str) -> None:
        clause = _Clause(text)
        unexplained = _ALL_FINE.sub("", _NEGATED_TERM.sub("", text))
        for match in _TERM.finditer(text):
            if clause.is_denied_after(match):
                unexplained = unexplained.replace(match.group(), "")
            self._term(clause, match)
        for match in _RESCUE.finditer(text):
            self._rescue(clause, match)
        self._fine(clause)
        if _SOFT.search(unexplained) or _BODY_NAMED.search(unexplained) or _POSTURE.search(unexplained):
            self._found.add(Verdict.UNCERTAIN)

    def hear_answers(self, plain: str) -> None:
        """While the question is open, a clause that is nothing but yes or no answers it, whatever else is said."""
        for part in filter(None, _ANSWER_END.split(plain)):
            if _SHORT_AFFIRMATION.fullmatch(part):
                self._found.add(Verdict.PRESENT)
            elif _SHORT_DENIAL.fullmatch(part):
                self._covered.add("all")
            elif _SELF_DENIAL.fullmatch(part):
                self._covered.add("self")
            elif _OTHER_DENIAL.fullmatch(part):
                self._covered.add("other")
            elif _HEDGED_DENIAL.search(part):
                self._found.add(Verdict.UNCERTAIN)

    def _term(self, clause: _Clause, match: re.Match[str]) -> None:
        is_negated = clause.negated_from <= match.start()
        is_grave = _GRAVE_TERM.fullmatch(match.group()) is not None
        if clause.is_doubted:
            self._found.add(Verdict.UNCERTAIN)
        elif clause.has_exception:
            self._found.add(Verdict.PRESENT)
        elif is_grave and is_negated:
            self._found.add(Verdict.UNCERTAIN)
        elif negation := _NEGATED_LEFT.search(clause.left(match.start())):
            self._deny_term(clause, match, negation)
        elif clause.is_denied_after(match):
            self._deny(clause)
        elif is_negated or clause.is_question:
            self._found.add(Verdict.UNCERTAIN)
        else:
            self._found.add(Verdict.PRESENT)

    def _deny_term(self, clause: _Clause, match: re.Match[str], negation: re.Match[str]) -> None:
        """Only a general word denied of people clears; `没流血` and `车没受伤` leave people open."""
        start = match.start() - len(negation.group())
        if _DESCRIBES.match(clause.text, match.end()):
            self._found.add(Verdict.UNCERTAIN)
        elif _GENERAL_TERM.fullmatch(match.group()) is None or clause.is_about_vehicle(negation, start):
            self._covered.add("narrow")
        else:
            self._deny(clause)

    def _rescue(self, clause: _Clause, match: re.Match[str]) -> None:
        is_coming = clause.called_from <= match.start() or _RESCUE_CAME.match(clause.text, match.end()) is not None
        is_called = clause.negated_from > match.start() and is_coming and not clause.is_doubted and not clause.is_question
        self._found.add(Verdict.PRESENT if is_called else Verdict.UNCERTAIN)

    def _fine(self, clause: _Clause) -> None:
        """`人没事` and its kin."""
        fine = _ALL_FINE.search(clause.text)
        if fine and clause.is_about_vehicle(fine, fine.start()):
            self._covered.add("narrow")
        elif fine or _SUBJECT_FINE.search(clause.text):
            self._deny(clause)

    def _deny(self, clause: _Clause) -> None:
        if clause.denial == _NOBODY:
            self._found.add(Verdict.UNCERTAIN)
        else:
            self._covered.add(clause.denial)


def _end(pattern: re.Pattern[str], text: str) -> int:
    """Where the first match ends; past the text when there is none."""
    match = pattern.search(text)
    return match.end() if match else len(text) + 1


def _denial(clause: str) -> str:
    """Whom a denial in this clause covers: those it names; a hedged or limited one covers nobody."""
    if _HEDGE.search(clause) or _WEAK.search(clause) or _LIMITED.search(clause):
        return _NOBODY
    if _ONE_SIDE.search(clause) and not _BOTH_SIDES.search(clause):
        return "self"
    if _OTHERS_ONLY.search(clause) and not _WITH_SELF.search(clause):
        return "other"
    return _scope(clause)


def _scope(clause: str) -> str:
    names_self, names_other = _SCOPE_SELF.search(clause) is not None, _SCOPE_OTHER.search(clause) is not None
    if names_self and names_other and not _SCOPE_OTHER_PARTY.search(clause):
        return "all" if _SCOPE_EVERY_OF_OTHERS.search(clause) else "self"
    if names_self == names_other:
        return "all"
    every = _SCOPE_EVERY if names_self else _SCOPE_EVERY_OF_OTHERS
    if _SCOPE_ALL.search(clause) and every.search(clause):
        return "all"
    return "self" if names_self else "other"
