"""Requests not to be remembered, and the messages of a session that they cover."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from nacre.guard.finding import pattern
from nacre.model.session import Message, Speaker
from nacre.text.tokens import language_of


def asks_for_privacy(text: str) -> bool:
    """Whether a text has the plain words for it, about itself: "don't save this", not "don't save temporary files"."""
    return any(_requests(text))


def forbids_things(text: str) -> bool:
    """Whether a text is a rule about keeping files, logs or data, which no feeling may take for a wish for silence."""
    if language_of(text) == "zh":
        from nacre.guard import wishes_chinese

        return wishes_chinese.forbids_things(text)
    from nacre.guard import wishes

    return wishes.forbids_things(text)


def tells_nothing_else(text: str) -> bool:
    """Whether a text that asks for silence says nothing besides, so that what came before it is meant."""
    told = list(text)
    for begin, end in _requests(text):
        told[begin:end] = " " * (end - begin)
    return sum(map(str.isalnum, told)) < (8 if language_of(text) == "zh" else 14)


def _requests(text: str) -> Iterator[tuple[int, int]]:
    """Where a text asks; the expressions for it are made when the first message is read, not by every command."""
    from nacre.guard import wishes, wishes_other

    yield from wishes.wishes(text)
    yield from wishes_other.wishes(text)
    if pattern("[\u4e00-\u9fff]").search(text):
        from nacre.guard import wishes_chinese

        yield from wishes_chinese.wishes(text)


_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:\.(?=\w)[^.!?。！？\n]*)*")
_ALL_OF_IT = re.compile(
    r"\b(?:any|all|none|everything) of (?:this|that|it)\b|\beverything i\b|这些|以上|刚才说的|前面说的|都(?:别|不要)",
    re.IGNORECASE,
)
_TO_COME = re.compile(
    r"\bthe following\b|\bwhat (?:i say|comes) next\b|\bnext (?:thing|bit|message|part)\b|接下来|下面(?:说|这|的)|以下",
    re.IGNORECASE,
)
# What was said some time ago may be anywhere; what was just said is the message before.
_JUST_SAID = re.compile(
    r"\b(?:what|all|anything) i(?: have|['’]ve)? just \w+|\b(?:that|the|my) (?:last|previous) (?:bit|part|message|remark|comment|paragraph|one|line)\b"
    r"|刚才|刚刚|方才|上一[条句段]|\bwas ich (?:gerade|eben)\b|\bce que je viens\b|\blo que acabo\b|さっき|今の話|방금|아까",
    re.IGNORECASE,
)


def means_what_was_said(text: str) -> bool:
    """Whether a wish for silence says that it is about an earlier message, whatever else stands beside it."""
    return _JUST_SAID.search(text) is not None and not _TO_COME.search(text)


def reach(text: str) -> tuple[int, int]:
    """How many messages of the owner before and after it a wish for silence means, besides its own."""
    asking = _sentences_that_ask(text)
    to_come = _TO_COME.search(asking) is not None
    earlier = means_what_was_said(asking) or (tells_nothing_else(text) and not to_come)
    return 3 if _ALL_OF_IT.search(asking) else int(earlier), 2 if to_come else 0


def _sentences_that_ask(text: str) -> str:
    """What a message says besides has no say in what its wish means; all of it where the wish is only felt."""
    spans = sorted(_requests(text), reverse=True)
    asking: list[str] = []
    for sentence in _SENTENCE.finditer(text):
        while spans and spans[-1][1] <= sentence.start():
            spans.pop()
        if spans and spans[-1][0] < sentence.end():
            asking.append(sentence.group())
    return "\n".join(asking) or text


def reaches_back(messages: Sequence[Message]) -> bool:
    """Whether somebody asks in them not to keep what was said before."""
    return any(
        one.speaker is Speaker.OWNER and asks_for_privacy(one.text) and reach(one.text)[0] > 0 for one in messages
    )


def drop_private(messages: Sequence[Message]) -> list[Message]:
    """The messages without those that are not to be kept: the one that asks, the one that it is about, and the answers to them.

    By the plain words alone, for where whole messages are kept and nothing judges their sentences.
    """
    silent: set[int] = set()
    owners = [place for place, one in enumerate(messages) if one.speaker is Speaker.OWNER]
    for place, message in enumerate(messages):
        if message.speaker is not Speaker.OWNER or not asks_for_privacy(message.text):
            continue
        back, forward = reach(message.text)
        mine = bisect_left(owners, place)
        begin = owners[max(mine - back, 0)]
        end = owners[mine + 1 + forward] if mine + 1 + forward < len(owners) else len(messages)
        silent.update(range(begin, end))
    return [message for place, message in enumerate(messages) if place not in silent]
