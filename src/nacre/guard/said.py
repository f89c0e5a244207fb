"""Secrets as people say them: each value that a text could give away is weighed by its shape and by what is said around it.

text → tokens → candidates → features → sum of learned weights → the candidates above the threshold

The weights (`said_weights.json`) are learned by `training/guard.py` from what stands in `training/secrets`; the words that tell of
secrets and of other numbers stand by classes in `said.tsv`.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from nacre.guard import values
from nacre.guard.values import Finding, Findings, form, pattern
from nacre.text.tables import texts

WORD, VALUE, SIGN, END = "word", "value", "sign", "end"
# Classes of words without which no value is weighed; the others only add to what these say. A word or a phrase that is no
# password by its looks needs one that says more.
TELLING = frozenset("pass code key seed question word open account wifi try fix".split())
NAMING = frozenset("pass seed question word wifi".split())
REACH, NEAR = 200, 80  # characters between such a word and a value, or a plain word
SIBLING = 2.0  # by how much less the like of a secret needs to be one itself
_SUBJECTS = frozenset("pass code key seed question word open account wifi card order tech amount sent".split())
LONGEST = 40  # characters of a value; what is longer a machine made, and the rules know it
WORDS = 24  # of a phrase


class Token(NamedTuple):
    """A word with its classes, a value, a sign between words, or the end of a sentence or line."""

    start: int
    end: int
    sort: str
    word: str  # in small letters; of a value only that it is one
    classes: tuple[str, ...]


class Candidate(NamedTuple):
    """A stretch of the text that could be a secret, and how it was come by."""

    start: int
    end: int
    sort: str


@cache
def _classes() -> dict[str, tuple[str, ...]]:
    """The classes of each word and phrase of said.tsv."""
    classes: dict[str, dict[str, None]] = {}
    for name, words in texts("guard/said.tsv").items():
        for word in words.split():
            classes.setdefault(word.replace("_", " "), {})[name] = None
    return {word: tuple(names) for word, names in classes.items()}


@cache
def weights() -> dict[str, float]:
    hundredths = json.loads(Path(__file__).with_name("said_weights.json").read_text(encoding="utf-8"))
    return {name: value / 100 for name, value in hundredths.items()}


# Tokens

_PIECE = (
    r"(?P<line>\n)|(?P<han>[\u3400-\u9fff]+)|(?P<arrow>->|→|=>|⇒|➜|←|<-+|——|[—–…])|(?P<end>[。！？])"
    r"|(?P<run>[^\s\"`“”‘「」『』《》，。；：！？、（）【】(){}\[\]<>|,;=→⇒➜←—–…\u2e80-\uffff]+)|(?P<sign>\S)"
)
_LEADING, _TRAILING = "'*-•·.~…:/_’", ".:?'*_-~’!/\\"


def tokens(text: str) -> list[Token]:
    """The text in words, values, signs and ends, each with its place."""
    found: list[Token] = []
    for match in pattern(_PIECE).finditer(text):
        start, end = match.span()
        what = match.lastgroup
        if what == "run":
            _add_run(found, match[0], start)
        elif what == "han":
            _add_han(found, match[0], start)
        elif what in {"line", "end"}:
            found.append(Token(start, end, END, "\n" if what == "line" else ".", ()))
        else:
            word = "->" if what == "arrow" else match[0]
            found.append(Token(start, end, SIGN, word, _classes().get(word, ())))
    return found


def _add_run(found: list[Token], run: str, start: int) -> None:
    """Words and values of a run without spaces: "pass:x" is a word, a sign and a value."""
    if ":" in run and "://" not in run and not pattern(r"\d:\d").search(run):
        for part in pattern("[^:]+|:").finditer(run):
            if part[0] == ":":
                found.append(Token(start + part.start(), start + part.end(), SIGN, ":", _classes()[":"]))
            else:
                _add_run(found, part[0], start + part.start())
        return
    plain = run.lstrip(_LEADING)
    begin = start + len(run) - len(plain)
    kept = plain.rstrip(_TRAILING)
    rest = plain[len(kept) :]
    is_value = pattern(r"\d|[A-Za-z][!#$%^&*@+~?]+[A-Za-z]|[a-z][A-Z]|\w[-_.&]\w").search(kept) is not None
    if is_value and rest[:1] and rest[0] in "!*" and not (rest[0] == "*" and run[0] == "*"):
        kept += rest[0]
        rest = rest[1:]
    if not kept:
        found.append(Token(start, start + len(run), SIGN, run[0], ()))
        return
    end = begin + len(kept)
    if is_value and not (kept.isascii() and kept.replace("-", "").isalpha() and kept.lower() in _classes()):
        found.append(Token(begin, end, VALUE, "V", ()))
    else:
        _add_word(found, kept.lower().replace("’", "'"), begin, end)
    if rest and rest[0] in ".?!":
        found.append(Token(end, start + len(run), END, "?" if "?" in rest else ".", ()))


def _add_word(found: list[Token], word: str, start: int, end: int) -> None:
    """A word with its classes, or those of its singular, and of the phrases that it ends."""
    known = _classes()
    forms = (word, word.removesuffix("'s"), word.removesuffix("s"))
    classes = next((known[form] for form in forms if form in known), ())
    for count in (1, 2):
        before = [token.word for token in found[-count:] if token.sort == WORD]
        if len(before) == count:
            classes += known.get(" ".join((*before, word)), ())
    found.append(Token(start, end, WORD, word, classes))


def _add_han(found: list[Token], run: str, start: int) -> None:
    """Chinese: the longest words that are known, else single characters."""
    known = _classes()
    place = 0
    while place < len(run):
        word = next((run[place : place + size] for size in (4, 3, 2) if run[place : place + size] in known), run[place])
        found.append(Token(start + place, start + place + len(word), WORD, word, known.get(word, ())))
        place += len(word)


# Candidates

_GROUPS = (
    r"(?<![A-Za-z0-9_./-])(?:\d(?:\s?[ –—-]\s?\d){2,9}|[A-Za-z]?\d{2,6}(?:[ -]\d{2,6}){1,9}|\d{1,2}(?:\s?[–-]\s?\d{1,2}){2,4}"
    r"|(?=[A-Z0-9 -]{0,30}\d)[A-Z0-9]{3,8}(?:[ -][A-Z0-9]{3,8}){1,12}|(?=[a-z]{0,5}\d)[a-z0-9]{3,6}(?: (?=[a-z]{0,5}\d)[a-z0-9]{3,6}){1,12}"
    r"|[a-z]{4}(?: [a-z]{4}){3}|[A-Za-z0-9](?: [A-Za-z0-9]){4,20})(?![A-Za-z0-9_-]|\.\d)"
)
_QUOTED = r"[\"“「『‘'`](?P<inner>[^\s\"“”「」『』‘'`\n][^\"“”「」『』`\n]{1,80}?)[\"”」』’'`](?!\w)"
_NUMBERED = r"(?:\(?\d{1,2}[.):]?\s?[a-z]{3,8}[\s,;]{0,2}){6,24}"
_RUN_OF_WORDS = r"(?<![\w'])(?:(?!(?:the|and|for|with|that|this|from|are|was|has|have|you|your|not|but|all|can|our|its|it|is|in|on|of|to|a|my|they|them|then|when|what|which|who|why|how|into|words?|phrases?|these|those|order|there|here|be|will|would|should|must|just|like|than|or|if|so|no|do|as|at|by)\b)[a-z]{3,8}[ ,/]{1,3}){5,23}[a-z]{3,8}(?![\w'])"
_OPENERS = " \t-*•>`\"'“「"
_TAIL = r"(?:就行了?|就可以了?|就可以进去?|就好了?|就能.{0,4}|就进.{0,3}|就是了?|的|了|吧|啊|哈|呀|呢|哦|嘛|这个|试试|那个|没空格|两个字|三个字|四个字|几个字|不对|都是骗子)+$"
_STOPS = frozenset(
    "and but so for because then if when which who where can could please pls thanks i you he she they we it to on at in with from".split()
)


_LEADING_TO = frozenset("link try change word question pass".split())


def candidates(text: str, found: list[Token], *, plain: bool) -> list[Candidate]:
    """Whatever could be a secret: values, words where a value would stand, groups, what is quoted, phrases."""
    spans: dict[tuple[int, int], str] = {}
    for at, token in enumerate(found):
        if token.sort == VALUE:
            if 3 <= token.end - token.start <= LONGEST:
                spans[token.start, token.end] = "value"
        elif plain and token.sort == WORD and _leads_to(found, at):
            if token.word[0] > "\u2e80":
                _add_chinese(text, found, at, spans)
            else:
                if token.end - token.start >= 4:
                    spans.setdefault((token.start, token.end), "word")
                _add_phrases(found, at, spans)
    for match in pattern(_GROUPS).finditer(text):
        spans[match.span()] = "group"
    if plain:
        for match in pattern(_RUN_OF_WORDS).finditer(text):
            spans.setdefault(match.span(), "phrase")
        for match in pattern(_NUMBERED).finditer(text):
            spans[match.start(), match.start() + len(match[0].rstrip(" ,;\n"))] = "phrase"
        for match in pattern(_QUOTED).finditer(text):
            spans.setdefault(match.span("inner"), "quoted")
    return [Candidate(start, end, sort) for (start, end), sort in spans.items()]


def _leads_to(found: list[Token], at: int) -> bool:
    """Whether a word or phrase could be a value at this place: at the start of a line, after a sign or a word that leads to one."""
    if not at:
        return True
    before, token = found[at - 1], found[at]
    if before.sort in {SIGN, END} or before.word in {"with", "been", "against"} or _LEADING_TO & set(before.classes):
        return True
    gap = before.end < token.start
    return (token.word[0] > "\u2e80") == (gap or before.sort == VALUE)


def _add_phrases(found: list[Token], at: int, spans: dict[tuple[int, int], str]) -> None:
    """The words from here to the end of the clause, and to the first word that a phrase seldom has."""
    words = list(takewhile(_is_of_a_phrase, found[at : at + WORDS]))
    shorter = next((count for count, token in enumerate(words) if count > 1 and token.word in _STOPS), 0)
    for count in (shorter, len(words)):
        if count > 1:
            spans.setdefault((words[0].start, words[count - 1].end), "phrase")


def _is_of_a_phrase(token: Token) -> bool:
    return token.sort == VALUE or (token.sort == WORD and token.word[0] <= "\u2e80")


def _add_chinese(text: str, found: list[Token], at: int, spans: dict[tuple[int, int], str]) -> None:
    """The characters from here to the end of the clause, with and without the words that close a sentence."""
    start = found[at].start
    if not (whole := pattern(r"[\u3400-\u9fff]{2,18}").match(text, start)):
        return
    for value in (whole[0], pattern(_TAIL).sub("", whole[0])):
        if 2 <= len(value) <= 16:
            spans.setdefault((start, start + len(value)), "chinese")
    if spaced := pattern(r"[\u3400-\u9fff]{1,4}(?: [\u3400-\u9fff]{1,4}){2,24}").match(text, start):
        spans.setdefault(spaced.span(), "chinese")


# Features

_SHAPES = {
    "version": r"(?i)^v?\d+(?:\.\d+){1,4}(?:[-+.]?(?:rc|beta|alpha|dev|post|lts|p)?\d*)?$",
    "date": r"^(?:19|20)\d\d[-/.]\d{1,2}(?:[-/.]\d{1,2})?$|^\d{1,2}[./-]\d{1,2}[./-](?:19|20)?\d\d$",
    "time": r"^\d{1,2}:\d\d(?::\d\d)?$",
    "year": r"^(?:19|20)\d\d$",
    "amount": r"(?i)^[$€£¥+-]?\d[\d.,]*(?:k|m|kg|g|mm|cm|km|ml|l|mb|gb|tb|ms|s|h|x|px|%|°c?|w|v|a|hz|ghz|mhz|in|ft|min|am|pm|st|nd|rd|th|d|p)?$",
    "hex": r"^[0-9a-f]{7,}$",
    "uuid": r"(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
    "path": r"^[~.]{0,2}/|^[\w.-]+(?:/[\w.-]+)+/?$|^[A-Z]:\\",
    "url": r"^\w+://|^www\.|\.(?:com|org|net|io|cn|dev|local|internal|example|test)(?:$|[/:])",
    "email": r"^[\w.+-]+@[\w-]+\.[\w.-]+$",
    "address": r"^\d{1,3}(?:\.\d{1,3}){3}",
    "file": r"\.(?:py|js|ts|md|txt|json|ya?ml|toml|csv|pdf|png|jpe?g|sh|conf|cfg|ini|log|zip|gz|pem|key|sql|html|css|xlsx?|docx?|env|go|rs|java|exe|dll|so|kdbx)$",
    "snake": r"^[a-z]+(?:_[a-z]+)+$",
    "constant": r"^[A-Z]+(?:_[A-Z0-9]+)+$",
    "camel": r"^[a-z]+(?:[A-Z][a-z]+)+$|^(?:[A-Z][a-z]+){2,}$",
    "slug": r"^[a-z]+(?:-[a-z]+)+$",
    "colour": r"^#[0-9A-Fa-f]{3,8}$",
    "hashtag": r"^#\w*[A-Za-z]\w*$",
    "ticket": r"^[A-Z]{2,6}-\d+$|^#\d+$",
    "model": r"^[A-Z]{1,5}-?\d{1,5}[A-Za-z]{0,3}$",
    "numbered": r"^[A-Za-z]+[-_]?\d{1,2}$",
    "yeared": r"^[A-Za-z]+[-_.]?(?:19|20)\d\d!?$",
    "call": r"^\w+(?:\.\w+)+$|\($",
    "option": r"^-{1,2}\w",
    "phone": r"^\+?\d{3,4}-\d{3,4}(?:-\d{3,4})?$|^1\d{10}$",
    "licence": r"^[A-Z0-9]{4,6}(?:-[A-Z0-9]{3,6}){1,}$",
    "recovery": r"^[a-z0-9]{4,6}(?:-[a-z0-9]{4,6}){1,}$",
}
# Shapes of values that are seldom secrets, and of names in code.
_ORDINARY = frozenset("version date time amount path url email address file colour uuid".split())
_NAMES = frozenset("slug snake camel call constant".split())


def _group_of(value: str, sort: str, shapes: list[str]) -> str:
    """The coarse sort of a value, with which each thing said around it is weighed once more."""
    if sort in {"chinese", "phrase", "word"}:
        return sort[0]
    if sort == "quoted" and pattern(r"[\u3400-\u9fff]|^[^\d]* [^\d]*$").search(value):
        return "q"
    if pattern(r"^[#*]?\d+[#*]*$").match(value):
        return "n" if 4 <= len(value) <= 8 else "m"
    if sort == "group":
        return "g"
    if not _ORDINARY.isdisjoint(shapes):
        return "o"
    if value.isascii() and value.isalpha():
        return "l"
    if not _NAMES.isdisjoint(shapes):
        return "s"
    return "u" if value == value.upper() else "v"


def _shape(value: str) -> str:
    """Runs of like characters: "Ab-12" is "Aa-0"."""
    for run, char in (("[A-Z]+", "A"), ("[a-z]+", "a"), ("[0-9]+", "0"), ("[\u3400-\u9fff]+", "字")):
        value = pattern(run).sub(char, value)
    return value


def features(text: str, found: list[Token], starts: list[int], candidate: Candidate) -> Iterator[str]:
    """What is known of a candidate, each as a name whose weight was learned."""
    start, end, sort = candidate
    value = text[start:end]
    shapes = (
        [name for name, shape in _SHAPES.items() if pattern(shape).search(value)] if sort in {"value", "group"} else []
    )
    group = _group_of(value, sort, shapes)
    yield "bias"
    yield f"sort {sort}"
    yield f"group {group}"
    for name in shapes:
        yield f"shape {name}"
    length = end - start
    yield f"length {length if length < 9 else 9 + min(length // 4, 9)}"
    yield f"{group} length {min(length, 9) if length < 12 else 12 if length < 16 else 16}"
    if sort in {"value", "group"}:
        shape = _shape(value)
        yield f"runs {shape[:8]}"
        yield f"run count {min(len(shape), 9)}"
        yield f"kinds {values.classes(value)}"
        digits = sum(map(str.isdigit, value))
        yield f"{group} digits {min(digits, 8)}"
        for mark in set(pattern(r"[^A-Za-z0-9\s]").findall(value)):
            yield f"mark {mark}"
        if pattern(r"[A-Za-z]{3,}\d+|\d+[A-Za-z]{3,}|[A-Za-z]{3,}[^A-Za-z0-9]+\d").search(value):
            yield "word and digits"
        if pattern(r"[a-z]\d[a-z]|\d[a-z]\d|[A-Z]\d[a-z]|\d[A-Z]\d").search(value):
            yield "mixed"
        if len(value) >= 16 and values.is_random(value):
            yield "random"
    elif sort in {"phrase", "quoted"}:
        words = value.lower().split()
        yield f"words {min(len(words), 12)}"
        rare = sum(word in _STOPS or word in values.listed("function words") for word in words)
        yield f"function words {min(rare, 4)}"
        yield f"few function words {rare * 5 < len(words)} {min(len(words), 6)}"
        yield f"capitals {min(sum(word[:1].isupper() for word in value.split()), 4)}"
        yield f"first {words[0]}"
        if any(_classes().get(word) for word in words):
            yield "holds a word of a class"
    elif sort == "word":
        if values.listed("not a secret") & {value.lower()}:
            yield "not a secret"
        if form("describing").match(value):
            yield "describing"
        if value[0].isupper():
            yield "capital"
        for name in _classes().get(value.lower(), ()):
            yield f"is {name}"
        yield f"ending {value[-2:].lower()}"
    else:
        yield f"begins {value[0]}"
        yield f"ends {value[-1]}"
        if _classes().get(value[:2]) or _classes().get(value[-2:]):
            yield "holds a word of a class"
    for feature in _context(text, found, starts, candidate):
        yield feature
        yield f"{group} {feature}"


def _context(text: str, found: list[Token], starts: list[int], candidate: Candidate) -> Iterator[str]:
    start, end, _ = candidate
    yield f"char before {_plain(text[start - 1 : start])}"
    yield f"char after {_plain(text[end : end + 1])}"
    first, last = bisect_left(starts, start), bisect_left(starts, end)
    line = text.rfind("\n", 0, start) + 1
    head, tail = text[line:start].strip(_OPENERS), text[end:].partition("\n")[0].strip(" \t`\"'”」*.,;，。")
    numbered = pattern(r"^\d{1,2}[.)、]?$|^$").match(head)
    if numbered and not tail:
        yield "alone on its line" if "\n" in text else "alone in the message"
    elif numbered:
        yield "first on its line"
    elif not tail:
        yield "last on its line"
    link = _link(found[first - 1]) if first else ""
    yield f"link {link}"
    yield from _words_beside(map(found.__getitem__, range(first - 1, -1, -1)), _BEFORE, link)
    yield from _words_beside(map(found.__getitem__, range(last, len(found))), _BEHIND, link)
    for name in sorted(_heading(found, bisect_left(starts, line))) if line else ():
        yield f"heading {name}"


_LINKS = {"sign": ":=->：", "comma": ",，、", "bracket": "(（[", "quote": "\"“「'‘`"}


def _link(token: Token) -> str:
    """How the token before a value leads to it."""
    if token.sort == SIGN:
        return next((name for name, signs in _LINKS.items() if token.word in signs), "other")
    if token.sort == WORD:
        classes = (name for name in ("link", "change", "try", "fix", "sent") if name in token.classes)
        return next(classes, "class" if token.classes else "word")
    return token.sort


class Side(NamedTuple):
    """How features name what stands on one side of a value, and how much of it they read."""

    end: str  # that a sentence ends
    sign: str  # a word
    near: str  # a class of words in the sentence of the value
    far: str  # a class of words in another sentence
    words: int  # read in all
    sentences: int  # read in all
    placed: int  # words that are named with their distance
    named: int  # words that are named


_BEFORE = Side("after", "-", "before", "earlier", words=16, sentences=3, placed=3, named=6)
_BEHIND = Side("until", "+", "behind", "later", words=12, sentences=2, placed=2, named=4)


def _words_beside(found: Iterable[Token], side: Side, link: str) -> Iterator[str]:
    """What the tokens on one side of a value say, the nearest first."""
    seen: set[str] = set()
    nearest = other_clause = False
    sentence = distance = 0  # ends and words passed
    for token in found:
        if distance == side.words or sentence == side.sentences:
            return
        if token.sort == END:
            sentence += 1
            if sentence == 1:
                yield f"{side.end} {'line' if token.word == chr(10) else token.word}"
            continue
        distance += 1
        other_clause = other_clause or (token.sort == SIGN and token.word in ",，；;")
        if not sentence and distance <= side.placed:
            yield f"{side.sign}{distance} {token.word}"
        if not sentence and distance <= side.named and f"{side.sign} {token.word}" not in seen:
            seen.add(f"{side.sign} {token.word}")
            yield f"{side.sign} {token.word}"
        for name in token.classes:
            where = f"{side.far if sentence else side.near} {name}"
            if where in seen:
                continue
            seen.add(where)
            yield where
            if side is _BEHIND:
                if not sentence and distance <= 4:
                    yield f"behind {name} near"
            elif sentence == 1:
                yield f"sentence before {name}"
            elif not sentence:
                if name in _SUBJECTS:
                    if not nearest:
                        nearest = True
                        yield f"nearest {name}"
                        yield f"nearest {name} {link}"
                    yield f"{link} {name}"
                yield f"before {name} {1 << (distance - 1).bit_length()}"  # 1, 2, 4, 8 or 16
                if not other_clause:
                    yield f"same clause {name}"


def _heading(found: list[Token], end: int) -> set[str]:
    """The classes of words in the line that announces the list or table in which a value stands; its line begins at token `end`."""
    names: set[str] = set()
    lines, holds_value = 1, False
    for place in range(end - 2, -1, -1):  # from the end of the line before
        token = found[place]
        if token.word == "\n":
            if names and not holds_value:
                break
            # An empty line, or one with a value, which is an item of the same list.
            names, lines, holds_value = set(), lines + 1, False
            if lines == 12:
                break
        elif token.sort == VALUE:
            holds_value = True
        else:
            names.update(token.classes)
    return names


def _plain(char: str) -> str:
    if char.isalnum():
        return "字" if char > "\u2e80" else "0" if char.isdigit() else "a"
    return {"": "none", "\n": "line", " ": "space", "\t": "tab"}.get(char, char)


# The message as a whole


LONG = 4_000  # characters that are read at once; a longer line is none that people say


def said(text: str) -> Findings:
    """The values that the text gives away, by what is said around them."""
    learned = weights()
    for offset, part in _parts(text):
        found = tokens(part)
        starts = [token.start for token in found]
        general = sum(learned.get(name, 0.0) for name in message_features(found))
        scored = [
            (general + sum(learned.get(name, 0.0) for name in features(part, found, starts, candidate)), candidate)
            for candidate in weighed(part, found)
        ]
        for _, candidate in best(part, scored, learned["threshold"], SIBLING):
            kind = _kind(part, found, starts, candidate)
            yield Finding(kind, offset + candidate.start, offset + candidate.end)


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """The text by whole lines, as many as are read at once."""
    begin = 0
    while len(text) - begin > LONG:
        end = text.rfind("\n", begin, begin + LONG) + 1
        if end:
            yield begin, text[begin:end]
        begin = end or (text.find("\n", begin) + 1 or len(text))
    yield begin, text[begin:]


def weighed(text: str, found: list[Token]) -> Iterator[Candidate]:
    """The candidates that stand near a word that tells of secrets, and are no placeholders."""
    telling = [token.start for token in found if not TELLING.isdisjoint(token.classes)]
    if not telling:
        return
    naming = [token.start for token in found if not NAMING.isdisjoint(token.classes)]
    for candidate in candidates(text, found, plain=bool(naming)):
        plain = candidate.sort not in {"value", "group"}
        places, reach = (naming, NEAR) if plain else (telling, REACH)
        near = bisect_left(places, candidate.start - reach)
        if near < len(places) and places[near] <= candidate.end + reach and not _never(text, candidate):
            yield candidate


def best(
    text: str, scored: list[tuple[float, Candidate]], least: float, sibling: float
) -> list[tuple[float, Candidate]]:
    """Those that score highest, without what overlaps them; beside one of them its like needs less."""
    taken: list[tuple[float, Candidate]] = []
    likes: set[str] = set()
    for need in (least, least - sibling):
        for score, candidate in sorted(scored, key=lambda item: -item[0]):
            if score < need or any(candidate.start < other.end and other.start < candidate.end for _, other in taken):
                continue
            if need == least or _like(text, candidate) in likes:
                taken.append((score, candidate))
        likes = {_like(text, candidate) for _, candidate in taken}
    return taken


def _like(text: str, candidate: Candidate) -> str:
    """What secrets in one list, table or row of attempts have in common."""
    value = text[candidate.start : candidate.end]
    if candidate.sort != "value":
        return candidate.sort
    return (
        f"digits {len(value)}"
        if value.strip("#*").isdigit()
        else "value"
        if _group_of(value, "value", []) in "vlsu"
        else "other"
    )


def message_features(found: list[Token]) -> Iterator[str]:
    count = sum(token.sort == VALUE for token in found)
    yield f"values {min(count, 5)}"
    yield f"size {min(len(found) // 12, 6)}"
    for name in sorted({name for token in found for name in token.classes}):
        yield f"message {name}"


def _never(text: str, candidate: Candidate) -> bool:
    """What only stands for a secret, and what is made to be shown: a placeholder, a variable, a hash, a public key, somebody's @name."""
    value = text[candidate.start : candidate.end]
    lower = value.lower()
    if lower in values.listed("not a secret") or "redacted" in lower or (len(set(lower)) < 3 and not lower.isdigit()):
        return True
    named = form("name parts").search(lower) and not pattern(r"(?<!auth)\d\d\W?$").search(lower)
    if named and values.classes(value) < 3:
        return True
    if candidate.sort == "phrase" and value[0].isupper() and value.count(" ") > 6:  # a sentence
        return True
    if form("shown to all").search(text[max(0, candidate.start - 40) : candidate.start].rpartition("\n\n")[2]):
        return True
    return form("placeholder parts").search(lower) is not None or form("never said").search(value) is not None


_KINDS = {"pass": "password", "wifi": "password", "code": "pin", "open": "pin", "key": "key", "seed": "recovery phrase", "question": "security answer", "word": "passphrase"}  # fmt: skip


def _kind(text: str, found: list[Token], starts: list[int], candidate: Candidate) -> str:
    """What a secret is called in its mark: by the nearest word that tells of one."""
    at = bisect_left(starts, candidate.start)
    near = found[max(0, at - 12) : at][::-1] + found[at : at + 8]
    kind = next((_KINDS[name] for token in near for name in token.classes if name in _KINDS), "password")
    value = text[candidate.start : candidate.end]
    if (kind == "pin" and not pattern(r"\d").search(value)) or (kind == "recovery phrase" and " " not in value):
        return "password"
    if kind == "pin" and not any("open" in token.classes for token in near):
        return "one-time code" if any(token.word in values.listed("one-time words") for token in near) else kind
    return "passphrase" if kind == "password" and value.count(" ") > 1 else kind
