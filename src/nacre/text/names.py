"""Names of people, places and things in a text, in English and Chinese, without a dictionary of either language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from nacre.text.tables import expression, words
from nacre.text.tokens import STOP_WORDS, compiled, language_of, sentences

LATIN = r"[A-Za-z][A-Za-z'’]*(?:-[A-Za-z]+)*"
_TABLE = "text/words.tsv"
_form = partial(expression, _TABLE)
_OPENERS = STOP_WORDS | words(_TABLE, "openers")
_AFTER_PLURALS = words(_TABLE, "after plurals")
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
    collected: list[str] = []
    if language_of(text) == "zh":
        # What ends like a company may begin with the words before it.
        people = [name for name in han_names(text) if not name.endswith(("公司", "大学", "银行", "医院"))]
        collected = [name for name in people if len(name) != 3 or name[:2] not in people] + compiled(LATIN).findall(
            text
        )
    parts = sentences(text) if not collected else []
    for part in (part.strip() for sentence in parts for part in compiled(r"[:;→]\s").split(sentence)):
        end = -1
        for match in latin_names(part):
            if match[0].casefold().removesuffix("s") in _NO_NAMES or (not match.start() and match[0].endswith("ing")):
                continue
            if part[end : match.start()] == " " and collected:
                collected[-1] += f" {match[0]}"
            else:
                collected.append(match[0])
            end = match.end()
    bare = (compiled(r"['’]s?\Z").sub("", name) for name in collected)
    return list(dict.fromkeys(name for name in bare if len(name) > 1 and name.casefold() not in _NO_NAMES))
