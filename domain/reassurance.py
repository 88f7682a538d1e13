"""How far a denial of injuries can be trusted: what clears by itself, what needs a second key, and what no key clears.

A list of words for being hurt is never complete, so nothing is cleared because no such word was found. It is the other way round: a denial
counts only when everything else in the utterance is wording known to be harmless. `is_whole_denial` reads utterances that are nothing but a
denial for everybody; `is_explained` reads denials in the company of cars, places, times and manoeuvres. One unknown word and neither holds.
Both match whole utterances, with possessive patterns: the cost is linear.
"""

import re

_TAIL = r"(?:[的啊呀哦了呢嘛哈啦哒滴噢喔咧嘞咯哩耶哟哇儿]|~|～){0,6}+"
_NOT = r"(?:真的?|确实|肯定|绝对|一定|并|压根|完全|倒)?(?:没得|莫得|没的|没有?|并无|无|未|木有|冇得?|冒得|么得)"

# Everybody, or nobody named. One side ("我们", "车上", "乘客") is not here.
_EVERYBODY = (
    r"(?:事故)?(?:现场)?(?:这次|本次)?(?:所有|全部|全体|在场|双方|两边|两方)?的?"
    r"(?:(?:两车|两台车|两辆车)上?的?人员?|人员?|大家伙?儿?|大伙儿?|双方|两边|两方|所有人|每个人|当事人)?的?(?:人员?)?(?:目测)?(?:也|都|全|全部|均|皆|通通|统统|就是|是|真的|确实|肯定|绝对){0,4}"
)
_HURT = (
    r"(?:任何|一个|半个|什么|啥|有|人员?|哪个|谁){0,3}(?:受到?|造成|出现|发生|存在|有)?(?:任何|什么|啥|人员?)?(?:的)?"
    r"(?:受伤|伤亡|伤着|伤到|死伤|伤害|伤员|伤者|损伤|受到伤害|人身伤害|人伤|伤人|伤到人|伤着人|伤及人员)(?:的?(?:人员?|情况|现象|问题))?"
)
_FINE = r"(?:没事|没有事|没得事|莫得事|没有?任何事|没有?任何问题|没问题|没有问题|平安|安全|平安无事|安然无恙|毫发无[伤损]|好好的|都好|冇事|无事|无恙|木有事|没事情)"

_WHOLE = (
    rf"(?:{_EVERYBODY}(?:真的?|确实|肯定|绝对|一定|并)?(?:没得|莫得|没有?|无|未|木有|冇得?|冒得|么得)(?:{_HURT}){_TAIL}"
    rf"|(?:事故)?(?:现场)?(?:真的?|确实|肯定|绝对|并)?(?:没得|莫得|没有?|无|冇得?|木有)(?:任何|一个)?人员?(?:受(?:到)?伤|伤亡|伤着|死伤){_TAIL}"
    rf"|(?:现场)?(?:的|所有|全部)?(?:人员?|大家伙?儿?|大伙儿?|双方|两边|所有人|每个人)(?:人员?)?(?:也|都|全|全部|均|皆|也都|全都|通通|统统|是|真的|确实|肯定){{0,4}}{_FINE}{_TAIL}"
    rf"|(?:都|全都?){_FINE}{_TAIL}"
    rf"|无人(?:员)?(?:受伤|伤亡)|零伤亡|0伤亡|人车(?:都|均)?(?:平安|没事|安全){_TAIL}|毫发无[伤损]{_TAIL}|安然无恙{_TAIL}"
    rf"|(?:一个|半个)?受伤的(?:人)?(?:一个|半个)?(?:都|也)?没有{_TAIL}|没一个受伤的?{_TAIL}"
    rf"|(?:人员)?(?:受伤|伤亡)(?:情况|人员|人数)?[:：]?(?:没有|没|无|0|零){_TAIL})"
)
_SHORT = (
    rf"(?:(?:都|也|全|一个|一个人|一个也|一个都|肯定|真|真的|绝对|确实|并|倒是){{0,3}}(?:没得|莫得|没有?|无|木有|冇得?|么得)(?:人|一个|任何人|任何|的事|这回事|这种情况|这情况)?{_TAIL}"
    rf"|零|0[个人]?|一切(?:都)?(?:平安|安全|好|正常){_TAIL}|不存在{_TAIL})"
)
# Said around a denial, changing nothing.
_FILLERS = (
    "不好意思 谢谢您 谢谢你 谢谢 多谢 麻烦了 麻烦您 辛苦了 辛苦您 你好 您好 喂 嗯嗯 嗯 哦 喔 噢 啊 呃 额 唔 哎呀 哎哟 哎 唉 嗨 哈哈 嘿 好的呢 好的 好吧 好嘞 好滴 好 是的 是 对的 对 没错 "
    "请放心 您放心 你放心 放心吧 放心 那个 这个 就是说 就是 怎么说呢 报告 领导 警官 同志 师傅 老师 警察同志 客服 小姐姐 小哥哥 帅哥 美女 亲 "
    "还好 幸好 好在 万幸 幸运的是 谢天谢地 老天保佑 菩萨保佑 阿弥陀佛 运气好 真的 确实 肯定 绝对 百分百 百分之百 可以确定 我可以肯定 我确定 我确认 我肯定 我保证 我敢保证 确定 确认 "
    "回答 答 回复您 回您 跟您说 跟你说 告诉你 我告诉你 其实 反正 总之 目测 我这边看 我看了 看过了 都看过了 检查过了 都检查过了 检查了 都检查了 问过了 都问过了 问了 都问了 已经确认过 已确认 "
    "事故 现场 这次 这起事故 这个事故 这次事故 的 了 呀 呢 嘛 啦 哈 么么哒 ok 👌 👍 🙏 😊 😄 哒"
).split()
_MARKS = r"[,，。.!！;；、:：~～…\-—\s\"“”'‘’()（）]"

# Cars, their parts and what happens to cars: composites, so that "严重" or "断了" count only when they are said of a car.
_CAR = (
    r"(?:(?:我|我们|咱|他|她|对方|人家|自己|双方|两|两家|后面|前面|那|这|他们|另外)?的?(?:一|两|俩|2|1|那|这|另一|几|多少)?(?:辆|台|部|个)?的?"
    r"(?:小|大|轿|货|客|面包|越野|私家|家用|出租|网约|黑色|白色|红色|蓝色|灰色|银色|黄色|绿色|黑|白|红|新|旧|前|后|本|电动汽|新能源汽|商务|皮卡|suv|机动){0,4}"
    r"(?:轿车|汽车|车辆|车子|车|suv|皮卡|奔驰|宝马|奥迪|大众|丰田|本田|特斯拉|比亚迪|五菱|捷达|桑塔纳|帕萨特|卡罗拉|凯美瑞|雅阁|思域|特斯拉|理想|小鹏|蔚来))"
)
_PART = (
    r"(?:左|右|前|后|侧|边|两边|一侧|的|车){0,4}(?:保险杠|前杠|后杠|杠|车身|车门|车头|车尾|车屁股|屁股后面|车顶|车漆|漆面|车窗|车灯|大灯|尾灯|头灯|雾灯|转向灯|灯|后视镜|倒车镜|反光镜|镜子|轮胎|轮毂|车胎|叶子板|翼子板|"
    r"引擎盖|机盖|发动机盖|后备箱|尾门|底盘|侧面|侧边|车牌|车牌架|玻璃|前挡|挡风玻璃|雷达|水箱|中网|门|裙边|侧裙|门把手|油漆|漆|车皮|外壳|蒙皮|钣金)"
)
_AMOUNT = r"(?:有点儿?|有些|稍微|稍|轻微|略微|一点儿?点?|一点点|一块|一下下?|一道|一条|几道|几条|好几道|一个|个|一小块|一大块|一片|些|点儿?|不少|挺|比较|很|特别|非常|也|都|全|就|只是|只|还|给|被|得|的|了|有|好像)"
_DAMAGE = (
    r"(?:(?:被)?(?:刮|剐|擦|蹭|碰|撞|磕|划|挤)(?:花|坏|掉|破|伤|瘪|凹|变形|裂|烂|碎|歪|了|到|着|一下){0,4}|坏|掉漆|掉|凹陷|凹进去|凹|瘪|裂开|裂纹|裂|碎|烂|破损|破|刮痕|划痕|擦痕|蹭痕|痕迹|印子|印|坑|变形|"
    r"损坏|损伤|受损|受伤|损失|毁|松动|松|脱落|断|掉下来|歪|爆胎|爆|不亮|报废|严重|轻微|不严重|不大|没事|没啥事|没什么事|问题不大|没问题|没大事|没大碍|能开|开不了|动不了|走不了|花|洞)"
)
_CAR_STATE = rf"(?:{_CAR}|{_PART})(?:的?{_PART})?(?:{_AMOUNT}){{0,5}}{_DAMAGE}(?:{_AMOUNT}|{_DAMAGE}){{0,8}}+"
_OBJECT = (
    r"(?:(?:路边|旁边|停车场|地库|车库|门口|小区|水泥|石|隔离|中间|限高)?的?(?:一个|一根|一棵|个|根|棵)?(?:柱子|石柱|柱|墙角|墙壁|围墙|墙|护栏|栏杆|隔离带|隔离栏|隔离墩|大树|树|电线杆|电杆|路灯杆?|灯杆|杆子|石墩子?|石头|水泥墩|墩子|"
    r"马路牙子|马路牙|路沿石|路沿|路肩|路牙|花坛|绿化带|台阶|桩子|桩|大门|门|栏|道闸|闸机|减速带|垃圾桶|垃圾箱|广告牌|指示牌|标志牌|消防栓|锥桶|雪糕筒|限位器|限高杆|岗亭|坑|水沟(?!里)))"
)
_DRIVER = r"(?:我们?|咱们?|本人|自己|我自己|对方|人家|他们?|她们?|双方|两个|两车|俩车|前车|后车|那个司机|对方司机|对方车主|前面|后面|前面的|后面的|那人)"
_HIT = r"(?:追尾|追了尾|碰撞|相撞|刮擦|刮蹭|剐蹭|擦碰|(?:轻轻|轻微|稍微|不小心|直接|突然|又|刚|给)?(?:撞|碰|刮|剐|擦|蹭|顶|怼|追|磕|挤)(?:上|到|了|着|上了|到了|过|在|一下|一下下|一起|在一起|的|了一下){0,3})"
_COLLISION = rf"(?:{_DRIVER})?(?:都|也|就|是|刚才|刚刚|刚|不小心|的时候){{0,3}}(?:跟|和|与|同|把|被|让|给)?(?:{_CAR})?(?:的)?(?:{_PART})?(?:给|从后面|后面|在后面)?{_HIT}(?:的)?(?:{_CAR}|{_OBJECT})?(?:的)?(?:{_PART})?"
_MANOEUVRES = (
    "追尾 追的尾 倒车 变道 变更车道 并线 并道 掉头 调头 加塞 溜车 起步 转弯 拐弯 左转弯 右转弯 左转 右转 直行 停车 停着 停好 停在 刹车 急刹车 急刹 踩刹车 没刹住 刹不住 没刹住车 打方向 会车 超车 让行 没让 闯红灯 逆行 "
    "开门 开车门 等红灯 等红绿灯 红绿灯 红灯 绿灯 排队 堵车 出库 入库 进库 挪车 开车 驾驶 行驶 经过 路过 没注意 没看到 没看见 没留意 走神 分神 "
    "刮擦 刮蹭 剐蹭 擦碰 碰撞 相撞 小刮小蹭 小剐蹭 小刮蹭 小碰撞 小事故 小事情 小擦碰 单方事故 单车事故 双方事故 自己撞的 撞车 出了事故 出事故 发生事故 发生的 发生 事故"
).split()
_PLACES = (
    "事故现场 现场 路口 十字路口 路上 马路上 马路边 马路 高速上 高速 快速路 高架 辅路 主路 停车场 停车位 车位 小区里 小区门口 小区 地下车库 地库 车库 隧道 桥上 服务区 收费站 加油站 门口 路边 路旁 环岛 匝道 国道 省道 县道 乡道 "
    "学校门口 医院门口 超市门口 公司门口 商场 这里 这儿 那里 原地 旁边 里面 外面 附近 前面 后面 左边 右边 对面 中间 市区 城区 村口 村里 镇上 县城 家门口"
).split()
_TIMES = (
    "天前 天 几天 回来 回到 刚刚 刚才 刚 现在 目前 今天 今早 今晚 昨天 昨晚 前天 早上 上午 中午 下午 傍晚 晚上 凌晨 半夜 大概 大约 左右 差不多 分钟 分 小时 个小时 钟头 点半 点钟 点 刻钟 一刻 半小时 半个小时 半 前 以前 之前 后 以后 的时候 时候 时 "
    "几分钟 十几分钟 二十几分钟 不久 不到"
).split()
_WORDS = (
    "没有人员伤亡 只是 仅仅 就是 不过 但是 可是 但 而且 然后 所以 因为 由于 结果 其实 反正 只有 只 都 也 还 又 再 已经 就 是 在 了 的 地 得 和 跟 与 同 及 把 被 给 从 往 向 到 去 来 上 下 里 "
    "我们 我 咱们 咱 你们 你 您 他们 他 她们 她 对方 人家 双方 两边 两车 自己 本人 一起 一个 两个 "
    "我开的车 我开的 我开车 我是司机 我是驾驶员 我是车主 我是当事人 当事人 驾驶员 驾驶人 司机 车主 我自己 我一个人 我老公开的 "
    "还在 没走 没有走 都在 在等 等着 等交警 等你们 等 等待处理 处理一下 处理 报案 报警 报备 登记 报保险 保险公司 保险 理赔 定损 定责 责任 全责 主责 我的责任 他的责任 我全责 他全责 对方全责 我的错 快处 快赔 私了 赔偿 赔钱 赔 修车 修 协商 认可 没争议 没有争议 "
    "财产损失 财物损失 财损 物损 车损 损失 轻微 不严重 不大 小问题 小事 不用 不需要 需要 想 要 可以 能 怎么弄 怎么办 该怎么办 "
    "没有电动车 没有摩托车 没电动车 没摩托车 没有非机动车 没有自行车 没有电瓶车 没有电动车摩托车 也没有摩托车 也没摩托车 没有别的车 没有其他车 电动车 摩托车 非机动车 "
    "两辆车 一辆车 两辆 一辆 辆 台 俩 两 单车 双车 小车 车 "
    "准备好了 准备好 弄好了 搞好了 好了 可以了 开始吧 开始 行了 行 照片 拍照 拍好 拍了 拍 双闪 打开 开了 开着 打了 打着 三脚架 三角架 三角牌 三角警示牌 警示牌 放好 摆好 放了 撤离 撤到 安全地带 安全 护栏外 路边 靠边 "
    "他妈的 妈的 烦死了 真倒霉 倒霉 吓死我了 吓死 气死我了 头疼的是 心疼 心疼死了 肉疼 怎么修 车有事 车有点事 吓一跳 吓了一跳 虚惊一场 就这样 没别的 别的 情况 情况是 问题 今天真倒霉 吧 天气 下雨 路滑 雨天 雾大 太黑 视线不好"
).split()
_NUMBERS = r"(?:[0-9]{1,4}|[零〇一二两三四五六七八九十百半]+)"

# Said of a person, these words of traffic mean a person was hit. They undo what the lists above allow.
_PERSON_HIT = re.compile(
    r"(?:我|他|她|对方|人|司机|孩子|老人|乘客|行人)(?:也|都|是|就|给|才|还){0,4}被(?!追尾|追了尾|后车|前车|对方的?车|别的车|别人的?车|人家的?车|他的?车|她的?车|一辆|那辆|这辆|一台|车追|追)"
    r"|(?:撞|碰|刮|剐|擦|蹭|顶|怼|挤|磕|压)(?:上|到|了|着|伤|倒|死|飞|过|在){0,3}(?:他|她|人|我|个人|谁)(?!家|们的|的|车|自己的|前|后|的车|尾|左|右|门|保|们车)"
    r"|(?:他|她|对方|我|司机|人)(?:也|都|就)?(?:撞|碰|磕|刮|擦|蹭|挤)(?:了|着)?(?:一下)?(?=$|[,，。.!！;；、])"
    r"|(?:他|她|对方|司机|人)(?:也|都|就|还)?(?:断|坏|破|歪|裂|烂|凹|掉|毁|损)"
)


def _words(*groups: list[str]) -> str:
    return "|".join(map(re.escape, sorted({word for group in groups for word in group}, key=len, reverse=True)))


_NEGATION = re.compile(_NOT)
_FILLER = re.compile(f"(?:{_MARKS}|{_words(_FILLERS)})")
_WHOLE_DENIAL = re.compile(_WHOLE)
_SHORT_DENIAL = re.compile(_SHORT)
_ANY_DENIAL = re.compile(
    rf"(?:{_DRIVER}|{_EVERYBODY}|{_CAR}|[和跟与同]|车上的?人?|乘客|驾驶员|司机|老婆|老公|大人|小孩|老人|孩子|朋友|家人){{0,4}}+(?:也|都|全|均){{0,3}}+"
    rf"(?:{_NOT}(?:{_HURT}|撞[到了]?人|碰[到了]?人|刮[到了]?人|压[到了]?人|人)|{_FINE}){_TAIL}|{_WHOLE}"
)
_COMPANY = re.compile(
    f"(?:{_CAR_STATE}|{_COLLISION}|{_words(_FILLERS, _MANOEUVRES, _PLACES, _TIMES, _WORDS)}|{_CAR}|{_PART}|{_OBJECT}|{_NUMBERS}|{_MARKS})"
)


def is_whole_denial(plain: str, *, is_asked: bool) -> bool:
    """`plain` (domain/injury.py folds it) is a denial that covers everybody, said once or more, and polite noise; nothing else.
    While the question is open, a bare "no" is one too."""
    denials = (_WHOLE_DENIAL, _SHORT_DENIAL) if is_asked else (_WHOLE_DENIAL,)
    return _is_made_of(plain, denials, (_FILLER,))


def is_explained(plain: str) -> bool:
    """A denial, whomever it covers, beside nothing but harmless wording about the accident."""
    return _PERSON_HIT.search(plain) is None and _is_made_of(plain, (_ANY_DENIAL,), (_COMPANY,))


def _is_made_of(plain: str, needed: tuple[re.Pattern[str], ...], allowed: tuple[re.Pattern[str], ...]) -> bool:
    """The text is cut up from left to right, the longest piece first; every piece is known and one of them is needed."""
    position, denied = 0, ""
    is_found = False
    while position < len(plain):
        denial = max((match.end() for pattern in needed if (match := pattern.match(plain, position))), default=position)
        other = max((match.end() for pattern in allowed if (match := pattern.match(plain, position))), default=position)
        end = max(denial, other)
        if end == position:
            return False
        piece = plain[position:end] if denial >= other else ""
        if piece and denied and piece != denied and _NEGATION.match(piece):
            return False  # a denial of a denial: "没人没受伤"
        is_found, denied, position = is_found or bool(piece), piece, end
    return is_found
