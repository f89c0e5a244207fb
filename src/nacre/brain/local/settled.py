"""The turns of a written session, and the decisions it ended with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from nacre.model import Speaker
from nacre.text.quoting import demands, own_words, reports
from nacre.text.tokens import has_question_mark, sentences

DATED = re.compile(
    r"(?m)^\*\*(User|Agent|Other|用户|助手|他人)(?: \([^)\n]*\))?\*\* \d{4}-\d\d-\d\d \d\d:\d\d(?: <!-- \w+ -->)?[ \t]*$"
)
# In a session that Nacre did not write: "**User:** …", "用户：…", "## Assistant".
_NAMED = re.compile(
    r"(?mi)^(?:#{1,6}[ \t]+|\*\*)?(User|Human|Agent|Assistant|AI|Other|用户|助手|我|他人)(?: \([^)\n]{0,60}\))?"
    r"(?:(?:\*\*)?[ \t]*[:：](?:\*\*)?|(?<=\w)\*\*[ \t]*$|(?<=\w)[ \t]*$)[ \t]*"
)
_SPEAKERS = {
    **dict.fromkeys(("user", "human", "用户", "我"), Speaker.OWNER),
    **dict.fromkeys(("agent", "assistant", "ai", "助手"), Speaker.AGENT),
}


class Turn(NamedTuple):
    speaker: Speaker
    text: str


def split_turns(body: str) -> list[Turn]:
    """The session, turn by turn; none where nobody is said to speak."""
    marks = list(_marking(body).finditer(body))
    ends = [*(mark.start() for mark in marks[1:]), len(body)]
    pairs = zip(marks, ends, strict=False)  # a text may have no turns at all
    return [Turn(_SPEAKERS.get(mark[1].lower(), Speaker.OTHER), body[mark.end() : end]) for mark, end in pairs]


def without_speakers(body: str) -> str:
    return _marking(body).sub("", body)


def _marking(body: str) -> re.Pattern[str]:
    """The pattern by which the text says who speaks. In a session that Nacre wrote nobody can put words into another's mouth."""
    return _NAMED if not DATED.search(body) and len(_NAMED.findall(body)) > 1 else DATED


# What a session came to: the last words by which its owner settled something, and what these words agree to.

MAX_DECISIONS = 3  # settlements that are told, the last ones
_BRIEF = 40  # characters up to which words are only understood with what they answer
_DISTANCE = 8  # turns back in which a list may stand that is chosen from
_LOOKED_BACK = 60  # sentences back
_LAST_TURNS = 16  # of a session, in which its outcome stands
_ITEMS = 3  # of a list that are chosen at once

SETTLED = re.compile(
    r"\b(?:decid\w+|decision|agreed|settled|chose|choose|we(?:'ll| will) (?:use|go|keep|move)|from now on|always|never|instead of|rather than|switch\w* to"
    r"|stick\w* (?:to|with)|conclusion|rule|must(?:n't)?|approved|rejected)\b"
    r"|决定|定了|定下|敲定|就用|改用|改成|改为|采用|选用|以后|一律|不再|统一|结论|约定|规定|必须|确定|批准|否决|换成|别用|不要用",
    re.IGNORECASE,
)
# How an owner settles without any of these words.
_CHOSEN = re.compile(
    r"\A\W*(?:then|so|ok(?:ay)?,? (?:then )?(?:let'?s|we)|let'?s (?:do|go|take|use|keep|move|stay)|go (?:with|for|ahead)|we(?:'ll| will)? (?:take|go|do|use|keep|move)\b|option \w\b)"
    r"|\bit is(?=[,.!]|\Z)|\b(?:then|please)[.!]?\Z|\bstays? (?:the|as|where)\b|\bbecomes? the\b|\b(?:never|no longer|not any ?more)\b|\bdon'?t\b"
    r"|那就|就定|就用|就选|就按|就这|就得|就去|就订|就[^，。]{1,6}吧|选|[^吗呢]吧(?=[，,。！]|\Z)|一律|不许|严禁|不得|改到|改成|定在|放在|先做|先不|只用|还是|让.{1,8}(?:来|去|负责)|负责人是",
    re.IGNORECASE,
)
# Saying yes: what is agreed to stands before it.
_AGREES = re.compile(
    r"\A\W*(?:agreed|yes|yep|yeah|ok(?:ay)?|good|great|fine|perfect|right|sure|exactly|deal|approved|sounds (?:good|right|great)|do (?:it|that|both)|go ahead"
    r"|both|make it so|that works|works for me|lovely|excellent)\b"
    r"|\A\W*(?:同意|好的?|行|可以|没问题|就这样|就这么(?:定|办|做)|对|嗯|成|赞成|批准|都(?:做|要)|两个都|没意见|有道理|那就这么|就按)",
    re.IGNORECASE,
)
# The same where it is more than a nod.
_FIRMLY = re.compile(
    r"\b(?:agreed|deal|approved|do (?:it|that|both)|go ahead|make it so|that works|works for me)\b"
    r"|同意|就这样|就这么|批准|赞成|都做|都要|没意见|没问题",
    re.IGNORECASE,
)
THANKS = re.compile(r"\b(?:thanks?|thank you|thx|bye|morning|night|weekend)\b|谢|辛苦|再见|晚安|哈哈", re.IGNORECASE)
_EITHER = re.compile(r"\bor\b|还是", re.IGNORECASE)
_ALL = re.compile(r"\b(?:both|all of (?:them|it)|all three)\b|两个都|三个都|都做|都要|全部", re.IGNORECASE)
_PICK = re.compile(
    r"\b(?:option|number|do(?:es)?|take|use|choose|go with|with|variant|plan)\s+#?(\d{1,2}|[A-H])\b|\A\W*(\d{1,2}|[A-H])(?=\s*(?:[,.;，。；]|\Z))"
    r"|(?:方案|选项?|第)\s*([一二三四五六七八\dA-H])",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?m)^[ \t]*(?:(?:option|方案)\s*)?(\d{1,2}(?=[.):：、])|[A-H](?=[.):：、])|[-*+•])[.):：、]?[ \t]+(\S.*)$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[a-z0-9]{3,}")
_HAN = re.compile("[\u3400-\u9fff]+")
_NUMBERS = dict(zip("一二三四五六七八", "12345678", strict=True))
_NOD = 12  # characters up to which a yes says nothing else
# Making a proposal a rule of one's own: a yes with what shall hold from then on.
_ADOPTS = re.compile(
    r"\b(?:do (?:it|that|so|both)|from now on|always|every time|make (?:it|that|this) (?:so|a|the|our)|keep it that way|let'?s do|go with that|remember (?:it|that))\b"
    r"|\A\W*(?:agreed|deal|approved)\b|以后|今后|从现在起|就这么(?:定|办|做)|就按|照(?:办|做)|记住|都这样|同意|批准|定了",
    re.IGNORECASE,
)


def affirms(text: str) -> bool:
    """Whether an answer takes a proposal over, as in "yes, do that from now on"; an "ok, thanks" does not."""
    return bool(_AGREES.match(text)) and bool(_ADOPTS.search(text))


class Utterance(NamedTuple):
    text: str
    speaker: Speaker
    turn: int
    place: int  # in the whole text
    number: str = ""  # of a list item: what it may be chosen by; "-" where it has none

    @property
    def asks(self) -> bool:
        return has_question_mark(self.text)


def decisions(said: Sequence[Utterance]) -> list[Utterance]:
    """The last settlements of the owner, newest first, each followed by what it agrees to or chooses where it needs that."""
    result: list[Utterance] = []
    count = 0
    for remark in reversed(said):
        if remark.speaker is not Speaker.OWNER or remark.asks or remark in result:
            continue
        near = said[max(0, remark.place - _LOOKED_BACK) : remark.place]
        turns = range(remark.turn - _DISTANCE, remark.turn)
        before = [other for other in near if other.speaker is Speaker.AGENT and other.turn in turns]
        if not _settles(remark, before, near[-1] if near else None):
            continue
        result += [remark, *(other for other in _agreed_to(remark, before) if other not in result)]
        count += 1
        if count == MAX_DECISIONS:
            break
    return result


def _settles(remark: Utterance, before: Sequence[Utterance], follows: Utterance | None) -> bool:
    agrees, firmly = bool(_AGREES.match(remark.text)), bool(_FIRMLY.search(remark.text))
    if agrees and len(remark.text) <= _NOD and not firmly:
        return False
    if SETTLED.search(remark.text) or _CHOSEN.search(remark.text):
        return True
    if THANKS.search(remark.text) or not any(other.turn == remark.turn - 1 for other in before):
        return False
    if firmly or agrees:
        return True
    if follows is None or follows.turn != remark.turn:
        return bool(_picked(remark, before)) or _answers_a_choice(remark, before)
    # "Good. Slack Water." settles with its second sentence.
    return len(follows.text) <= _NOD and bool(_AGREES.match(follows.text)) and len(remark.text) <= _BRIEF


def _answers_a_choice(remark: Utterance, before: Sequence[Utterance]) -> bool:
    last = before[-1]
    return last.turn == remark.turn - 1 and last.asks and bool(_EITHER.search(last.text))


def _picked(remark: Utterance, before: Sequence[Utterance]) -> list[Utterance]:
    """The items of a list that the words choose: by their number, or by a word that stands in one of them alone."""
    listed = [other for other in before if other.number]
    items = [other for other in listed if other.turn == listed[-1].turn]
    if len(items) < 2:
        return []
    if _ALL.search(remark.text):
        return items[:_ITEMS]
    numbers = {group.upper() for match in _PICK.finditer(remark.text) for group in match.groups() if group}
    numbers |= {_NUMBERS[number] for number in numbers if number in _NUMBERS}
    if by_number := [other for other in items if other.number in numbers]:
        return by_number[:_ITEMS]
    mine = _words(remark.text)
    shared = [mine & _words(other.text) for other in items]
    times = Counter(word for words in shared for word in words)
    alone = [other for other, words in zip(items, shared, strict=True) if any(times[word] == 1 for word in words)]
    return alone if len(alone) == 1 and len(remark.text) <= 2 * _BRIEF else []


def _agreed_to(remark: Utterance, before: Sequence[Utterance]) -> list[Utterance]:
    """What a settlement cannot be understood without: the items that it picks, else what was proposed or asked last."""
    if chosen := _picked(remark, before):
        return chosen
    nearest = [other for other in before if other.turn == remark.turn - 1]
    if not nearest or (len(remark.text) > _BRIEF and not _AGREES.match(remark.text)):
        return []
    if _answers_a_choice(remark, before):
        return nearest[-1:]
    stated = [other for other in nearest if not other.asks]
    if not affirms(remark.text):  # a nod does not make a rule of what an agent read somewhere
        stated = [other for other in stated if not (demands(other.text) and reports(other.text))]
    # Of several sentences the one that shares words with the answer; else the last, which is what was put to the owner.
    mine = _words(remark.text)
    if not (nearest := stated or [other for other in nearest if other.asks]):
        return []
    return [max(nearest, key=lambda other: (len(mine & _words(other.text)), other.place))]


def _words(text: str) -> set[str]:
    """The words of a sentence, roughly: of Chinese each pair of characters."""
    pairs = (run[at : at + 2] for run in _HAN.findall(text) for at in range(len(run) - 1))
    return {*_WORDS.findall(text.lower()), *pairs}


def list_items(words: str) -> dict[str, str]:
    """The items of a list, of which an answer may choose: what each says first → its number, or "-"."""
    items = ((match, sentences(match[2])) for match in _NUMBERED.finditer(words))
    return {said[0]: match[1].upper() if match[1].isalnum() else "-" for match, said in items if said}


def outcome(text: str, most: int) -> list[str]:
    """What a session came to, in at most so many of its own sentences; of a long session only the end is looked at."""
    said: list[Utterance] = []
    for number, turn in enumerate(split_turns(text)[-_LAST_TURNS:]):
        words = own_words(turn.text, typed=turn.speaker is Speaker.OWNER)
        items = list_items(words) if turn.speaker is Speaker.AGENT else {}
        for sentence in sentences(words)[:_LOOKED_BACK]:
            said.append(Utterance(sentence, turn.speaker, number, len(said), items.get(sentence, "")))
    chosen = sorted(decisions(said)[:most], key=lambda remark: remark.place)
    return [remark.text for remark in chosen]
