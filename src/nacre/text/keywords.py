"""The few words that a question or a text is about, in English and Chinese, without a dictionary of either language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

from nacre.text.tables import expression, words
from nacre.text.tokens import CJK, STOP_WORDS, compiled, tokens

LONGEST_QUESTION = 2000  # characters that are looked at; a pasted page says what it is about in its beginning
LONGEST_TEXT = 200_000  # characters of a text that tags are made of
_LONGEST_WORD = 40
QUOTED, NAMED, PLAIN, COMMON, FAINT = 3.0, 2.0, 1.0, 0.5, 0.3

_TABLE = "text/words.tsv"
_form = partial(expression, _TABLE)
_ASKING = STOP_WORDS | words(_TABLE, "asking")
_FAINT = words(_TABLE, "faint")
_SHORT_FORMS = words(_TABLE, "short forms")
_USUAL = words(_TABLE, "usual")
_ASKING_HAN = words(_TABLE, "asking han")
_FAINT_HAN = words(_TABLE, "faint han")
_USUAL_HAN = words(_TABLE, "usual han")
_WHOLE_HAN = words(_TABLE, "whole han")
_PARTS_HAN = words(_TABLE, "parts han")
_EDGES_HAN = words(_TABLE, "edges han")
_WORD = rf"[^\W{CJK}]+(?:['’][^\W\d_{CJK}]+)?(?:[._/:@+-]+[^\W{CJK}]+)*"
_CODE = r"[_/@+]|\w[.:-]\w|[a-z][A-Z]|\d[A-Za-z]|[A-Za-z]\d"
_HAN = f"[{CJK}]+"
_HEADING = r"(?m)^#{1,6}\s+(.+)$"


_UNITS = "公斤|公里|厘米|毫米|千米|平米|小时|分钟|毫秒|万元|欧元|美元|英镑|卢布"
_MEASURES = "秒个点号次天位级条本台人件年月周岁章页层楼元块分秒名种家届轮遍回只张份套款间座段所"


# Little verbs and places that cling to the end or the beginning of a word, and words that only look as if.
_LAST = r"(?<=..)[里过放叫租挂住吃买用没查找要有对选办定出做写排取去来修考订搬说带设学退换想当]\Z"
_FIRST = r"\A[不没有要会能想用对喝吃买去来取写做排选找办修订叫](?=..)"
_AMOUNT = f"[一二两三四五六七八九十百千万亿几每半](?:{_UNITS}|[{_MEASURES}行十百千万])|\\A[个张条万亿日月号]"
_BETWEEN = frozenset("的了是在和与或被把给到从")  # what stands beside words in every sentence
_SEEN = 50  # places of a word that are looked at
_ENDING = r"[库表室器员费率量者机部店厅站证卡组师队房](?=..)"  # of a compound, before its next word
_KNOWN = _PARTS_HAN | _EDGES_HAN


class KeyWord(NamedTuple):
    """A word as it was written, and how much it tells."""

    text: str
    weight: float


def weighed(text: str, most: int = 5) -> list[KeyWord]:
    """The core words of a question, best first, with how much each tells: what was quoted, then names, code words and numbers, then the
    rest; none where it is made of asking alone."""
    plain = unicodedata.normalize("NFKC", text[:LONGEST_QUESTION])
    words = list(_of_question(plain))
    if not words:  # of one character, where nothing longer is said: the cat's name is asked for
        singles = (single for run in compiled(_HAN).findall(plain) for single in _cuts().sub(" ", run).split())
        words = [KeyWord(single, FAINT if single in _FAINT_HAN else PLAIN) for single in singles]
    best: dict[str, KeyWord] = {}
    for word in words:
        key = " ".join(tokens(word.text)) or word.text
        if key not in best or best[key].weight < word.weight:
            best[key] = word
    telling = [word for word in best.values() if word.weight > FAINT]
    if len(telling) < 2:
        telling += [word for word in best.values() if word.weight <= FAINT]
    return sorted(telling, key=lambda word: -word.weight)[:most]


def _of_question(text: str) -> Iterator[KeyWord]:
    for match in _form("quote").finditer(text):
        phrase = " ".join(next(filter(None, match.groups())).split())
        if len(phrase) <= _LONGEST_WORD and any(map(str.isalnum, phrase)):
            yield KeyWord(phrase, QUOTED)
    text = _form("quote").sub(" ", text)
    yield from (KeyWord(date, NAMED) for date in _form("date").findall(text))
    text = _form("date").sub(" ", text)
    for match in compiled(_WORD).finditer(text):
        before = text[: match.start()].rstrip(" \t\"'([*_-")
        if word := _latin(match[0], starts=not before or before[-1] in ".!?:\n。！？：；"):
            yield word
    for run in compiled(_HAN).findall(text):
        for han in _han_words(run):
            yield KeyWord(han, FAINT if han in _FAINT_HAN else COMMON if han in _USUAL_HAN else PLAIN)


def _latin(word: str, *, starts: bool) -> KeyWord | None:
    """A word of a question with its weight; None where it only asks."""
    word = re.sub(r"['’](?:s|re|ve|ll|d|m|t)$", "", word)[:_LONGEST_WORD].rstrip("_-.:/'’")
    lower = word.lower().replace("’", "'")
    parts = [part for part in re.split(r"[^\w']+|_", lower) if part]
    if not parts or all(part in _ASKING for part in parts):
        return None
    if word.isdigit():
        return KeyWord(word, NAMED) if len(word) > 1 else None
    if lower in _FAINT:
        return KeyWord(word, FAINT)
    if compiled(_CODE).search(word):
        plain = all(part.isalpha() for part in parts) and word.islower() and set(word) - set("-") == set("".join(parts))
        return KeyWord(word, PLAIN if plain else NAMED)
    if len(word) < 2:
        return None
    if word.isupper() or (word[0].isupper() and not starts):
        return KeyWord(word, PLAIN if word in _SHORT_FORMS else NAMED)
    return KeyWord(word, COMMON if lower in _USUAL else PLAIN)


@cache
def _cuts() -> re.Pattern[str]:
    """Whole words first, so that a little word inside one of them does not cut it; the longer before the shorter."""
    whole = "|".join(sorted(_WHOLE_HAN, key=len, reverse=True))
    asking = "|".join(sorted(_ASKING_HAN, key=len, reverse=True))
    return re.compile(f"({whole})|(?:几|哪一?|第几|多少)(?:{_UNITS}|[{_MEASURES}])|(?:{asking})")


def _han_words(run: str) -> Iterator[str]:
    """The words of a run of Han: what stands between the little words, long runs cut where a known part begins or ends."""
    for stretch in _cuts().sub(lambda match: match[1] or " ", run).split():
        bare = _bared(stretch)
        if len(bare) >= 2 or (bare and len(run) == 1):
            yield from map(_bared, _in_parts(bare))


def _bared(word: str) -> str:
    """A word without the little ones that cling to its ends, one after the other."""
    while len(word) > 2 and word[-2:] not in _KNOWN and compiled(_LAST).search(word):
        word = word[:-1]
    while len(word) > 2 and word[:2] not in _KNOWN and compiled(_FIRST).match(word):
        word = word[1:]
    return word


def _in_parts(run: str) -> list[str]:
    """A run in words of two to four characters, as far as its parts are known; what is unknown stays whole."""
    if len(run) <= 4:
        return [run]
    pieces = [""]  # every second one is a known part
    place = 0
    while place < len(run):
        part = next((run[place : place + size] for size in (3, 2) if run[place : place + size] in _PARTS_HAN), "")
        after = place + len(part)
        if part and compiled(_ENDING).match(run, after) and run[after : after + 2] not in _KNOWN:
            part = run[place : after + 1]
        if part:
            pieces += [part, ""]
        else:
            pieces[-1] += run[place]
        place += len(part) or 1
    joined: list[str] = []
    for piece in filter(None, pieces):
        # A lone character belongs to its neighbour; two short words make one that is likely to stand as it is.
        if joined and (len(joined[-1]) + len(piece) <= 4 or len(piece) == 1 or len(joined[-1]) == 1):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def tags(text: str, most: int = 6) -> list[str]:
    """What a long text is about: words that come again, headings and code words before others; lower case, best first."""
    text = unicodedata.normalize("NFKC", text[:LONGEST_TEXT])
    headings = " ".join(compiled(_HEADING).findall(text))
    scores = _latin_scores(text, headings) + _han_scores(text, headings)
    best: list[str] = []
    for word, _ in sorted(scores.items(), key=lambda pair: -pair[1]):
        part = any(word in other or other in word for other in best)
        if len(best) < most and not part and (word in headings or _is_whole(word, text)):
            best.append(word)
    return best


def _is_whole(word: str, text: str) -> bool:
    """Whether a Chinese word is one, and no piece of a longer: it begins and ends where words do, or in various company."""
    if not compiled(_HAN).fullmatch(word):
        return True
    if compiled(_AMOUNT).search(word):
        return False
    matches = list(islice(re.finditer(word, text), _SEEN))
    if len(matches) == 1 and len(word) > 4:
        return False
    before = {text[max(0, match.start() - 1) : match.start()] for match in matches}
    sides = (before, {text[match.end() : match.end() + 1] for match in matches})
    return all(
        len(side) > 2 or any(not compiled(_HAN).match(char) or char in _BETWEEN for char in side) for side in sides
    )


def _latin_scores(text: str, headings: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    kinds: dict[str, float] = {}
    dropped = _ASKING | _USUAL | _FAINT
    titled = {match.lower() for match in compiled(_WORD).findall(headings)}
    seen = Counter(compiled(_WORD).findall(text))
    for written, count in seen.items():
        lower = written.lower()
        if not 3 <= len(lower) <= 30 or lower in dropped or "://" in lower or not any(map(str.isalpha, lower)):
            continue
        stem = tokens(lower)[0] if lower.isalpha() and lower.isascii() else lower
        word = _latin(written, starts=lower in seen)
        if word and stem not in dropped:
            counts[stem] += count
            shown.setdefault(stem, word.text.lower())
            kinds[stem] = max(kinds.get(stem, 0), (word.weight + 1) / 2 + (2 if lower in titled else 0))
    return Counter({shown[stem]: round(100 * kinds[stem] * (count**0.7)) for stem, count in counts.items()})


def _han_scores(text: str, headings: str) -> Counter[str]:
    runs = Counter(compiled(_HAN).findall(text))
    counts = Counter(word for run, times in runs.items() for word in list(_han_words(run)) * times if len(word) > 1)
    titled = {word for run in compiled(_HAN).findall(headings) for word in _han_words(run)}
    telling = ((word, count) for word, count in counts.items() if len(word) <= 8 and word not in _FAINT_HAN)
    # A long stretch is half a sentence: its words count where they come alone elsewhere.
    lengths = ((word, count, 1 if len(word) <= 4 else len(word) / 2) for word, count in telling)
    return Counter({word: round(100 * (3.5 if word in titled else 1.5) * n**0.7 / size) for word, n, size in lengths})
