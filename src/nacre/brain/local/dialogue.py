"""A talk as a row of sentences, each with what stands around it: who says it, where, in answer to what, and what follows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.brain.local.judge import Judged
from nacre.model.session import Message, Speaker
from nacre.text.sentences import sentences

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LONGEST_MESSAGE = 6000  # characters; what is longer is pasted, and its beginning and end say what it is for
NEAR = 120  # sentences within which one may repeat another
_QUOTED = re.compile(r"(?m)^[^\S\n]*>.*$")
_LOG_LINE = re.compile(
    r"(?m)^[^\S\n]*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:ERROR|WARN|INFO|DEBUG|TRACE)\b|Traceback |File \"|at [\w.$]+\(|\$ |#!|[{}\[\]]|<\/?\w).*$"
)
# A line that says that something follows which somebody else wrote.
_BRINGS = re.compile(
    r"\b(?:here(?:'s| is| are)|see|from|this is|found|pasted?|below|forwarded|got) (?:\w+ ){0,4}(?:article|page|post|blog|e?mail|message|thread|docs?|readme|log"
    r"|output|error|trace(?:back)?|transcript|snippet|text|quote|letter|reply|comment|issue|ticket|review)\b"
    r"|\b(?:article|page|e?mail|message|thread|log|output|error|traceback|text|letter|reply)\b[^.!?\n]{0,40}:\s*$"
    r"|(?:文章|网页|邮件|日志|报错|输出|原文|聊天记录|帖子|内容|信|通知|公告|回复)[^。！？\n]{0,14}[:：]\s*$|(?:如下|下面(?:是|这)|贴(?:给你|一下|过来)|转发)[^。！？\n]{0,20}[:：]?\s*$",
    re.IGNORECASE,
)
# Lines that no one types in a chat: what pages and mails carry around their words.
_PAGE_LINE = re.compile(
    r"accept (?:all )?cookies|subscribe to|read more|all rights reserved|privacy policy|terms of (?:service|use)|unsubscribe|©|^[^\S\n]*(?:from|to|subject|cc|date):\s"
    r"|\bclick here\b|sign up (?:now|for)|related (?:articles|posts)|minutes? read\b|^[^\S\n]*(?:发件人|收件人|主题|抄送)[:：]|阅读(?:原文|更多)|版权所有|点击关注",
    re.IGNORECASE | re.MULTILINE,
)
# Words meant for machines that read along, not for anybody in the talk.
_TO_MACHINES = re.compile(
    r"\b(?:AI|LLM|language model)s?\b[^.\n]{0,30}\b(?:must|should|reading|read this|remember)\b|\bassistants? reading\b|\bignore (?:all |any |the )?(?:previous|prior|above|earlier)\b"
    r"|\b(?:remember|note|store|record) that the user\b|\bthe user (?:always|prefers|likes|wants|has asked|agreed)\b|system prompt"
    r"|忽略(?:以上|之前|前面|上述)|(?:记住|记录)[^，。]{0,4}用户(?:喜欢|偏好|想要|要求|总是)|(?:AI|人工智能|大模型)[^，。]{0,10}(?:必须|应当|应该|请记住)",
    re.IGNORECASE,
)
# Comments, elements with their content, and blocks that are set in: all of it brought from elsewhere.
_MARKED_UP = re.compile(
    r"(?s)<!--(?:(?!<!--|-->).)*-->|<([a-zA-Z][\w-]{0,40})(?:\s[^<>]{0,400})?>(?:(?!<\1[\s>]).){0,5000}?</\1>|(?:^|\n)(?: {4,}|\t)\S[^\n]*(?:\n(?: {4,}|\t)[^\n]*)+"
)
_MENTION = re.compile(r"\A(?:@[\w.-]+[\s,，:：]*)+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a talk."""

    text: str
    speaker: Speaker
    turn: int  # which message
    place: int  # which sentence of it
    of: int  # how many it has
    message: str  # id
    to_owner: bool  # an agent's words: whether they answer the owner


def sentences_of(messages: Sequence[Message]) -> list[Sentence]:
    """Every sentence of the owner and the agent. Code, quotations and logs are data, not what somebody says."""
    found: list[Sentence] = []
    asked_by = Speaker.OWNER
    for turn, message in enumerate(messages):
        if message.speaker is not Speaker.AGENT:
            asked_by = message.speaker
        if message.speaker is Speaker.OTHER:
            continue
        texts = sentences(own_words(message.text))
        for place, text in enumerate(texts):
            to_owner = asked_by is Speaker.OWNER
            found.append(Sentence(text, message.speaker, turn, place, len(texts), message.id, to_owner))
    return found


def own_words(text: str) -> str:
    """A message without what is quoted or pasted into it."""
    text = _MENTION.sub("", _MARKED_UP.sub("\n", text.strip()))
    if len(text) > LONGEST_MESSAGE:
        text = text[: LONGEST_MESSAGE // 2] + "\n" + text[-LONGEST_MESSAGE // 4 :]
    text = _without_paste(_QUOTED.sub("", text))
    lines = text.splitlines()
    logs = [line for line in lines if _LOG_LINE.match(line)]
    if len(logs) >= 3:  # a lone odd line may be talk; several are a log
        lines = [line for line in lines if not _LOG_LINE.match(line)]
    return "\n".join(line for line in lines if not _TO_MACHINES.search(line))


def _without_paste(text: str) -> str:
    """A message without the page, mail or output that it brings along: what stands before it and a remark after it remain."""
    lines = text.splitlines()
    begin = next((place for place, line in enumerate(lines[:4]) if _BRINGS.search(line)), None)
    if begin is None:
        begin = next((place for place, line in enumerate(lines) if _PAGE_LINE.search(line)), None)
        if begin is None or len(lines) < 4:
            return text
        begin = max(begin - 1, 0) if begin else 0
    brought = lines[begin + 1 :]
    if len([line for line in brought if line.strip()]) < 2 and sum(map(len, brought)) < 240:
        return text
    remark = ""
    for place in range(len(brought) - 1, 0, -1):  # the last paragraph, when it is short and stands apart
        if not brought[place - 1].strip() and brought[place].strip():
            last = " ".join(brought[place:]).strip()
            remark = last if len(last) < 200 and not _PAGE_LINE.search(last) else ""
            break
    return "\n".join([*lines[: begin + 1], remark])


CONTEXT = (
    "owner",
    "first turn",
    "last turn",
    "place in message",
    "last of message",
    "alone in message",
    "answers a question",
    "assent follows",
    "refusal follows",
    "request before",
    "question before",
    "said before",
    "agent spoke last",
    "share of talk",
)


def context(talk: Sequence[Sentence], judged: Sequence[Judged]) -> npt.NDArray[np.float32]:
    """What stands around each sentence, as numbers."""
    import numpy as np

    rows = np.zeros((len(talk), len(CONTEXT)), np.float32)
    turns = sorted({one.turn for one in talk})
    order = {turn: place for place, turn in enumerate(turns)}
    by_turn: dict[int, list[int]] = {}
    for place, one in enumerate(talk):
        by_turn.setdefault(one.turn, []).append(place)
    for place, one in enumerate(talk):
        here = order[one.turn]
        before = by_turn[turns[here - 1]] if here else []
        after = by_turn[turns[here + 1]] if here + 1 < len(turns) else []
        rows[place] = (
            one.speaker is Speaker.OWNER,
            here == 0,
            here == len(turns) - 1,
            one.place / max(one.of - 1, 1),
            one.place == one.of - 1,
            one.of == 1,
            _most(before, judged, ("question",)) if before and talk[before[0]].speaker != one.speaker else 0.0,
            _first(after, judged, ("agree",)),
            _first(after, judged, ("correct",)),
            _most(before, judged, ("request", "instruct")),
            _most(before, judged, ("question",)),
            _likeness(place, judged),
            bool(before) and talk[before[0]].speaker is Speaker.AGENT,
            min(len(talk), 40) / 40,
        )
    return rows


def _most(places: Sequence[int], judged: Sequence[Judged], acts: tuple[str, ...]) -> float:
    return max((sum(judged[place].chance("act", act) for act in acts) for place in places), default=0.0)


def _first(places: Sequence[int], judged: Sequence[Judged], acts: tuple[str, ...]) -> float:
    return _most(places[:1], judged, acts)


def _likeness(place: int, judged: Sequence[Judged]) -> float:
    """How near the sentence comes to one that was said not long before it."""
    mine = judged[place].vector
    if mine is None:
        return 0.0
    earlier = [
        one.vector
        for one in judged[max(0, place - NEAR) : place]
        if one.vector is not None and one.language == judged[place].language
    ]
    return max((float(mine @ other) for other in earlier), default=0.0)
