"""A day in few bytes: of its lines the sentences, or their beginnings, that tell most for their length."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from nacre.brain.local.dialogue import Sentence, worth
from nacre.brain.local.judge import Judge, Judged
from nacre.brain.local.likeness import Statement
from nacre.brain.local.relation import is_repeated
from nacre.brain.local.wording import Piece, joined, pieces
from nacre.model import Speaker
from nacre.text.blocks import AGENT_MARK
from nacre.text.tokens import STOP_HAN, STOP_WORDS, is_question, tokens

_EMPTY = ("social", "question")
_LASTS = 0.5  # odds to hold for long, from which a sentence goes before all that do not: rather than not
_LEANS = 0.5  # chance that an outcome needs its request to be understood, from which both are told
_ANSWER = ("–", "—")  # before what answers a question on the same line
# Where a sentence may be cut; never before what turns or narrows it: "…, but not on Fridays".
_BREAK = re.compile(r"[,;](?=\s)|[，；]|(?<!\s)\s+(?=(?:because|since|so|and|which)\b)", re.IGNORECASE)
_TURN = re.compile(
    r"(?:[,;]\s|[，；]|\s[-–—]+\s)\s?(?:(?:and|so)\s)?(?:if|only|no|not|never|without|until|instead|rather|don'?t|nothing|otherwise"
    r"|always|must|如果|要是|只|不|别|没|而|千万|绝|禁|必须|一定)|\b(?:but|unless|except)\b|但|不过|除非|除了|否则|不然",
    re.IGNORECASE,
)
_PAIRS = ("()", "[]", "{}", "（）", "【】", "“”", "「」", "《》")


class Telling(NamedTuple):
    """A sentence of a line: its clauses, none where it tells nothing; what it is worth; whether it is the agent's word."""

    clauses: tuple[str, ...]
    worth: float
    agents: bool
    judged: Judged


class Line(NamedTuple):
    """A line to be pressed: its words, what they tell, and the bytes that stand around it in a digest."""

    words: str
    told: Sequence[Telling]
    frame: int


def weigh(judge: Judge, sessions: Sequence[Sequence[tuple[str, bool]]]) -> list[list[Telling]]:
    """What each line of each session tells, in order. A line is given with whether an agent noted it."""
    split = [[_parts(words, by_agent=by_agent) for words, by_agent in session] for session in sessions]
    texts = [[piece.text for piece in parts] for session in split for parts in session]
    before = [before for line in texts for before in ("", *line[:-1])[: len(line)]]
    judged = iter(judge.read([text for line in texts for text in line], before))
    result: list[list[Telling]] = []
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
        result += [_telling([(piece, *next(chances)) for piece in parts]) for parts in session]
    return result


def _parts(words: str, *, by_agent: bool) -> list[Piece]:
    """The statements of a line, a question in one with its answer."""
    parts: list[Piece] = []
    for piece in pieces(words):
        answers = bool(parts) and piece.text.startswith(_ANSWER)
        text = f"{parts.pop().text} {piece.text}" if answers else piece.text
        parts.append(piece._replace(text=text, agents=piece.agents or by_agent))
    return parts


def _telling(parts: Sequence[tuple[Piece, Judged, float]]) -> list[Telling]:
    """Nothing is told by small talk, a question, and a request whose outcome says by itself what was done."""
    outcome = next((judged for piece, judged, _ in parts if piece.agents), None)
    is_told = outcome is not None and outcome.chance("c", "yes") < _LEANS
    told: list[Telling] = []
    for piece, judged, chance in parts:
        is_empty = judged.best("act") in _EMPTY or is_question(piece.text, piece.language)
        clauses = () if is_empty or (piece.asked and is_told) else _clauses(piece.text)
        told.append(Telling(clauses, chance + judged.lasting, piece.agents, judged))
    return told


def _clauses(text: str) -> tuple[str, ...]:
    half = len(text) // 2  # a shorter beginning is a mere stub
    turned = max((half, *(match.end() for match in _TURN.finditer(text))))
    ends = [match.start() for match in _BREAK.finditer(text, turned) if _is_closed(text[: match.start()])]
    return tuple(text[start:end] for start, end in pairwise((0, *ends, len(text))) if start < end)


def _is_closed(text: str) -> bool:
    return all(text.count(pair[0]) == text.count(pair[1]) for pair in _PAIRS) and not any(
        text.count(sign) % 2 for sign in '`"'
    )


def without_repeats(told: Sequence[Telling], before: Sequence[Statement]) -> list[Telling]:
    """The sentences, those empty that tell nothing new, in any words; known only where meaning has a say."""

    def says_again(new: Statement) -> bool:
        own = [statement for statement in before if statement.language == new.language]
        return new.vector is not None and is_repeated(own, new)

    return [sentence._replace(clauses=()) if says_again(sentence.judged.statement) else sentence for sentence in told]


def press(lines: Sequence[Line], room: int) -> dict[int, str]:
    """By their places the lines that fit into so many bytes, each as it stood where all of it is told.

    What lasts goes before what does not; then what tells most for its bytes: its worth, times the share of its line's words that
    are not told yet.
    """
    words = [[[_words(clause, told.judged) for clause in told.clauses] for told in line.told] for line in lines]
    sizes = [max(len(frozenset().union(*(clause for told in line for clause in told))), 1) for line in words]
    said: set[str] = set()
    ends: dict[int, dict[int, int]] = {}  # by line and sentence: how many of its clauses are told

    def offer(place: int, number: int, end: int) -> tuple[float, int, frozenset[str]]:
        line, opened = lines[place], ends.get(place, {})
        told, start = line.told[number], opened.get(number, 0)
        before = len(_text(line, opened).encode()) if opened else -line.frame
        cost = max(len(_text(line, {**opened, number: end}).encode()) - before, 1)
        new = frozenset().union(*words[place][number][start:end]) - said
        return (told.judged.lasting >= _LASTS) + told.worth * len(new) / sizes[place] / cost, cost, new

    heap = [
        (-offer(place, number, end)[0], place, number, end)
        for place, line in enumerate(lines)
        for number, told in enumerate(line.told)
        for end in range(1, len(told.clauses) + 1)
    ]
    heapq.heapify(heap)
    while heap:
        _, place, number, end = heapq.heappop(heap)
        if end <= ends.get(place, {}).get(number, 0):
            continue
        value, cost, new = offer(place, number, end)
        if heap and -value > heap[0][0]:  # something of it was told meanwhile
            heapq.heappush(heap, (-value, place, number, end))
        elif new and cost <= 2 * room:  # what fits by more than half: days are over and under it alike
            room -= cost
            said |= new
            ends.setdefault(place, {})[number] = end
    return {place: _text(lines[place], ends[place]) for place in sorted(ends)}


def _text(line: Line, ends: dict[int, int]) -> str:
    """What is told of a line: the owner's words, then behind an arrow the agent's."""
    if ends == {number: len(told.clauses) for number, told in enumerate(line.told)}:
        return line.words
    texts: dict[bool, list[str]] = {False: [], True: []}
    for number, end in sorted(ends.items()):
        told = line.told[number]
        text = "".join(told.clauses[:end]).strip()
        texts[told.agents].append(text if end == len(told.clauses) else text + "…")
    language = line.told[0].judged.language
    own, agents = (joined(texts[is_agents], language) for is_agents in (False, True))
    return own + ((" → " if own else AGENT_MARK[language]) + agents if agents else "")


def _words(text: str, judged: Judged) -> frozenset[str]:
    """The words that carry meaning; in Chinese a lone character is none."""
    words = frozenset(tokens(text)) - STOP_WORDS - STOP_HAN
    return frozenset(word for word in words if judged.language == "en" or len(word) > 1 or word.isascii())
