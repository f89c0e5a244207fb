"""A day in few bytes: of its lines the sentences, or their beginnings, that say most for their length."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from nacre.brain.local.dialogue import Sentence, worth
from nacre.brain.local.judge import Judge, Judged
from nacre.brain.local.likeness import Statement, telling_words
from nacre.brain.local.relation import is_repeated
from nacre.brain.local.wording import Piece, joined, pieces
from nacre.model import Speaker
from nacre.text.blocks import AGENT_MARK
from nacre.text.tokens import is_question

_EMPTY = ("question", "social")
_ANSWER = " – "  # between a question and what answers it: neither is kept without the other
_LEAST = 0.5  # worth of any statement
# Where a sentence may be cut; never before what turns or narrows it: "…, but not on Fridays"; nor before a figure or an address.
_BREAK = re.compile(r"[,;](?=\s)|[，；]|(?<!\s)\s+(?=(?:because|since|so|and|which)\b)", re.IGNORECASE)
_TURN = re.compile(
    r"(?:[,;]\s|[，；]|\s[-–—]+\s)\s?(?:(?:and|so)\s)?(?:if|only|no|not|never|without|until|instead|rather|don'?t|nothing|otherwise"
    r"|always|must|如果|要是|只|不|别|没|而|千万|绝|禁|必须|一定)|\b(?:but|unless|except)\b|但|不过|除非|除了|否则|不然",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"[\d@`_/]")
_PAIRS = ("()", "[]", "{}", "（）", "【】", "“”", "「」", "《》")


class ScoredSentence(NamedTuple):
    """A sentence: its clauses, none where it says nothing; its worth; whether it is the agent's, and answers the one before it."""

    clauses: tuple[str, ...]
    worth: float
    agents: bool
    answers: bool
    judged: Judged


class Line(NamedTuple):
    """All that a line of a digest can say, the owner's words before the agent's, and the bytes that stand around it there."""

    sentences: Sequence[ScoredSentence]
    frame: int


def weigh(judge: Judge, sessions: Sequence[Sequence[tuple[str, bool]]]) -> list[list[ScoredSentence]]:
    """The sentences of each line of each session, in order. A line is given with whether an agent noted it."""
    split = [[_parts(words, by_agent=by_agent) for words, by_agent in session] for session in sessions]
    texts = [[piece.text for piece in parts] for session in split for parts in session]
    before = [before for line in texts for before in ("", *line[:-1])[: len(line)]]
    judged = iter(judge.read([text for line in texts for text in line], before))
    result: list[list[ScoredSentence]] = []
    for session in split:
        said = [
            Sentence(
                piece.text,
                Speaker.AGENT if piece.agents else Speaker.OWNER,
                2 * number + piece.agents,
                place,
                len(parts),
                str(number),
                to_owner=True,
            )
            for number, parts in enumerate(session)
            for place, piece in enumerate(parts)
        ]
        read = [next(judged) for _ in said]
        chances = zip(read, worth(said, read), strict=True)
        result += [_scored([(piece, *next(chances)) for piece in parts]) for parts in session]
    return result


def _parts(words: str, *, by_agent: bool) -> list[Piece]:
    """The statements of a line, a question in one with its answer."""
    parts: list[Piece] = []
    for piece in (piece._replace(agents=piece.agents or by_agent) for piece in pieces(words)):
        before = parts[-1] if parts else None
        is_open = before and before.agents == piece.agents and _ANSWER not in before.text
        is_asked = before and is_open and is_question(before.text, before.language)
        if before and is_asked and not is_question(piece.text, piece.language):
            parts[-1] = before._replace(text=f"{before.text}{_ANSWER}{piece.text}")
        else:
            parts.append(piece)
    return parts


def _scored(parts: Sequence[tuple[Piece, Judged, float]]) -> list[ScoredSentence]:
    """The statements with their worth. Small talk and a question without its answer say nothing."""
    result: list[ScoredSentence] = []
    for piece, judged, chance in parts:
        _, has_answer, answer = piece.text.rpartition(_ANSWER)
        is_empty = judged.best("act") in _EMPTY[bool(has_answer) :] or is_question(answer, piece.language)
        clauses = () if is_empty else (piece.text,) if has_answer else _clauses(piece.text)
        answers = piece.agents and bool(result) and not result[-1].agents
        result.append(ScoredSentence(clauses, _LEAST + chance + judged.lasting, piece.agents, answers, judged))
    return result


def _clauses(text: str) -> tuple[str, ...]:
    half = len(text) // 2  # a shorter beginning is a mere stub
    turned = max((half, *(match.end() for sign in (_TURN, _FIGURE) for match in sign.finditer(text))))
    ends = [match.start() for match in _BREAK.finditer(text, turned) if _is_closed(text[: match.start()])]
    return tuple(text[start:end] for start, end in pairwise((0, *ends, len(text))) if start < end)


def _is_closed(text: str) -> bool:
    return all(text.count(pair[0]) == text.count(pair[1]) for pair in _PAIRS) and not any(
        text.count(sign) % 2 for sign in '`"'
    )


def without_repeats(sentences: Sequence[ScoredSentence], before: Sequence[Statement]) -> list[ScoredSentence]:
    """The sentences, without clauses where they say nothing new in any words; only seen where there are embeddings."""

    def says_again(new: Statement) -> bool:
        own = [statement for statement in before if statement.language == new.language]
        return new.vector is not None and is_repeated(own, new)

    return [
        sentence._replace(clauses=()) if says_again(sentence.judged.statement) else sentence for sentence in sentences
    ]


def press(lines: Sequence[Line], room: int) -> dict[int, str]:
    """By their places the lines that fit into so many bytes, and what is kept of each.

    What says most for its bytes goes first: by its worth and its words that are not said yet, of which many count for less each.
    """
    words = [
        [[telling_words(clause, own.judged.language) for clause in own.clauses] for own in line.sentences]
        for line in lines
    ]
    said: set[str] = set()
    ends: dict[int, dict[int, int]] = {}  # by line and sentence: how many of its clauses are kept

    def offer(place: int, number: int, end: int) -> tuple[float, int, frozenset[str]]:
        line, opened, own = lines[place], ends.get(place, {}), words[place][number]
        before = len(_text(line, opened).encode()) if opened else -line.frame
        cost = max(len(_text(line, {**opened, number: end}).encode()) - before, 1)
        new = frozenset().union(*own[opened.get(number, 0) : end]) - said
        return line.sentences[number].worth * len(new) / max(sum(map(len, own)), 1) ** 0.5 / cost, cost, new

    def offers(place: int) -> list[tuple[float, int, int, int]]:
        opened = ends.get(place, {})
        return [
            (-offer(place, number, end)[0], place, number, end)
            for number, sentence in enumerate(lines[place].sentences)
            for end in range(opened.get(number, 0) + 1, len(sentence.clauses) + 1)
        ]

    heap = [row for place in range(len(lines)) for row in offers(place)]
    heapq.heapify(heap)
    while heap:
        offered, place, number, end = heapq.heappop(heap)
        if end <= ends.get(place, {}).get(number, 0):
            continue
        value, cost, new = offer(place, number, end)
        if heap and value < -offered and -value > heap[0][0]:  # something of it was said meanwhile
            heapq.heappush(heap, (-value, place, number, end))
        elif new and cost <= 2 * room:  # what fits by more than half: days are over and under it alike
            room -= cost
            said |= new
            ends.setdefault(place, {})[number] = end
            for row in offers(place):  # the rest of its line now costs less
                heapq.heappush(heap, row)
    return {place: _text(lines[place], ends[place]) for place in sorted(ends)}


def _text(line: Line, ends: dict[int, int]) -> str:
    """What is kept of a line: the owner's words, then the agent's, behind an arrow where they answer what stands before them."""
    texts: dict[bool, list[str]] = {False: [], True: []}
    first = min((number for number in ends if line.sentences[number].agents), default=0)
    for number, end in sorted(ends.items()):
        sentence = line.sentences[number]
        text = "".join(sentence.clauses[:end]).strip()
        texts[sentence.agents].append(text if end == len(sentence.clauses) else text + "…")
    language = line.sentences[0].judged.language
    own, agents = (joined(texts[is_agents], language) for is_agents in (False, True))
    if own and agents and line.sentences[first].answers and first - 1 in ends:
        return f"{own} → {agents}"
    return joined([own, agents and AGENT_MARK[language] + agents], language)
