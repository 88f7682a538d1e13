"""Is somebody hurt? Reads one utterance and says PRESENT, UNCERTAIN, ABSENT or NONE. Deterministic, runs before any model.

Built to raise and to doubt, not to clear: ABSENT is only one of two keys. `is_clear_denial` is the closed grammar that needs no second
key, and it matches whole utterances only. Negation counts when it is linked to the term; any other negation is doubt.
"""

import re
from enum import StrEnum

from domain.rules.wording import normal


class Verdict(StrEnum):
    PRESENT = "present"
    UNCERTAIN = "uncertain"
    ABSENT = "absent"
    NONE = "none"


_TRADITIONAL = str.maketrans(
    "傷沒無頭暈雙對們車護醫現場員個麼嗎問題這邊說話過還開關點樣動腳腰膝臉斷壓撞雖體後來聽見覺難嚴長時間誰",
    "伤没无头晕双对们车护医现场员个么吗问题这边说话过还开关点样动脚腰膝脸断压撞虽体后来听见觉难严长时间谁",
)
_HOMOPHONES = {"受商": "受伤", "首伤": "受伤", "手伤": "受伤", "流雪": "流血", "骨者": "骨折", "晕到": "晕倒"}
_IDIOMS = re.compile(
    r"他妈的|妈的|特么|吓死|气死|累死|急死|烦死|堵死|冤死|笑死|热死|冻死|该死|死机|死角|死胡同|死板|死活|拼死|死心|死路|心疼|"
    r"头疼的是|头疼这|伤脑筋|伤心|伤感情|烧钱|火气|发火|恼火|火大|冒火|上火|火急|火车站|酒店|白酒厂|查酒驾"
)
_HURT_VEHICLE = re.compile(
    r"(?:车辆?|车子|车身|车门|车头|车尾|保险杠|前杠|后杠|漆|大灯|后视镜|轮胎|叶子板|底盘)(?:面|皮)?"
    r"(?:也|都|就|只|只是|有点|稍微|轻微)?(?:受|碰|刮|擦|撞)?伤"
)
_SEPARABLE = re.compile(r"受(?:了|过|着|点|些|到|了点|了些|了轻|了重|了一?点儿?)伤|受的伤")
_QUESTION_AND_ANSWER = re.compile(r"(?:人员)?(?:受伤|伤亡)(?:情况|人员|人数)?[:：]\s*(?:没有|没|无|0|零)(?=$|[,，。.;；])")

_DEATH = r"死了|死人|死亡|去世|身亡|没气了|没呼吸|没了呼吸|没心跳|不行了|断气"
_INJURY = (
    r"受伤|伤者|伤员|轻伤|重伤|擦伤|扭伤|骨折|骨头断|流血|流了[^,，。]{0,3}血|出血|见血|昏迷|晕倒|头晕|晕|头疼|头痛|脖子疼|脖子痛|腰疼|腰痛|胸闷|"
    r"胸口疼|疼|痛|恶心|想吐|呕吐|麻木|起不来|站不起来|磕破|摔破|撞到人|碰到人|压到人|刮到人|撞人|撞了人|人被撞|伤到人|伤了人|伤人|有人伤|"
    r"伤了|伤到|伤亡|死伤"
)
_TERM = re.compile(f"{_DEATH}|{_INJURY}")
_DEATH_TERM = re.compile(_DEATH)
_RESCUE = re.compile(r"救护车|120|一二零|医院|急救")
_RESCUE_VERB = re.compile(r"送|叫|去|要|打|喊|需|快来|派|拉")
_SOFT = re.compile(
    r"伤|死|磕|摔|撞头|碰头|哭|血|不舒服|难受|吓到|休克|倒地|倒在|躺|崴|扭到|破皮|破了皮|划破|肿|淤青|抬不起|怀孕|孕妇|气囊|翻车|侧翻|"
    r"擦破|蹭破|捂着|发抖|卡在|没什么大|没啥大|大碍"
)
_LIMITED = re.compile(r"除了|除外|以外|只有|只是我|暂时|目前|现在还|还没|刚才还|重伤|大伤|大碍|大事|没什么|没啥|没怎么|没太|多少|明显|较大")
_ONE_SIDE = re.compile(r"我们|我这边|我这里|车上|我这车|我方|全车")
_BOTH_SIDES = re.compile(r"双方|大家|所有人|两边|对方|他|她|两车")
_OTHERS_ONLY = re.compile(r"他们|她们|对方都")
_HEDGE = re.compile(
    r"假如|如果|要是|万一|怎么处理|(?:受没受|伤没伤|疼没疼|痛没痛)|吗|(?<![什怎这那多])么|吧|\?|是不是|有没有|有无|可能|好像|似乎|也许|"
    r"不知道|不清楚|不确定|说不好|不好说|应该|大概|估计|会不会|没看清|没注意|算不算|不晓得|看不清"
)
_ASKING = re.compile(r"有没有|有无|是不是|会不会|算不算|不知道|不清楚|不确定|不晓得|没看清|没注意|看不清")
_QUESTION = re.compile(r"吗|\?|吧")
_DOUBLE_NEGATION = re.compile(r"不是没|并非没|不可能没|没说没|不代表没|谁说没|难说没|才怪|不可能")
_EXCEPTION = re.compile(r"除了|除.{1,4}(?:外|以外)|只有")
_LINKED_NEGATION = r"(?:没有|没得|冇得|冒得|木有|冇|没|未|无)(?:人员|人|有|任何|谁|出现|造成|发生|受|的|一个|到|过|被){0,4}"
_NEGATED_LEFT = re.compile(_LINKED_NEGATION + "$")
_NEGATED_TERM = re.compile(f"{_LINKED_NEGATION}(?:{_INJURY})")
_DENIED_AFTER = re.compile(r"^的?(?:人|情况)?(?:一个|半个)?(?:都|也)(?:没有|没|无)")
_ANY_NEGATION = re.compile(r"没有|没|未|无|冇|木有|冒得|不(?!知|清楚|确定|晓得)")

_EVERYBODY = r"人(?:员|都)?|大家|双方|两边|两个人|我们|全车|车上|都|所有"
_SELF = r"我(?!们)|本人|自己"
_OTHER = r"对方|他(?!们)|她(?!们)|前车|后车|乘客|老婆|孩子|小孩|那个人|老人"
_FINE = r"没事|没有事|没什么事|没啥事|没啥问题|没什么问题|平安|好好的|没问题|挺好|都好"
_SUBJECT_FINE = re.compile(f"(?:{_EVERYBODY}|{_SELF}|{_OTHER})[^,，]{{0,3}}(?:{_FINE})")
_ALL_FINE = re.compile(r"毫发无[伤损]|无人伤亡|人车平安|没伤着人?")
_SCOPE_ALL = re.compile(_EVERYBODY)
_SCOPE_SELF = re.compile(_SELF)
_SCOPE_OTHER = re.compile(_OTHER)
_SCOPE_EVERY = re.compile(r"都|双方|我们|大家|没有?人|无人")
_WITH_SELF = re.compile(r"我|双方|大家")
_CLAUSE = re.compile(
    r"[，,。.！!；;、\n]|(?=但是|不过|可是|然而|就是|只是|但(?!愿))"
    r"|(?<=.{2})(?=(?:他|她|对方)(?!们|和|跟)(?!.{0,3}(?:都|也)?(?:没|无)))"
)

_SHORT_DENIAL = re.compile(r"(?:没有|没|无|没有的|都没有|没有人|没人|木有|冇|没得)[啊呀哦的了]*[。.!]?")
_SHORT_AFFIRMATION = re.compile(r"(?:有|有的|有人|有[一两二三四五六几0-9]个(?:人)?)[啊呀的]*[。.!]?")
_AMBIGUOUS = re.compile(r"(?:(?:对|是|是的|嗯|好|好的|行|ok|哦|啊|呃|额|唔|没事|没事的|没有事|👍|[?!。.,])+)[啊呀的了]*[。.!]?")
_CLEAR_DENIAL = re.compile(
    r"(?:嗯|哦|啊|好|好的|放心|哎呀|报告)?[,，]?"
    r"(?:(?:现场|人员|人|大家|双方|两边|所有人)(?:都|全都|全部都)?|(?:都|全都|全部都)?)"
    r"(?:(?:没有|没得|没|无|未|木有|冇得|冇)(?:任何|一个)?(?:人员|人)?(?:受伤的?|伤亡|伤着|死伤)|(?<=[员人家方边都])(?:没事|没有事|平安|安全))"
    r"(?:的|啊|呀|哦|了|呢|嘛|哈)*[。.!~]*"
)
_FOREIGN = re.compile(r"\b(?:hurt|injur\w*|bleed\w*|blood|dead|died|pain\w*|ambulance|unconscious|broken (?:arm|leg|bone)\w*)\b")
_FOREIGN_DOUBT = re.compile(r"\b(?:no|not|nobody|none|never|without|any|maybe|think|if)\b|n't|\?")


def injury(text: str, *, is_asked: bool) -> Verdict:
    """What one utterance says. `is_asked`: the question about injuries (or its confirmation) is open, so that bare answers count."""
    plain = _folded(text)
    evidence = _Evidence()
    for clause in filter(None, _CLAUSE.split(_cleaned(plain))):
        evidence.read(clause)
    verdict = evidence.verdict
    if verdict is Verdict.NONE:
        verdict = _foreign(text)
    if verdict is not Verdict.NONE or not is_asked:
        return verdict
    return _bare_answer(plain)


def is_clear_denial(text: str, *, is_asked: bool) -> bool:
    """The whole utterance is a denial that covers everybody; while the question is open a short "no" is one too."""
    plain = _folded(text)
    return _CLEAR_DENIAL.fullmatch(plain) is not None or (is_asked and _SHORT_DENIAL.fullmatch(plain) is not None)


def _folded(text: str) -> str:
    plain = normal(text).lower().translate(_TRADITIONAL).replace(" ", "")
    for heard, meant in _HOMOPHONES.items():
        plain = plain.replace(heard, meant)
    return plain


def _cleaned(plain: str) -> str:
    """Without idioms; cars are not casualties; separable verbs joined; `伤亡:无` read as a denial."""
    answered = _QUESTION_AND_ANSWER.sub("没有人受伤", plain)
    return _HURT_VEHICLE.sub("车损", _IDIOMS.sub("", _SEPARABLE.sub("受伤", answered)))


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

    def read(self, clause: str) -> None:
        is_hedged = _HEDGE.search(clause) is not None
        terms = [self._term(clause, match, is_hedged=is_hedged) for match in _TERM.finditer(clause)]
        rescues = [self._rescue(clause, match) for match in _RESCUE.finditer(clause)]
        is_told_fine = self._fine(clause, is_hedged=is_hedged)
        unexplained = _NEGATED_TERM.sub("", clause).replace("车损", "")
        has_said_all = bool(terms or rescues or is_told_fine) and unexplained == clause
        if not has_said_all and _SOFT.search(unexplained):
            self._found.add(Verdict.UNCERTAIN)

    def _term(self, clause: str, match: re.Match[str], *, is_hedged: bool) -> None:
        left, right = clause[: match.start()], clause[match.end() :]
        is_death = _DEATH_TERM.fullmatch(match.group()) is not None
        if _DOUBLE_NEGATION.search(clause) or _ASKING.search(clause):
            self._found.add(Verdict.UNCERTAIN)
        elif _EXCEPTION.search(clause):
            self._found.add(Verdict.PRESENT)
        elif is_death and _ANY_NEGATION.search(left):
            self._found.add(Verdict.UNCERTAIN)
        elif _NEGATED_LEFT.search(left) or (not is_death and _DENIED_AFTER.search(right)):
            self._deny(clause, is_hedged=is_hedged)
        elif _ANY_NEGATION.search(left) or _QUESTION.search(clause):
            self._found.add(Verdict.UNCERTAIN)
        else:
            self._found.add(Verdict.PRESENT)

    def _rescue(self, clause: str, match: re.Match[str]) -> None:
        left = clause[: match.start()]
        is_called = not _ANY_NEGATION.search(left) and _RESCUE_VERB.search(left)
        self._found.add(Verdict.PRESENT if is_called else Verdict.UNCERTAIN)

    def _fine(self, clause: str, *, is_hedged: bool) -> bool:
        """`人没事` and its kin; True when the clause says so."""
        if _ALL_FINE.search(clause):
            if is_hedged:
                self._found.add(Verdict.UNCERTAIN)
            else:
                self._covered.add("all")
            return True
        if _SUBJECT_FINE.search(clause):
            self._deny(clause, is_hedged=is_hedged)
            return True
        return False

    def _deny(self, clause: str, *, is_hedged: bool) -> None:
        """A denial counts for those it names; a hedged or limited one is doubt."""
        if is_hedged or _LIMITED.search(clause):
            self._found.add(Verdict.UNCERTAIN)
        elif _ONE_SIDE.search(clause) and not _BOTH_SIDES.search(clause):
            self._covered.add("self")
        elif _OTHERS_ONLY.search(clause) and not _WITH_SELF.search(clause):
            self._covered.add("other")
        else:
            self._covered.add(_scope(clause))


def _scope(clause: str) -> str:
    names_self, names_other = _SCOPE_SELF.search(clause) is not None, _SCOPE_OTHER.search(clause) is not None
    if names_self == names_other:
        return "all"
    if _SCOPE_ALL.search(clause) and _SCOPE_EVERY.search(clause):
        return "all"
    return "self" if names_self else "other"
