"""The language of a text, its size in model tokens, its search tokens (stemmed words, CJK characters and pairs), its sentences and
which of them are questions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

# Han with its extensions and compatibility forms, kana without their punctuation, hangul: scripts written without spaces
# between words.
CJK = "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"


_CJK = f"[{CJK}]"
compiled = cache(re.compile)  # when first needed: large classes of characters are slow to compile


def cjk_count(text: str) -> int:
    return 0 if text.isascii() else len(compiled(_CJK).findall(text))


def language_of(text: str) -> str:
    """ "zh" when Han weighs at least as much as Latin words (a Han character is about half a word), else "en"."""
    han = cjk_count(text)
    if not han:
        return "en"
    words = len(re.findall(r"[A-Za-z]{2,}", text))
    return "zh" if han >= 2 * words or han / len(text) > 0.2 else "en"


def tokens_estimate(text: str) -> int:
    """About how many model tokens a text is: a Han character counts as one, other text as one for four characters."""
    han = cjk_count(text)
    return han + (len(text) - han + 3) // 4


# The search tokens of a text: stemmed words, identifiers whole and in parts, Han characters and their pairs.

_LONGEST = 64  # a longer run of letters is a blob, not a word; its start is enough to find it
_BLOB = 4 * _LONGEST  # what is looked at of a blob: it must fill neither the time nor the cache
_MOST_PARTS = 6  # more than that is a hash or a blob: its parts mean nothing

STOP_WORDS = frozenset(
    """a an the of to in on at for and or is are was were be been being am did do does doing done what when where who whom
    whose which how why with from by it its this that these those i me my mine you your yours he him she his her hers they
    them their theirs we us our ours as about has have had having not no can could would will should shall may might must if
    than then there so any some just also too very into over out up down off again here only own same such both each more
    most other s t d ll m re ve don let please tell know""".split()
)
STOP_HAN = frozenset(
    "的 了 是 在 我 你 他 她 它 们 有 和 与 及 也 都 就 还 吗 呢 吧 啊 哪 什 么 怎 样 谁 这 那 个 为 之 而 或 被 把 给 对 从 到 要 会 能 可 以 "
    "什么 怎么 怎样 为什 哪个 哪些 哪里 这个 那个 我们 你们 他们 是不 不是 是否 有没 没有 可以 的是 了吗 时候 多少 一个 如何 请问 知道".split()
)


# A number with inner separators stays together (2026-02-10, v3.11.7); an apostrophe joins a word (don't, l'eau).
_RUN = rf"[{CJK}]+|[vV]?\d+(?:[.:,/-]\d+)+|[^\W{CJK}]+(?:['’][^\W\d_{CJK}]+)?"
_CAMEL = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+"


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english", 0)  # our own cache below keeps the whole token, not only the stem


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    # Words with letters beyond ASCII are not English; digits have no stem.
    return str(_stemmer().stemWord(word)) if word.isascii() and word.isalpha() and len(word) > 2 else word


@lru_cache(maxsize=65536)
def _word(run: str) -> tuple[str, ...]:
    bare = run.replace("’", "'")
    if "'" in bare:
        head, _, tail = bare.partition("'")
        bare = head if tail.lower() in {"s", "t", "re", "ve", "ll", "d", "m"} else head + tail
    lower = _fold(bare)
    if lower.isalpha() and (bare.islower() or bare.isupper() or bare.istitle() or not bare.isascii()):
        return (_stem(lower[:_LONGEST]),)
    parts = [_stem(_fold(part)[:_LONGEST]) for part in compiled(_CAMEL).findall(bare)]
    whole = lower.strip("_").replace("'", "")[:_LONGEST]
    if len(parts) < 2 or len(parts) > _MOST_PARTS:
        return (_stem(whole),) if whole else ()
    return (_stem(whole), *parts)


def _number(run: str) -> list[str]:
    """A version, date or time whole and in parts; a longer chain of numbers is a table row, of which the parts are enough."""
    parts = [part[:_LONGEST] for part in re.split(r"[.:,/-]", run.lstrip("vV"))]
    return ["_".join(parts)[:_LONGEST], *parts] if len(parts) <= _MOST_PARTS else parts


def _fold(word: str) -> str:
    """Lower case without accents, so that "café" is found by "cafe"."""
    if word.isascii():
        return word.lower()
    bare = "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", bare)


def tokens(text: str) -> list[str]:
    """The search tokens of a text, in order, with repeats."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    result: list[str] = []
    for run in compiled(_RUN).findall(text):
        if run[0] >= "\u3005" and compiled(_CJK).match(run):
            result += run
            result += [run[i : i + 2] for i in range(len(run) - 1)]
        elif run[-1].isdigit() and not run.isalnum() and "_" not in run:
            result += _number(run)
        else:
            result += _word(run if len(run) <= _BLOB else run[:_BLOB])
    return result


def query_tokens(text: str) -> list[str]:
    """The distinct tokens of a question that carry meaning, in order; all of them when none does."""
    every = list(dict.fromkeys(tokens(text)))
    stops = stop_tokens()
    return [token for token in every if token not in stops] or every


@cache
def stop_tokens() -> frozenset[str]:
    return frozenset(_stem(word) for word in STOP_WORDS) | STOP_WORDS | STOP_HAN


# Sentences of what people type in chats: lower case, without full stops, Chinese and English mixed.


_FENCE = r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)"
_MARKER = r"\A\s*(?:[-*+•·]|\d{1,2}[.)、]|[（(]\d{1,2}[)）])\s+"
_ABBREVIATION = (
    r"(?i)(?:\b(?:e\.g|i\.e|etc|vs|mr|mrs|ms|dr|prof|approx|no|fig|st|jr|sr|inc|ltd|co|dept|est|min|max|resp|cf|a\.m|p\.m)"
    r"|\b[A-Za-z]|\d)\.\Z"
)
_LONGEST_ABBREVIATION = 12  # characters, with what stands before it
_OPEN, _CLOSE = "([{（【「『“《", ")]}）】」』”》"
_END = r"[。！？；…]+[”’」』）)】》\"']*|(?<![.!?])[.!?]+[\"'”’)\]]*(?=\s|\Z|[\u4e00-\u9fff])|;(?=[\s\u4e00-\u9fff])"


def sentences(text: str) -> list[str]:
    """The sentences of a message, in order; code blocks are left out. Lines end sentences too."""
    lines = (compiled(_MARKER).sub("", line.strip()) for line in re.split(r"\n+", compiled(_FENCE).sub("\n", text)))
    return [sentence for line in lines for sentence in _of_line(line) if any(map(str.isalnum, sentence))]


def _of_line(line: str) -> Iterator[str]:
    start = seen = ticks = depth = 0
    for match in compiled(_END).finditer(line):
        end = match.end()
        part = line[seen:end]  # what is new since the last stop: each character is counted once
        seen = end
        ticks += part.count("`")
        depth += sum(map(part.count, _OPEN)) - sum(map(part.count, _CLOSE))
        # While a backtick or a bracket is open, the stop belongs to what is inside.
        inside = ticks % 2 == 1 or (depth > 0 and end - start < 300)
        if not inside and not (match[0] == "." and _ends_an_abbreviation(line, start, end)):
            yield line[start:end].strip()
            start, ticks, depth = end, 0, 0
    yield line[start:].strip()


def _ends_an_abbreviation(line: str, start: int, end: int) -> bool:
    """Whether a full stop belongs to "e.g." or to a number; "at 14:00." and "costs 5." end the sentence where a letter follows."""
    tail = line[max(start, end - _LONGEST_ABBREVIATION) : end]
    if not compiled(_ABBREVIATION).search(tail):
        return False
    rest = line[end : end + 40].lstrip()
    return not (tail[-2:-1].isdigit() and (rest[:1].isalpha() or end == len(line)))


_BREAK = r"(?<=[,，;；:：])\s*|(?<!\s)\s+(?=(?:but|because|so|and|which|otherwise)\b)|(?<!\s)\s+[-–—]+\s+"


def clauses(sentence: str) -> list[str]:
    return [part.strip() for part in compiled(_BREAK).split(sentence) if part.strip()]


# Whether a text is a question: by its mark alone, by its form, or as search reads entries, where a request is one too.


# A question that nobody ended with its mark. "When we deploy, …" and "what I want is …" are none.
_QUESTION = {
    "en": re.compile(
        r"(?:(?:and|so|but|ok|okay|hey|also|then)[\s,]+)*(?:(?:what|which|where|when|why|how|who|whom|whose)"
        r"(?! (?:we|i|you|they|he|she|it|the|a|an|our|my|your|this|that|these|those|is why|is what)\b)(?: (?:\w+ )?\w+)? "
        r"(?:is|are|was|were|do|does|did|has|have|had|can|could|should|would|will)\b|(?:what|where|when|why|how|who)(?:'s|s|'re|'d)\b"
        r"|who (?!knows)[a-z]+s\b|(?:is|are|was|were|do|does|did|has|have|can|could|should|would|will) (?:we|you|i|it|they|there|he|she|the|this|that|any|my|our)\b)"
        r"(?![^,;:]*\b(?:is|are|must|shall) (?:to|that|always|never)\b)[^,;:]{0,200}",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"[^，。；]{0,60}(?:什么时候|什么|哪[个里些位种天儿]|谁|怎么样?|为什么|为何|多少|多久|几[个点天号次]|是不是|有没有|能不能|要不要|可不可以|是否)[^，。；]{0,40}|[^，。；]{1,80}[吗呢]"
    ),
}
_SOURCE_NOTE = r"\s*\(src: [\d-]+\)\Z"
_REQUEST = (
    r"(?i)[-*+\s]*(?:\[[^\]]{1,12}\]\s*)?(?:[^\W\d_][\w ]{0,20}[:：]\s)?(?:(?:can|could|would|will) (?:you|we|i)\b|please\b|(?:remind|tell|show|find|give) me\b|look up\b|check (?:if|whether)\b|User asked"
    r"|帮我|麻烦|请(?:你|帮)|能不能|可不可以|提醒我|查一下|看一下|用户问|用户要求|(?:thanks|thank you|ok|okay|great|done)\b.{0,12}\Z|(?:谢谢|谢啦|好的|收到|辛苦).{0,6}\Z)"
)


def has_question_mark(text: str) -> bool:
    return text.rstrip().endswith(("?", "？"))


def is_question(text: str, language: str) -> bool:
    """Whether a sentence has the form of a question, with its mark or without."""
    return has_question_mark(text) or bool(_QUESTION[language].fullmatch(text.strip().rstrip(".。!！… ")))


def asks(text: str) -> bool:
    """Whether an entry is a question or a request, or ends in one; search has learnt what that is worth."""
    end = text.rstrip()
    if end.endswith(")"):
        end = compiled(_SOURCE_NOTE).sub("", end)
    return end.endswith(("?", "？", "吗", "呢")) or bool(compiled(_REQUEST).match(end))
