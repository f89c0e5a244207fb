"""What two statements have in common and where they differ, as features and as yes-or-no tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

from nacre.text.tokens import STOP_HAN, STOP_WORDS, tokens

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


_NUMBER = re.compile(r"\d+(?:[.:]\d+)*")
_HAN_NUMBER = re.compile(
    r"(?<![一二两三四五六七八九十百千半])[一二两三四五六七八九十百千半]+(?=[点个天周月年号块元次人小分米楼层岁页条份行句遍倍瓶杯台套间张度斤公])"
)
_HAN_DIGITS = {sign: str(value) for value, sign in enumerate("零一二三四五六七八九十")} | {"两": "2"}
_SPELLED = {"zero": "0", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"}
_SPELLED |= {"nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "noon": "12", "midnight": "0"}
_WITH_UNIT = re.compile(r"(?<!\d)(?<!\d[.:])(\d+(?:[.:]\d+)*)\s*([a-zA-Z%\u4e00-\u9fff]{1,3})")
_WEEKDAY = re.compile(
    r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?\b|(?:周|星期|礼拜)[一二三四五六日天末]",
    re.IGNORECASE,
)
_LATIN = re.compile(r"[A-Za-z][\w.+-]*")

# What each language says when something is no longer as it was, holds only once, is not certain, or is denied.
CHANGE = {
    "en": r"\b(?:now|no longer|any ?more|mov(?:e|es|ed|ing)|switch\w*|instead|chang\w+|replac\w+|new|gone|drop\w*|stopp?\w*|ended|retired|over"
    r"|used to|from now|as of|bump\w+|raised?|renamed?|left|closed|expired|cancel\w*|upgrad\w+|takes over|took over|becam?e\w*)\b",
    "zh": r"现在|不再|改成|改用|换成|换了|换到|改到|改为|已经|停了|没了|取消|升级|升到|搬|调到|涨到|降到|退|离职|接手|作废|过期|早就|不用了|了$|起$|起，"
    r"|如今|新|下线|从.{1,12}(?:换|改|升|迁|搬)|别再|不做了",
}
_ONCE = {
    "en": r"\b(?:today|tonight|this (?:once|time|week|morning)|just for|tomorrow|for now|this one|right now)\b",
    "zh": r"今天|今晚|这次|这回|就一次|临时|明天|这一次|破例",
}
FOR_ONCE = {
    "en": r"\b(?:(?:just|only) (?:for )?(?:today|tonight|this|once)|for (?:today|tonight|now|once|the moment|the time being|this (?:pr|release|time|week|one|run))"
    r"|this (?:once|time|pr|one time)\b(?: only)?|temporar\w*|until (?:then|tomorrow|it|he|she|they|the)|till)\b",
    "zh": r"就这(?:一)?次|这次|这回|临时|暂时|只限|今天先|就一次|先(?:用|按|这么|这样)|这个 ?PR|这一版|这一批|这批|这场",
}
RECURRING = {
    "en": r"\b(?:every|each|weekly|monthly|nightly|daily|yearly|quarterly|biweekly)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b",
    "zh": r"每(?:天|周|月|年|晚|早|次|个|季|隔|逢|星期|两周)|逢(?:周|星期)|例会|例行|定期",
}
UNSURE = {
    "en": r"\?|\b(?:i think|not sure|maybe|apparently|heard|said|says|claims?|supposedly|might|reckons?|swears?)\b",
    "zh": r"[?？]|吗|好像|听说|说是|不确定|可能|记得是|应该是|据说|到底",
}
_DENIAL = {
    "en": r"\b(?:no|not|never|without|none|nothing|don'?t|doesn'?t|isn'?t|won'?t|can'?t|cannot|stop|avoid)\b|n't",
    "zh": r"不|没|别|无|勿|禁",
}
FROM_TO = {
    "en": r"\b(?:to|from|instead of|rather than|in place of|replaces?|over to)\b",
    "zh": r"从|换|改|代替|取代|转到|迁",
}
# What stands right after, or right before, these words is what a statement says goodbye to.
LEAVES = {
    "en": r"\b(?:(?:mov|switch|migrat|chang|convert|port|transition)\w*(?:\s[\w./-]+){0,4}\s(?:away\s)?from|from(?=\s\S+(?:\s\S+){0,3}\sto\s)|instead of"
    r"|rather than|no more|no longer (?:use|using|on|with|at|in)?|dropp?(?:ed|ing)?|replac(?:es?|ed|ing)|stopp?(?:ed|ing)?(?: using)?|ditch\w*|retir\w+"
    r"|left|leaving|the old|away from|gave up|given up|done with|used to)\b|,\s*not\b",
    "zh": r"从(?=.{1,16}?(?:换|改|升|降|涨|减|迁|搬|切|转|变|调|挪))|别再|别用|别叫|不用|不再|不叫|旧的?|老的|原来的?|代替|取代|而不是|不走|停用|弃用|放弃|退掉|砍掉",
}
_GONE = {
    "en": r"\b(?:(?:is|are|was|were|has|have|'s)\s+(?:now\s+)?(?:gone|dead|out|over|closed|retired|off|left|no longer|deleted|cancell?ed|expired|switched off)"
    r"|left|leaves|no longer|does(?:n't| not) (?:do|work|use|run|hold)|retired|quit|anymore|any more|(?:was|were|is|are|got) (?:dropped|lifted|removed|scrapped))\b",
    "zh": r"不做了?|辞职|退休|调走|作废|下线|取消|停了|没了|离职|走了|不用了|不干了|退了|退掉|废了|失效|过期|已经?退|全删|删了",
}
# And what stands before these has another value from now on.
_BECOMES = {
    "en": r"\b(?:moves?|moved|chang\w+|becomes?|became|goes to|went to|is now|are now|now (?:runs?|lives?|listens?|does|is|at|on|goes)"
    r"|(?:was|were|is|are|got) (?:upgraded|downgraded|moved|switched|raised|lowered|renamed)|upgraded to|switched to)\b",
    "zh": r"换成|换了|换到|交给|降到|涨到|改从|改由|改成|改到|改为|改用|升到|升级|迁到|搬到|挪到|调到|调成|现在是|现在用|现在叫",
}
_REACH = {"en": 28, "zh": 12}  # characters
_OPPOSITES = {
    "en": "before/after morning/evening morning/afternoon always/never allow/forbid on/off more/less public/private open/closed with/without"
    " include/exclude first/last can/cannot early/late short/long manual/automatic weekly/monthly daily/weekly up/down enabled/disabled"
    " keep/drop left/right",
    "zh": "之前/之后 上午/下午 早上/晚上 允许/禁止 开/关 多/少 公开/私有 可以/不能 自动/手动 每周/每月 每天/每周 长/短 前/后 要/不要 用/不用"
    " 保留/删 线上/线下 先/后 大/小 冷/热",
}

# What kinds of words a statement has: evidence of how it stands to another. Their order is part of the weights.
CUES: dict[str, dict[str, str]] = {
    "en": {
        "something is otherwise now": (
            r"\b(?:now|from now on|as of|starting|since (?:mon|tues|wednes|thurs|fri|satur|sun|jan|feb|march|"
            r"april|may|june|july|aug|sep|oct|nov|dec|last|this)|anymore|any more|no longer|switch\w*|moved?|"
            r"moving|chang\w+|became|becomes?|instead|replac\w+|renam\w+|upgrad\w+|took over|takes over|"
            r"taken over|hand(?:ed|s) over|new\b|these days|nowadays|has been|got (?:moved|pushed|bumped)|"
            r"push(?:ed|es)|postponed|brought forward|rais\w+|lower\w+|went (?:up|down)|went from|bumped|"
            r"dropp?ed|back to|again|after all)\b"
        ),
        "something has ended": (
            r"\b(?:left|leaves|leaving|quit|retired|gone|dead|closed|cancell?ed|scrapped|ended|over|finished|"
            r"no more|stopped|stop|deleted|removed|sold|moved (?:out|away)|passed away|died|dropp?ed|"
            r"discontinued|expired|lifted|abolished|shut)\b"
        ),
        "takes back what was said": (
            r"\b(?:no wait|wait|actually|correction|scratch that|i meant|i was wrong|my mistake|sorry|"
            r"turns out|got that wrong|not \w+, but|misspoke|misremember\w*|mixed up)\b|^no[,.]|"
            r"\bnot\b.{0,30}\bit'?s\b"
        ),
        "for one occasion": (
            r"\b(?:just (?:this )?once|this once|for once|one[- ]off|one time|this time|today|tonight|"
            r"tomorrow|this (?:week|weekend|month|morning|afternoon|evening|friday|monday|tuesday|wednesday|"
            r"thursday|saturday|sunday|round|year|one)|until|till|for now|for the moment|temporar\w+|"
            r"exception\w*|except|only this|next (?:week|friday|monday|tuesday|wednesday|thursday|saturday|"
            r"sunday)|while (?:he|she|they|we|i|the|dad|mum|mom)|for the (?:party|trip|demo|visit|holiday|"
            r"holidays|weekend|wedding|exam|audit|release)|just for|a single|making an)\b"
        ),
        "for all or only some": (
            r"\b(?:all|every|each|any|anyone|everyone|everybody|always|only|never|none|both|whole|entire|"
            r"either|most|some|sometimes|usually|often)\b"
        ),
        "under a condition": (
            r"\b(?:for|in|on|at|with|when|if|unless|except|during|while|outside|inside|weekdays?|weekends?|"
            r"summer|winter|spring|autumn|mornings?|evenings?|staging|production|prod|dev|test|client|"
            r"customer|guest|kids?|internal|external)\b"
        ),
        "somebody's view": (
            r"\b(?:says?|said|thinks?|thought|reckons?|believes?|claims?|heard|apparently|swears?|finds?|"
            r"hates?|complain\w*|according to|in (?:his|her|their) (?:view|opinion)|would rather|wishes|"
            r"suggest\w*|prefers?|rumou?r|supposedly|allegedly)\b"
        ),
        "not settled": (
            r"\?|\b(?:maybe|perhaps|might|not sure|i think|possibly|probably|could be|considering|"
            r"thinking (?:about|of)|wonder\w*|either)\b"
        ),
        "beside something else": (
            r"\b(?:also|too|as well|plus|besides|another|second|other|in addition|and also|both)\b"
        ),
        "denies": (
            r"\b(?:no|not|never|without|none|nothing|cannot|nor|neither|avoid|forbid\w*|banned|skip|"
            r"refuse\w*)\b|n'?t\b"
        ),
        "allows": (r"\b(?:ok(?:ay)?|fine|allowed|permitted|welcome|may|can|free to|good to|no problem|feel free)\b"),
        "asks for or demands": (
            r"\b(?:must|should|have to|has to|need|needs|shall|want|wants|prefer|prefers|like|likes|love|"
            r"please)\b"
        ),
    },
    "zh": {
        "something is otherwise now": (
            r"现在|以后|从今|起|改|换|变|不再|转|搬|迁|升级|降|涨|调到|调成|调整|挪|推迟|提前|延|接手|接任|接替|移交|交给|新的?|最近|如今|重新|又|恢复|回到|"
            r"从.{1,10}到"
        ),
        "something has ended": (
            r"离职|辞职|走了|不干|退休|调走|取消|停|关|没了|作废|下线|过期|结束|不用了|不做|卖了|退了|删|废|撤|去世|毕业|散了|解散"
        ),
        "takes back what was said": (
            r"不对|说错|记错|搞错|更正|纠正|其实|应该是|不是.{1,12}(?:是|，)|我是说|刚才|口误|弄反|打错|哦不|等等"
        ),
        "for one occasion": (
            r"这次|这回|就一次|一次|今天|今晚|明天|后天|这周|本周|下周|这个月|临时|暂时|例外|破例|先|这几天|这两天|期间|这段时间|到.{1,8}为止|只限|仅限|就这|特批|这一"
        ),
        "for all or only some": (
            r"所有|全部|都|每|任何|一律|总是|从不|只|仅|唯一|谁都|凡是|各|整个|大多|有时|一般|通常|必须"
        ),
        "under a condition": (
            r"对|给|在|里|时|如果|除了|除非|期间|周末|平日|工作日|夏天|冬天|早上|晚上|上午|下午|测试|生产|线上|线下|客户|客人|孩子|内部|外部|的话"
        ),
        "somebody's view": (r"觉得|认为|说|听说|嫌|据说|好像|主张|建议|吐槽|抱怨|希望|想|推荐|传"),
        "not settled": (r"[?？]|吗|吧|可能|也许|不确定|考虑|要不要|好像|大概|或者|说不定|还没定"),
        "beside something else": (r"也|还|另外|再|另一|同时|并且|以及|外加|还有|别的"),
        "denies": (r"不|没|别|无|勿|禁|未|非|莫|甭"),
        "allows": (r"可以|允许|能|准|行|没关系|随便|放开|解禁|无妨|没问题"),
        "asks for or demands": (r"必须|要|得|应该|想|喜欢|爱|偏好|需要|请|务必|最好"),
    },
}


@cache
def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE)


def says(kind: dict[str, str], text: str, language: str) -> bool:
    """Whether a text has words of this kind, such as `CHANGE` or `UNSURE`."""
    return _holds(kind[language], text)


@lru_cache(maxsize=16_384)  # the same entries are compared with every new line
def _holds(source: str, text: str) -> bool:
    return _pattern(source).search(text) is not None


@dataclass(frozen=True)
class Statement:
    """A statement taken apart for comparing."""

    text: str
    language: str
    words: tuple[str, ...]  # search tokens that carry meaning, in order
    numbers: frozenset[str]
    units: dict[str, str]  # the number before each unit
    names: frozenset[str]
    weekdays: frozenset[str]
    vector: npt.NDArray[np.float32] | None = None

    @cached_property
    def word_set(self) -> frozenset[str]:
        return frozenset(self.words)


def statement(text: str, language: str, vector: npt.NDArray[np.float32] | None = None) -> Statement:
    lower = text.lower()
    numbers = set(_NUMBER.findall(text))
    if language == "zh":
        numbers |= {_HAN_DIGITS.get(number, number) for number in _HAN_NUMBER.findall(text)}
        names = {name.lower() for name in _LATIN.findall(text)}
    else:
        numbers |= {_SPELLED[word] for word in re.findall(r"[a-z]+", lower) if word in _SPELLED}
        names = {name.lower() for name in _LATIN.findall(text)[1:] if name[0].isupper()}
    return Statement(
        text,
        language,
        tuple(_words(text)),
        frozenset(numbers),
        {unit: number for number, unit in _WITH_UNIT.findall(text)},
        frozenset(names),
        frozenset(day[:3].lower() for day in _WEEKDAY.findall(text)),
        vector,
    )


def compare(old: Statement, new: Statement, rarity: dict[str, float], rarest: float) -> list[float]:
    """The features of a pair; their order is part of the weights. Without vectors meaning is told by shared words."""

    def weight(words: frozenset[str]) -> float:
        return sum([rarity.get(word, rarest) for word in words])

    language = new.language
    before, after = old.word_set, new.word_set
    shared, together = before & after, before | after
    in_common, every = weight(shared), max(weight(together), 1e-6)
    meaning = float(old.vector @ new.vector) if old.vector is not None and new.vector is not None else in_common / every
    lost, added = _not_in(old.names, new), _not_in(new.names, old)
    other_number = _differ(old.numbers, new.numbers)
    denied, denies = says(_DENIAL, old.text, language), says(_DENIAL, new.text, language)
    change, from_to = says(CHANGE, new.text, language), says(FROM_TO, new.text, language)
    leaves = bool(left_behind(old, new) or said_to_change(old, new))
    left, right = _poles(old.text, language), _poles(new.text, language)
    # One says "before" where the other says "after".
    opposed = any(-pole in right and pole not in right and -pole not in left for pole in left)
    measures = [(old.units[unit], new.units[unit]) for unit in old.units if unit in new.units]
    features: list[float | bool] = [
        meaning,
        meaning**2,
        in_common / every,
        in_common / max(weight(before), 1e-6),
        in_common / max(weight(after), 1e-6),
        max((rarity.get(word, rarest) for word in shared), default=0.0) / rarest,
        len(shared) / max(len(together), 1),
        len(set(old.words[:4]) & after) / 4,
        len(set(old.words[:3]) & set(new.words[:4])) / 3,
        bool(old.numbers & new.numbers),
        other_number,
        bool(new.numbers - old.numbers),
        bool(old.numbers and not new.numbers),
        bool(new.numbers and not old.numbers),
        _differ(old.weekdays, new.weekdays),
        bool(old.weekdays & new.weekdays),
        bool(old.names & new.names),
        bool(added),
        bool(lost),
        bool(added and lost),
        denied != denies,
        denies,
        denied,
        change,
        says(_ONCE, new.text, language),
        says(UNSURE, new.text, language),
        says(CHANGE, old.text, language),
        min(len(new.text) / max(len(old.text), 1), 3) / 3,
        min(len(after) / 30, 1),
        min(len(before) / 30, 1),
        any(first != second for first, second in measures),
        any(first == second for first, second in measures),
        opposed,
        from_to,
        change and from_to,
        change and bool(shared),
        change and bool(old.names & new.names),
        (denied != denies) * meaning,
        other_number * meaning,
        change * meaning,
        leaves,
        leaves * meaning,
    ]
    return list(map(float, features))


def cues(old: Statement, new: Statement) -> list[float]:
    """Which kinds of words each of two statements has."""
    kinds = CUES[new.language].values()
    return [float(_holds(kind, side.text)) for side in (old, new) for kind in kinds]


_END = re.compile(r"[;；。!！?？]|\.(?=\s)")
_PHRASE = re.compile(r"\s(?:in|on|for|at|because|since|with|when|so|by|as)\s")  # where the thing that was named ends


def left_behind(old: Statement, new: Statement) -> frozenset[str]:
    """The words of the old statement that the new one says goodbye to: "moved away from X", "X is gone"."""
    ends = [match.end() for match in _pattern(LEAVES[new.language]).finditer(new.text)]
    after = [_END.split(new.text[end : end + _REACH[new.language]])[0] for end in ends]
    return _shared(old, new, [_PHRASE.split(part)[0] for part in after] + _before(new, _GONE))


def said_to_change(old: Statement, new: Statement) -> frozenset[str]:
    """The words of the old statement of which the new one says that they have another value now."""
    return _shared(old, new, _before(new, _BECOMES))


def _before(new: Statement, kind: dict[str, str]) -> list[str]:
    """What stands right before such words, in the same sentence."""
    starts = (match.start() for match in _pattern(kind[new.language]).finditer(new.text))
    return [_END.split(new.text[max(0, start - _REACH[new.language]) : start])[-1] for start in starts]


def _shared(old: Statement, new: Statement, near: list[str]) -> frozenset[str]:
    """Words of both in these places; in Chinese a lone character is none."""
    words = {word for part in near for word in tokens(part)} - STOP_WORDS - STOP_HAN
    return frozenset(word for word in words & old.word_set if new.language == "en" or len(word) > 1 or word.isascii())


def adds_a_value(old: Statement, new: Statement) -> bool:
    """Whether the new statement names a number or a thing with a name of its own that the old one does not."""
    if any(number in new.text for number in new.numbers - old.numbers):  # a spelled one may be said otherwise
        return True
    names = {name for name in new.names if re.search(r"[\d_./@-]", name) or new.language == "zh"}
    return any(name not in old.text.lower() for name in names)


def adds_a_code_word(old: Statement, new: Statement) -> bool:
    """Whether the new statement names a path, an address or an identifier that the old one does not."""
    words = {name.strip(".+-") for name in new.names}
    return any(re.search(r"[_./@\d-]", word) and word not in old.text.lower() for word in words)


def shares_a_value(old: Statement, new: Statement) -> bool:
    return bool(old.numbers & new.numbers or old.names & new.names or old.weekdays & new.weekdays)


def _not_in(names: frozenset[str], other: Statement) -> set[str]:
    return {name for name in names if name not in other.text.lower()}


def _differ(old: frozenset[str], new: frozenset[str]) -> bool:
    return bool(old - new and new - old)


@lru_cache(maxsize=8192)
def _poles(text: str, language: str) -> frozenset[int]:
    """Which words of which opposites a text has: the number of the pair for the first of the two, negative for the second."""
    held: str | set[str] = text if language == "zh" else set(re.findall(r"[a-z]+", text.lower()))
    pairs = enumerate((pair.split("/") for pair in _OPPOSITES[language].split()), start=1)
    return frozenset(
        sign * number for number, pair in pairs for sign, word in zip((1, -1), pair, strict=True) if word in held
    )


# Whether one statement turns another round: "pnpm, never npm" and "npm, never pnpm" have all their words in common.

# What stands after one of these, up to the end of the clause, is what is not wanted.
_HINGE = {
    "en": re.compile(r"\b(?:never|not|don't|do not|rather than|instead of|no longer|over)\b", re.IGNORECASE),
    "zh": re.compile("而不是|而不用|不要再?|不再|不用|不许|不准|绝不|禁止|别再?|不是"),
}
_CLAUSE = re.compile(r"[,;，；、。!！?？]|\.(?=\s|$)")
_WAY = {
    "en": re.compile(r"\bfrom\s+(\S+)\s+(?:in)?to\s+(\S+)", re.IGNORECASE),
    "zh": re.compile(r"从\s{0,3}(\S{1,40}?)\s{0,3}(?:到|换成|改成|换到|迁到)\s{0,3}([^\s，。；、]{1,40})"),
}


def is_reversed(old: Statement, new: Statement) -> bool:
    """Whether the new statement wants what the old one does not want, and the other way about; or leads the other way."""
    if old.language != new.language:
        return False
    wanted, unwanted = _sides(old.text, old.language)
    now_wanted, now_unwanted = _sides(new.text, new.language)
    if (wanted - unwanted) & (now_unwanted - now_wanted) and (unwanted - wanted) & (now_wanted - now_unwanted):
        return True
    way, other = _way(old), _way(new)
    return bool(way and other and way == other[::-1] and way[0] != way[1])


@lru_cache(maxsize=4096)
def _sides(text: str, language: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words that a statement is for, and those that it is against."""
    wanted: list[str] = []
    unwanted: list[str] = []
    hinge = _HINGE[language]
    for clause in _CLAUSE.split(text):
        before, *after = hinge.split(clause, maxsplit=1)
        wanted += _words(before)
        unwanted += _words(" ".join(after))
    return frozenset(wanted), frozenset(unwanted)


def _words(text: str) -> list[str]:
    return [word for word in tokens(text) if word not in STOP_WORDS and word not in STOP_HAN]


def _way(side: Statement) -> tuple[str, ...]:
    """Whence and whither the first way leads that a statement names."""
    match = _WAY[side.language].search(side.text)
    return tuple(part.strip(".,;:，。").lower() for part in match.groups()) if match else ()
