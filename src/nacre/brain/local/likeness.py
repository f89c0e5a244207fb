"""What two statements have in common and where they differ, as features and as yes-or-no tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

from nacre.brain.local.classifier import read_table
from nacre.brain.local.quantities import quantities, same_and_other
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

# Kinds of words, by language: an expression each. What the kinds are for, their names and features say.
_KINDS: dict[str, dict[str, str]] = {}
for kind, language, expression in read_table("cues.tsv"):
    _KINDS.setdefault(kind, {})[language] = expression
CHANGE, FROM_TO = _KINDS["change"], _KINDS["from to"]  # something is no longer as it was
_ONCE, FOR_ONCE, RECURRING = _KINDS["once"], _KINDS["for once"], _KINDS["recurring"]
UNSURE, _DENIAL = _KINDS["unsure"], _KINDS["denial"]
# What stands right after, or right before, these words is what a statement says goodbye to; before the third it has another value now.
LEAVES, _GONE, _BECOMES = _KINDS["leaves"], _KINDS["gone"], _KINDS["becomes"]
_OPPOSITES = _KINDS["opposites"]
_ALLOWS = _KINDS["cue: allows"]
# Evidence of how a statement stands to another, in an order that is part of the weights.
_CUES = [expressions for kind, expressions in _KINDS.items() if kind.startswith("cue: ")]
_REACH = {"en": 28, "zh": 12}  # characters


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
    return [float(_holds(kind[new.language], side.text)) for side in (old, new) for kind in _CUES]


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
    """Words of both in these places."""
    return old.word_set & {word for part in near for word in telling_words(part, new.language)}


def telling_words(text: str, language: str) -> frozenset[str]:
    """The words that carry meaning; in Chinese a lone character is none."""
    return frozenset(word for word in _words(text) if language == "en" or len(word) > 1 or word.isascii())


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


_CODE = re.compile(r"[\w~][\w./@:~-]*", re.ASCII)
_IS_CODE = re.compile(r"(?=.*[A-Za-z])(?=.*(?:[\d_/@]|\w[.-]\w))", re.ASCII)


def differ(old: Statement, new: Statement) -> bool:
    """Whether two statements differ in an amount, a path, address or identifier, in what is allowed, or in the order of things: then
    they do not say the same, whatever else they have in common."""
    _, other, added = same_and_other(old.text, new.text)
    if other or (added and says(CHANGE, new.text, new.language) and _same_kinds(old, new)):
        return True
    codes, now = _codes(old.text), _codes(new.text)
    if any(code not in _bare(new.text) for code in codes) and any(code not in _bare(old.text) for code in now):
        return True
    return is_reversed(old, new) or _allowed(old) * _allowed(new) < 0


def _same_kinds(old: Statement, new: Statement) -> bool:
    """Whether an amount that only the new statement names is of a kind of which the old one names some."""
    before = quantities(old.text)
    added = [amount for amount in quantities(new.text) if not any(map(amount.equals, before))]
    return bool({amount.kind for amount in added} & {amount.kind for amount in before})


def _codes(text: str) -> set[str]:
    return {word.strip(".:-").lower() for word in _CODE.findall(text) if _IS_CODE.match(word)}


def _bare(text: str) -> str:
    return "".join(text.lower().split())


def _allowed(side: Statement) -> int:
    """Whether a statement allows something (1) or forbids it (-1); neither where it does both, or names a condition."""
    allows = _pattern(rf"(?:{_ALLOWS[side.language]})(?!['’]?t\b| not\b)")
    if _holds(_CONDITION[side.language], side.text):
        return 0
    denies = _holds(_DENIAL[side.language], allows.sub(" ", side.text))
    return int(allows.search(side.text) is not None and not denies) - denies


_CONDITION = {"en": r"\b(?:only|unless|until|once|except|first)\b", "zh": "[只才除先]"}


def have_in_common(old: Statement, new: Statement) -> int:
    """How many words two statements have in common; in English besides names, in Chinese what stands in both at a stretch."""
    if new.language == "en":
        return len(
            {word for word in old.word_set & new.word_set if len(word) > 2 and word not in old.names | new.names}
        )
    common, at = set(), 0
    while at < len(new.text):
        end = at
        while end < len(new.text) and new.text[end].isalnum() and new.text[at : end + 1] in old.text:
            end += 1
        if end - at > 1 and any(character not in STOP_HAN for character in new.text[at:end]):
            common.add(new.text[at:end])
        at = max(end, at + 1)
    return len(common)


def tells_of_a_change(old: Statement, new: Statement) -> bool:
    """Whether the new statement tells that something is otherwise now, has ended or was said wrongly, or both name amounts of one kind."""
    kinds = {amount.kind for amount in quantities(old.text)} & {amount.kind for amount in quantities(new.text)}
    return bool(kinds) or any(_holds(kind[new.language], new.text) for kind in _CUES[:3])


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
    "zh": re.compile("而不是|而不用|不要再?|不再|不用|不许|不准|绝不|禁止|(?<![特区分级])别(?![的人处家])再?|不是"),
}
_CLAUSE = re.compile(r"[,;，；、。!！?？]|\.(?=\s|$)")
_WAY = {
    "en": re.compile(r"\bfrom\s+(\S+)\s+(?:in)?to\s+(\S+)", re.IGNORECASE),
    "zh": re.compile(r"从\s{0,3}(\S{1,40}?)\s{0,3}(?:到|换成|改成|换到|迁到)\s{0,3}([^\s，。；、]{1,40})"),
}


def is_reversed(old: Statement, new: Statement) -> bool:
    """Whether the new statement wants what the old one does not want, and the other way about; leads the other way; or puts first what
    the old one puts behind."""
    if old.language != new.language:
        return False
    wanted, unwanted = _sides(old.text, old.language)
    now_wanted, now_unwanted = _sides(new.text, new.language)
    if (wanted - unwanted) & (now_unwanted - now_wanted) and (unwanted - wanted) & (now_wanted - now_unwanted):
        return True
    first, later = _order(old.text, old.language)
    now_first, now_later = _order(new.text, new.language)
    if (first - later) & (now_later - now_first) and (later - first) & (now_first - now_later):
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


_FIRST = {"en": r"\bfirst\b", "zh": "先"}
_STEPS = {"en": r"[,;:.]|\b(?:then|and|before|after(?:wards)?)\b", "zh": "[，。；：、]|再|然后"}


@lru_cache(maxsize=4096)
def _order(text: str, language: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of what comes first, and of the rest, where a statement says what comes first."""
    if not _holds(_FIRST[language], text):
        return frozenset(), frozenset()
    steps = [
        (_holds(_FIRST[language], step), word)
        for step in _pattern(_STEPS[language]).split(text)
        for word in _words(step)
        if language == "en" or len(word) > 1
    ]
    return frozenset(word for first, word in steps if first), frozenset(word for first, word in steps if not first)


def _words(text: str) -> list[str]:
    return [word for word in tokens(text) if word not in STOP_WORDS and word not in STOP_HAN]


def _way(side: Statement) -> tuple[str, ...]:
    """Where the first "from X to Y" of a statement begins, and where it leads."""
    match = _WAY[side.language].search(side.text)
    return tuple(part.strip(".,;:，。").lower() for part in match.groups()) if match else ()
