"""Names of people, places and things in a text, in English and Chinese, without a dictionary of either language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from nacre.text.tables import expression, texts, words
from nacre.text.tokens import STOP_WORDS, compiled, language_of, sentences

LATIN = r"[A-Za-z][A-Za-z'’]*(?:-[A-Za-z]+)*"
_TABLE = "text/words.tsv"
_form = partial(expression, _TABLE)
_OPENERS = STOP_WORDS | words(_TABLE, "openers")
_AFTER_PLURALS = words(_TABLE, "after plurals")
_USING = ("用", "装", "走")  # what pnpm stands behind
_NO_NAMES = STOP_WORDS | words(_TABLE, "no names")


def han_names(text: str) -> Iterator[str]:
    """People, places and companies. One of three signs may have caught the first sign of the next word."""
    return (next(filter(None, match.groups())) for match in _form("han name").finditer(text))


def latin_names(sentence: str) -> Iterator[re.Match[str]]:
    """The words of an English sentence that are names, or parts of one: its first word only where it is somebody who does something."""
    words = list(compiled(LATIN).finditer(sentence))
    following = [word[0] for word in words[1:3]] + ["", ""]
    for place, match in enumerate(words):
        word = match[0]
        if word[0].islower() or word in ("I", "I'm", "I've", "OK"):
            continue
        is_label = sentence.startswith((f"{word}:", f"{word},"))
        if place or word.isupper() or (not is_label and _is_subject(word, following[0], following[1])):
            yield match


def _is_subject(word: str, following: str, third: str) -> bool:
    """Whether the first word of a sentence is somebody's name: what follows is a part of it, or what somebody does."""
    if word.casefold() in _OPENERS or third in _AFTER_PLURALS:
        return False
    acts = following.endswith("s") or following in ("never", "always", "had", "will", "said", "and", "joined", "left")
    verbal = len(word) > 5 and word.endswith(("ed", "ing"))
    return acts or (following[:1].isupper() and not following.isupper() and not verbal) or word.endswith(("'s", "’s"))


def names(text: str) -> list[str]:
    """The names in a text, each once, as they are written; parts that stand side by side are one."""
    text = _form("places").sub(" ", text)
    if language_of(text) == "zh":
        collected = [*_people(text), *_side_by_side(text, _latin_in_han(text))]
    else:
        collected = _english_names(text)
    bare = (compiled(r"['’]s?\Z").sub("", name) for name in collected)
    return list(dict.fromkeys(name for name in bare if len(name) > 1 and name.casefold() not in _NO_NAMES))


def _english_names(text: str) -> list[str]:
    collected: list[str] = []
    for part in (part.strip() for sentence in sentences(text) for part in compiled(r"[:;→]\s").split(sentence)):
        matches = (
            match
            for match in latin_names(part)
            if match[0].casefold().removesuffix("s") not in _NO_NAMES
            and (match.start() or not match[0].endswith("ing"))
            and not compiled(r"[\d_]").match(part, match.end())
        )
        collected += _side_by_side(part, matches)
    return collected


def possible_names(text: str) -> list[tuple[str, str]]:
    """What may be somebody's name in a Chinese text, each with the sign that follows it: a name recurs before different signs, the first
    half of a word always before the same."""
    return [(match[1], match[2]) for match in _form("perhaps called").finditer(text) if not _is_word(match[1])]


def _people(text: str) -> list[str]:
    """People and places by what stands before and behind them, in the order of the text."""
    # What a title or a city shows to be a name need not be told from other words; what ends like a company may begin with the words before it.
    called = [
        (match.start(), match[match.lastindex or 0], match.lastindex == 1) for match in _form("called").finditer(text)
    ]
    others = [(match.start(), match[1] or match[5] or "", bool(match[5])) for match in _form("han name").finditer(text)]
    named = [
        name
        for _, name, is_sure in sorted(called + others)
        if name and (is_sure or not _is_word(name)) and not name.endswith(("公司", "大学", "银行", "医院"))
    ]
    return [name for name in named if len(name) != 3 or name[:2] not in named]


def _latin_in_han(text: str) -> Iterator[re.Match[str]]:
    """The words of a Chinese sentence in Latin letters that are names: in lower case only what is used by its name."""
    after_name = False
    for match in _form("latin word").finditer(text):
        before = text[: match.start()].rstrip()
        after_name = match[0] != match[0].lower() or before.endswith(_USING) or (after_name and before.endswith("和"))
        if after_name and match[0].casefold() not in _NO_NAMES:
            yield match


def _is_word(name: str) -> bool:
    """Whether signs that stand where a name could are another word, or begin with one."""
    return name[-1] in texts(_TABLE)["han endings"] or any(
        word[0] == name[0] and name[1] in word[1:] for word in words(_TABLE, "han words")
    )


def _side_by_side(text: str, matches: Iterable[re.Match[str]]) -> list[str]:
    """The words of some matches; those with only a space between them are one name."""
    joined: list[str] = []
    end = -1
    for match in matches:
        if joined and text[end : match.start()] == " ":
            joined[-1] += f" {match[0]}"
        else:
            joined.append(match[0])
        end = match.end()
    return joined
