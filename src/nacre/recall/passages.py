"""What is shown of a checkpoint that answers: the whole of a short one, of a longer one whole turns around what matches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nacre.guard.sanitise import clean
from nacre.guard.secrets import redact
from nacre.recall.matching import Match
from nacre.recall.snippet import snippet

LONGEST = 1500  # characters of one file
_LINE = 400  # characters around what matches, of a line in a turn that is too long to be shown whole
_LONGEST_LINE = 100_000  # what is looked at of a line; a longer one is data
_LITTLE = 40  # characters of room that are not worth filling
_SPEAKER = re.compile(r"\*\*.{1,100}\*\* \d{4}-\d{2}-\d{2} \d{2}:\d{2}\s*")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)、])\s+|\s*\|")


@dataclass(frozen=True)
class Passage:
    """Lines of a file, both counted from 1."""

    start_line: int
    end_line: int
    text: str


class _Turn(NamedTuple):
    """Lines that belong together, both counted from 1: who speaks, and a paragraph with the list that it announces."""

    first: int
    last: int
    weight: float

    @property
    def numbers(self) -> range:
        return range(self.first, self.last + 1)


def passages(lines: Sequence[str], found: Match, asked: frozenset[str]) -> tuple[Passage, ...]:
    """All lines where there is room for them; else the turns that match best, each with its neighbours, in order."""
    if _size(lines) <= LONGEST:
        return _made(range(1, len(lines) + 1), lines, asked, LONGEST)
    turns = _turns(lines, found)
    best = sorted((at for at, turn in enumerate(turns) if turn.weight), key=lambda at: (-turns[at].weight, at))
    chosen: set[int] = set()
    room = LONGEST
    for at in best:
        # What follows is the answer to a question; what stands before it is what an answer answers.
        for near in (at, at + 1, at - 1):
            if near in chosen or not 0 <= near < len(turns):
                continue
            size = _size(lines[turns[near].first - 1 : turns[near].last])
            if size <= room:
                chosen.add(near)
                room -= size
        if room < _LITTLE:
            break
    if best and best[0] not in chosen:  # one turn that is longer than all that can be shown
        return _made(_nearest(turns[best[0]], lines, found), lines, asked, _LINE)
    return _made(sorted(number for at in chosen for number in turns[at].numbers), lines, asked, LONGEST)


def _turns(lines: Sequence[str], found: Match) -> list[_Turn]:
    """The text in pieces that are understood alone."""
    made: list[_Turn] = []
    start, goes_on = 1, False
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number < len(lines) and not _ends(lines, number)):
            continue
        if _SPEAKER.fullmatch(line) or line.rstrip().endswith((":", "：")):
            goes_on = True
            continue
        following = next((one for one in lines[number : number + 3] if one.strip()), "")
        if goes_on and _ITEM.match(line) and _ITEM.match(following):
            continue
        made.append(_turn(start, number, found))
        start, goes_on = number + 1, False
    return [*made, _turn(start, len(lines), found)] if start <= len(lines) else made


def _ends(lines: Sequence[str], number: int) -> bool:
    """Whether a paragraph ends with this line: a blank one follows, or the next speaker."""
    return not lines[number].strip() or bool(_SPEAKER.fullmatch(lines[number]))


def _turn(first: int, last: int, found: Match) -> _Turn:
    return _Turn(first, last, max((found.lines.get(number, 0.0) for number in range(first, last + 1)), default=0.0))


def _nearest(turn: _Turn, lines: Sequence[str], found: Match) -> list[int]:
    """Of a long turn the lines that match best, each with its neighbours."""
    chosen: set[int] = set()
    room = LONGEST
    matching = [number for number in turn.numbers if number in found.lines]
    for at in sorted(matching, key=lambda number: (-found.lines[number], number)):
        for number in (at, at + 1, at + 2, at - 1):
            size = min(len(lines[number - 1]), _LINE) + 1 if number in turn.numbers else room + 1
            if number not in chosen and size <= room:
                chosen.add(number)
                room -= size
        if room < _LITTLE:
            break
    return sorted(chosen)


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _made(numbers: Sequence[int], lines: Sequence[str], asked: frozenset[str], most: int) -> tuple[Passage, ...]:
    """The lines as passages, one for each run of them."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    told = (run for run in runs if any(lines[number - 1].strip() for number in run))
    return tuple(_passage(run, lines, asked, most) for run in told)


def _passage(run: list[int], lines: Sequence[str], asked: frozenset[str], most: int) -> Passage:
    while not lines[run[-1] - 1].strip():
        run = run[:-1]
    while not lines[run[0] - 1].strip():
        run = run[1:]
    # Secrets go before anything is cut off: half of one would no longer look like one.
    near = (_around(lines[number - 1][:_LONGEST_LINE], asked, 20 * _LINE) for number in run)
    whole = redact(clean("\n".join(near))).text
    return Passage(run[0], run[-1], "\n".join(_around(line, asked, most) for line in whole.split("\n")))


def _around(line: str, asked: frozenset[str], most: int) -> str:
    """A line, or of a long one the stretch that holds most of what was asked."""
    return line if len(line) <= most else snippet(line, asked, most)
