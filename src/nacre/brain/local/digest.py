"""A day in few bytes: of its lines the sentences, or their beginnings, that tell most for their length."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from nacre.brain.local.dialogue import Sentence, worth
from nacre.brain.local.judge import Judge, Judged
from nacre.brain.local.likeness import Statement
from nacre.brain.local.relation import relations, says_the_same
from nacre.brain.local.wording import LONGEST, Piece, is_question, joined, pieces
from nacre.model.session import Speaker
from nacre.text.tokens import STOP_HAN, STOP_WORDS, tokens

_EMPTY = ("social", "question")
_LEANS = 0.5  # chance that an outcome needs its request to be understood, from which both are told
_ANSWER = ("–", "—")  # before what answers a question on the same line
_MARK = {"en": "Agent: ", "zh": "助手："}
# Where a sentence may be cut; never before what turns or narrows it: "…, but not on Fridays".
_BREAK = re.compile(r"[,;](?=\s)|[，；]|(?<!\s)\s+(?=(?:because|since|so|and|which)\b)", re.IGNORECASE)
_TURN = re.compile(
    r"(?:[,;]\s|[，；]|\s[-–—]+\s)\s?(?:(?:and|so)\s)?(?:if|only|no|not|never|without|until|instead|rather|don'?t|nothing|otherwise"
    r"|如果|要是|只|不|别|没|而)|\b(?:but|unless|except)\b|但|不过|除非|除了|否则|不然",
    re.IGNORECASE,
)
_PAIRS = ("()", "[]", "{}", "（）", "【】", "“”", "「」", "《》")


class Telling(NamedTuple):
    """A sentence of a line that tells something: its clauses, what it is worth, and whether it is the agent's word."""

    clauses: tuple[str, ...]
    worth: float
    agents: bool
    judged: Judged


class Line(NamedTuple):
    """A line to be pressed. Lines of one section may share a row of the digest, around whose words stand `frame` bytes."""

    section: tuple[str | None, ...]
    frame: int
    told: Sequence[Telling]


@dataclass(eq=False)
class _Row:
    size: int = 0  # characters
    has_agents: bool = False
    lines: list[int] = field(default_factory=list)


def weigh(judge: Judge, sessions: Sequence[Sequence[tuple[str, bool]]]) -> list[list[Telling]]:
    """What each line of each session tells, in order. A line is given with whether an agent noted it."""
    split = [[_parts(words, by_agent=by_agent) for words, by_agent in session] for session in sessions]
    judged = iter(judge.read([piece.text for session in split for parts in session for piece in parts]))
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
    """Without small talk, questions, and a request whose outcome says by itself what was done."""
    outcome = next((judged for piece, judged, _ in parts if piece.agents), None)
    is_told = outcome is not None and outcome.chance("c", "yes") < _LEANS
    return [
        Telling(_clauses(piece.text), chance + judged.lasting, piece.agents, judged)
        for piece, judged, chance in parts
        if not (piece.asked and is_told)
        and judged.best("act") not in _EMPTY
        and not is_question(piece.text, piece.language)
    ]


def _clauses(text: str) -> tuple[str, ...]:
    turned = max(len(text) // 2, *(match.end() for match in _TURN.finditer(text)), 0)
    ends = [match.start() for match in _BREAK.finditer(text, turned) if _is_closed(text[: match.start()])]
    return tuple(text[start:end] for start, end in pairwise((0, *ends, len(text))) if start < end)


def _is_closed(text: str) -> bool:
    return all(text.count(pair[0]) == text.count(pair[1]) for pair in _PAIRS) and not any(
        text.count(sign) % 2 for sign in '`"'
    )


def says_again(told: Telling, before: Sequence[Statement]) -> bool:
    """Whether a sentence tells nothing that was not told before, in any words; known only where meaning has a say."""
    if told.judged.vector is None:
        return False
    own = [statement for statement in before if statement.language == told.judged.language]
    new = told.judged.statement
    return any(says_the_same(own[near.place], new, near) for near in relations(own, new))


def press(lines: Sequence[Line], room: int) -> list[tuple[tuple[int, ...], str]]:
    """The rows that fit into so many bytes: the places of the lines that each row tells, and its words.

    Taken first is what tells most for its bytes: its worth, times the share of its line's words that are not told yet.
    """
    words = [[[_words(clause, told.judged) for clause in told.clauses] for told in line.told] for line in lines]
    sizes = [max(len(frozenset().union(*(clause for told in line for clause in told))), 1) for line in words]
    said: set[str] = set()
    ends: dict[tuple[int, int], int] = {}  # by line and sentence: how many of its clauses are told
    row_of: dict[int, _Row] = {}
    newest: dict[tuple[str | None, ...], _Row] = {}

    def offer(place: int, number: int, end: int) -> tuple[float, int, frozenset[str], _Row, int]:
        line, told, start = lines[place], lines[place].told[number], ends.get((place, number), 0)
        added = "".join(told.clauses[start:end])
        row = row_of.get(place) or newest.get(line.section) or _Row()
        if place not in row_of and row.size + len(added) > LONGEST[told.judged.language]:
            row = _Row()
        cost = len(added.encode()) + (0 if start else 3) + (0 if row.lines else line.frame)
        cost += 3 * ((end < len(told.clauses)) - (start > 0))  # the mark of a cut
        cost += len(_MARK[told.judged.language].encode()) if told.agents and not row.has_agents else 0
        new = frozenset().union(*words[place][number][start:end]) - said
        return told.worth * len(new) / sizes[place] / cost, cost, new, row, len(added)

    heap = [
        (-offer(place, number, end)[0], place, number, end)
        for place, line in enumerate(lines)
        for number, told in enumerate(line.told)
        for end in range(1, len(told.clauses) + 1)
    ]
    heapq.heapify(heap)
    while heap:
        _, place, number, end = heapq.heappop(heap)
        if end <= ends.get((place, number), 0):
            continue
        value, cost, new, row, size = offer(place, number, end)
        if heap and -value > heap[0][0]:  # something of it was told meanwhile
            heapq.heappush(heap, (-value, place, number, end))
        elif new and cost <= 2 * room:  # what fits by more than half: days are over and under it alike
            room -= cost
            said |= new
            ends[place, number] = end
            row_of[place] = newest[lines[place].section] = row
            row.lines += [] if place in row.lines else [place]
            row.size += size
            row.has_agents |= lines[place].told[number].agents
    rows = sorted({id(row): row for row in row_of.values()}.values(), key=lambda row: min(row.lines))
    return [(tuple(sorted(row.lines)), _text(sorted(row.lines), lines, ends)) for row in rows]


def _text(places: Sequence[int], lines: Sequence[Line], ends: dict[tuple[int, int], int]) -> str:
    """The words of a row: what the owner said, then behind an arrow what the agent did or found."""
    texts: dict[bool, list[str]] = {False: [], True: []}
    for place in places:
        for number, told in enumerate(lines[place].told):
            if end := ends.get((place, number)):
                text = "".join(told.clauses[:end]).strip()
                texts[told.agents].append(text if end == len(told.clauses) else text + "…")
    language = lines[places[0]].told[0].judged.language
    own, agents = (joined(texts[is_agents], language) for is_agents in (False, True))
    return own + ((" → " if own else _MARK[language]) + agents if agents else "")


def _words(text: str, judged: Judged) -> frozenset[str]:
    """The words that carry meaning; in Chinese a lone character is none."""
    words = frozenset(tokens(text)) - STOP_WORDS - STOP_HAN
    return frozenset(word for word in words if judged.language == "en" or len(word) > 1 or word.isascii())
