"""Recall by layer: hot, warm, gist, forgotten, as far as the first that answers; at most three checkpoints."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from nacre.clock import duration
from nacre.config.settings import Config
from nacre.errors import BadInput, NacreError
from nacre.guard.sanitise import clean, one_line
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.search.search import snippet
from nacre.text.keywords import NAMED, PLAIN, QUOTED, KeyWord, weighed
from nacre.text.tokens import cjk_count, tokens
from nacre.vault.checkpoints import FORGOTTEN, GIST, Checkpoint, Family, families, survey_checkpoints
from nacre.vault.files import TIERS

WINDOW = 40  # lines within which the words must stand together: a question, its answer and what was said about it
_LOOSE = 0.7  # what words of a phrase count for that stand on one line, but not as they were quoted
_PARTLY = 0.6  # share of the characters of a long Chinese word that must stand on a line, in pieces of two or more
_APART = 6  # characters that may stand between the halves of a Chinese compound
_COMPOUND = 4  # characters from which a Chinese word is two
_MANY = 5000  # lines that are looked at closely; where so many come near, the rest says the same
_HYPHENATED = re.compile(r"(?<![^\W\d_])[^\W\d_]+(?:-[^\W\d_]+)+")
_SEPARATORS = r"[\s._/:@+-]*"


class SearchTerm(NamedTuple):
    """A key word made ready for looking."""

    word: KeyWord
    probes: tuple[str, ...]  # in lower case; a line that holds the word contains one of them
    pattern: re.Pattern[str] | None  # None: Chinese, by characters
    stem: str | None  # of an English word: what is found must have the same
    amount: int = 1  # how many words it stands for: "重试策略" says as much as "retry policy"

    @property
    def weight(self) -> float:
        return self.word.weight * (1 + self.amount) / 2


@dataclass(frozen=True)
class Match:
    """What a text has of the key words: the share of each, and of their weight in its best stretch of lines."""

    coverage: float = 0.0
    shares: tuple[float, ...] = ()  # for each key word, its best on any line of that stretch
    lines: dict[int, float] = field(default_factory=dict)  # counted from 1, with the weight that each holds
    title: float = 0.0  # the weight that the title holds, which is one of the lines

    def weighed(self, weights: Sequence[float]) -> Match:
        """The same match where the words weigh otherwise."""
        return replace(self, coverage=_weighed(self.shares, weights) / (sum(weights) or 1.0))


def search_terms(words: Sequence[KeyWord]) -> tuple[SearchTerm, ...]:
    return tuple(_search_term(word) for word in words)


def _search_term(word: KeyWord) -> SearchTerm:
    lower = fold_text(word.text)
    if cjk_count(lower) == len(lower):
        pairs = tuple(lower[at : at + 2] for at in range(len(lower) - 1)) if len(lower) > 3 else (lower,)
        return SearchTerm(word, pairs, None, None, 2 if len(lower) >= _COMPOUND else 1)
    if lower.isascii() and lower.isalpha() and word.weight < QUOTED and len(lower) > 2:
        stem = tokens(lower)[0]
        # The stem of "retry" is "retri": its last letter does not stand in every form.
        probe = stem[:-1] if stem.endswith("i") and len(stem) > 3 else stem
        probe = probe if lower.startswith(probe) else lower
        return SearchTerm(word, (probe,), re.compile(rf"(?<![^\W\d_]){re.escape(probe)}[^\W\d_]*"), stem)
    parts = [re.escape(part) for part in re.split(r"[\s._/:@+-]+", lower) if part]
    inner = _SEPARATORS.join(parts) or re.escape(lower)
    first = next((part for part in re.split(r"[\s._/:@+-]+", lower) if part), lower)
    before = r"(?<!\d)" if lower[:1].isdigit() else r"(?<![a-z0-9])" if lower[:1].isascii() else ""
    after = r"(?!\d)" if lower[-1:].isdigit() else r"(?:e?s)?(?![a-z0-9])" if lower[-1:].isascii() else ""
    return SearchTerm(word, (first,), re.compile(before + inner + after), None)


def fold_text(text: str) -> str:
    """The text as it is compared: lower case, full-width letters as plain ones."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).lower()


def match_terms(text: str, wanted: Sequence[SearchTerm]) -> Match:
    """Look for the words; those of the title count as if they stood beside every line."""
    whole = fold_text(text)
    likely = [one for one in wanted if may_hold(whole, one)]
    if not likely:
        return Match(0.0, (0.0,) * len(wanted))
    rows: dict[int, list[float]] = {}
    lines = whole.split("\n")
    heading = next((at for at, line in enumerate(lines) if line.strip()), 0)
    looked_at = 0
    for at, line in enumerate(lines):
        if looked_at < _MANY and any(may_hold(line, one) for one in likely):
            looked_at += 1
            found = [_share(line, one, lines[heading]) for one in wanted]
            if any(found):
                rows[at + 1] = found
    weights = [one.weight for one in wanted]
    title = rows.get(heading + 1, [0.0] * len(wanted))
    best = _best_window(rows, title, weights)
    coverage = _weighed(best, weights) / (sum(weights) or 1.0)
    held = {at: _weighed(found, weights) for at, found in rows.items()}
    return Match(coverage, tuple(best), held, _weighed(title, weights))


def may_hold(text: str, one: SearchTerm) -> bool:
    """Whether a folded text comes near the word: quickly told, and never wrong about a no."""
    return any(probe in text for probe in one.probes)


def _best_window(rows: dict[int, list[float]], title: list[float], weights: list[float]) -> list[float]:
    """The shares of the words in the stretch of lines that holds most of their weight."""
    best, best_weight = title, _weighed(title, weights)
    places = sorted(rows)
    start = 0
    for end, at in enumerate(places):
        while at - places[start] >= WINDOW:
            start += 1
        together = zip(title, *(rows[place] for place in places[start : end + 1]), strict=True)
        shares = [max(one) for one in together]
        if (weight := _weighed(shares, weights)) > best_weight:
            best, best_weight = shares, weight
        if all(share == 1 for share in best):
            break
    return best


def _weighed(shares: Sequence[float], weights: Sequence[float]) -> float:
    return sum(share * weight for share, weight in zip(shares, weights, strict=True))


def _share(line: str, one: SearchTerm, title: str) -> float:
    """How much of a key word stands on a line: all of it, or the pieces of a long one."""
    if one.pattern is None:
        return _han_share(line, fold_text(one.word.text), title)
    if one.stem is not None:
        return float(any(one.stem in tokens(found) for found in one.pattern.findall(line)))
    if one.pattern.search(line):
        return 1.0
    joined = one.word.weight >= QUOTED or " " in one.word.text or _HYPHENATED.fullmatch(one.word.text)
    parts = set(tokens(one.word.text)) if joined else set()
    return _LOOSE if len(parts) > 1 and parts <= set(tokens(line)) else 0.0


def _han_share(line: str, word: str, title: str) -> float:
    if word in line:
        return 1.0
    if len(word) < _COMPOUND or not any(word[at : at + 2] in line for at in range(len(word) - 1)):
        return 0.0
    if any(_side_by_side(line, word[:cut], word[cut:]) for cut in range(2, len(word) - 1)):
        return 1.0
    line = f"{line}\n{title}"
    covered = 0
    place = 0
    while place < len(word) - 1:
        size = next((size for size in range(len(word) - place, 1, -1) if word[place : place + size] in line), 0)
        covered += size
        place += size or 1
    share = covered / len(word)
    return share * 0.9 if share >= _PARTLY else 0.0


def _side_by_side(line: str, first: str, second: str) -> bool:
    """Whether both halves stand in one breath, in either order: "妈妈的生日", "生日那天妈妈"."""
    place = line.find(first)
    while place >= 0:
        near = line[max(0, place - len(second) - _APART) : place + len(first) + len(second) + _APART]
        if second in near:
            return True
        place = line.find(first, place + 1)
    return False


# What is shown of a checkpoint that answers: the whole of a short one, of a longer one whole turns around what
# matches.

LONGEST_PASSAGES = 1500  # characters of one file
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


def passages_of(lines: Sequence[str], found: Match, asked: frozenset[str]) -> tuple[Passage, ...]:
    """All lines where there is room for them; else the turns that match best, each with its neighbours, in order."""
    if _size(lines) <= LONGEST_PASSAGES:
        return _made(range(1, len(lines) + 1), lines, asked, LONGEST_PASSAGES)
    turns = _turns(lines, found)
    best = sorted((at for at, turn in enumerate(turns) if turn.weight), key=lambda at: (-turns[at].weight, at))
    chosen: set[int] = set()
    room = LONGEST_PASSAGES
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
    return _made(sorted(number for at in chosen for number in turns[at].numbers), lines, asked, LONGEST_PASSAGES)


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
        made.append(_weighed_turn(start, number, found))
        start, goes_on = number + 1, False
    return [*made, _weighed_turn(start, len(lines), found)] if start <= len(lines) else made


def _ends(lines: Sequence[str], number: int) -> bool:
    """Whether a paragraph ends with this line: a blank one follows, or the next speaker."""
    return not lines[number].strip() or bool(_SPEAKER.fullmatch(lines[number]))


def _weighed_turn(first: int, last: int, found: Match) -> _Turn:
    return _Turn(first, last, max((found.lines.get(number, 0.0) for number in range(first, last + 1)), default=0.0))


def _nearest(turn: _Turn, lines: Sequence[str], found: Match) -> list[int]:
    """Of a long turn the lines that match best, each with its neighbours."""
    chosen: set[int] = set()
    room = LONGEST_PASSAGES
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


# Recall by layer: hot, warm, gist, forgotten, as far as the first that answers; never more than three files at once.

MOST = 3  # files that are given at once; more of them are narrowed down first
ENOUGH = 0.5  # share of the key words' weight by which a file answers
WELL = 0.8  # share by which it answers so well that no deeper layer is looked at
_CLEARLY = 0.15  # by which a deeper layer must answer better to be given instead
_IN_PASSING = 0.75  # what an answer counts for that only mentions what is asked about
_AGAIN = 3  # lines on which the words must come for a talk to be about them that does not say so in its title
_NARROWER = (0.7, 0.85, 0.99)  # what is asked for in turn while more than MOST files answer
_FEW = 5  # files of a layer below which nothing can be said about how common a word is
_COMMONPLACE = 0.2  # what is left of the weight of a name that stands in all of them
_TITLE = 80
CONFIDENCE = {"hot": 0.95, "warm": 0.9, "gist": 0.6, "forgotten": 0.2}
_TAGS = re.compile(r"(?m)^(?:标签|Tags)[:：](.*)$")
# What a summary is likely to have left out: who, what it is called, where, why, and everything that is a figure.
_DETAIL = re.compile(
    r"\d|\b(?:how (?:many|much|long|often|big|old|far)|when|who|whom|whose|where|why|called|named?|number|date|day|time|price|costs?|paid|pay|fee|charged?"
    r"|phone|e?mail|version|port|address|error|command|exact(?:ly)?|verbatim|word for word|in detail|details)\b"
    r"|多少|几[^何乎]|什么时候|什么时间|哪天|哪一天|谁|叫什么|叫啥|姓什么|哪里|哪儿|在哪|为什么|为何|日期|时间|具体|原话|原文|准确|精确|详细|版本|端口|地址|编号|号码|电话|价格|费用|报价|多久"
    r"|名字|[率价费]|金额|数量|预算|工资|密钥|命令|[\"“「`]",
    re.IGNORECASE,
)
# What makes a sentence more than a mention: a figure, or something settled.
_STATES = re.compile(
    r"\d|\b(?:decid\w+|decision|agreed|settled|chose|chosen|from now on|always|never|instead of|must|is called)\b"
    r"|决定|定了|定下|就用|改用|改成|改为|以后|一律|不再|结论|约定|必须|确定|叫做|名叫",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.;!。；！](?=\s|\Z|[^\x00-\x7f])")


@dataclass(frozen=True)
class Recalled:
    """A checkpoint that answers: where it lies, where it lay before it was recalled, and what of it matches.

    `opened` is the original that was read where a summary was not enough; the passages are then the original's. `answered` is
    how far it answers: its coverage, less where what is asked about is only mentioned.
    """

    path: str
    was: str
    layer: str
    title: str
    passages: tuple[Passage, ...]
    coverage: float
    opened: str | None = None
    answered: float = 1.0
    files: tuple[Checkpoint, ...] = field(default=(), repr=False, compare=False)  # as they lay

    @property
    def confidence(self) -> float:
        """How far the words can be trusted to be the whole story: by layer and by how far they answer, from 0 to 1."""
        return round(CONFIDENCE[self.layer] * self.answered, 2)

    @property
    def certainty(self) -> str:
        """The layer's part of it as a word."""
        return {
            "hot": say("high", "高"),
            "warm": say("high", "高"),
            "gist": say("medium", "中"),
            "forgotten": say("very low", "极低"),
        }[self.layer]


@dataclass(frozen=True)
class RecallReport:
    """What a question found: in which layer, and how many answered before the question was narrowed (0: it was not)."""

    query: str
    words: tuple[str, ...]
    layer: str | None
    found: tuple[Recalled, ...]
    narrowed: int = 0
    reason: str = ""
    problems: tuple[Problem, ...] = ()


class _Candidate(NamedTuple):
    """A checkpoint of a layer with what it holds of the key words; of a summary its original stands beside it."""

    file: Checkpoint
    text: str
    match: Match
    whole: Checkpoint | None = None
    whole_text: str = ""
    whole_match: Match | None = None
    about: bool = False  # rather than mentioning it in passing

    @property
    def best(self) -> Match:
        other = self.whole_match
        return other if other and other.coverage > self.match.coverage else self.match

    @property
    def answered(self) -> float:
        """How far it answers, from 0 to 1."""
        return self.best.coverage * (1.0 if self.about else _IN_PASSING)


class _Answering(NamedTuple):
    """The checkpoints of a layer that answer, among how many, and how far the best of them does."""

    layer: str
    files: tuple[_Candidate, ...]
    among: int
    best: float


def recall(workspace: Workspace, config: Config, query: str, limit: int = MOST) -> RecallReport:
    """Find what answers; changes nothing."""
    words = weighed(query)
    if not words:
        raise BadInput(
            say(
                "The question names nothing to look for; add a name, a thing or a number.",
                "问题中没有可供查找的内容；请加上名称、事物或数字。",
            )
        )
    shown = tuple(one.text for one in words)
    wanted, asked = search_terms(words), frozenset(tokens(" ".join(shown)))
    listed, troubles = survey_checkpoints(workspace, config)
    together = families(listed)
    tried: list[_Answering] = []
    for layer in TIERS:
        mine = [one for one in together if one.layer == layer]
        candidates = _weighed_anew(
            [one for one in (_candidate(workspace, family, wanted, troubles) for family in mine) if one], wanted
        )
        if answering := [one for one in candidates if answers(one.best, wanted)]:
            best = max(one.answered for one in answering)
            tried.append(_Answering(layer, tuple(answering), len(candidates), best))
            if best >= WELL:
                break
    if not tried:
        return RecallReport(query, shown, None, (), 0, _nothing(shown, config), tuple(troubles))
    clearly = max(one.best for one in tried) - _CLEARLY
    chosen = next(one for one in tried if one.best >= clearly)
    kept = _narrowed(chosen.files, wanted, chosen.among)[: min(limit, MOST)]
    found = tuple(_recalled(workspace, one, chosen.layer, query, asked) for one in kept)
    before = len(chosen.files) if len(chosen.files) > MOST else 0
    return RecallReport(query, shown, chosen.layer, found, before, _notes(chosen.layer, before), tuple(troubles))


def answers(found: Match, wanted: Sequence[SearchTerm]) -> bool:
    """Whether a text holds enough: half of the weight, and never a single everyday word out of several."""
    if found.coverage < ENOUGH:
        return False
    having = [one for one, share in zip(wanted, found.shares, strict=True) if share > 0]
    telling = [one for one in wanted if one.word.weight >= PLAIN]
    if not telling:
        return len(having) == len(wanted)
    best = max(one.word.weight for one in having)
    return best >= NAMED or (best >= PLAIN and (sum(one.amount for one in having) > 1 or len(telling) == 1))


def _candidate(
    workspace: Workspace, family: Family, wanted: Sequence[SearchTerm], troubles: list[Problem]
) -> _Candidate | None:
    """What a checkpoint holds of the words. Where only its summary has stayed young, both are looked at; None: unreadable."""
    file = family.summary if family.layer == GIST and family.summary else family.lead
    text = _text(workspace, file, troubles)
    if text is None:
        return None
    found = match_terms(text, wanted)
    one = _Candidate(file, text if found.coverage else "", found, about=_is_about(found, text, wanted))
    if tags := _TAGS.search(text[:5000]) if file.is_summary else None:
        one = one._replace(about=one.about or answers(match_terms(tags[1], wanted), wanted))
    whole = family.original if file is not family.original else None
    if whole is None or (original := _text(workspace, whole, troubles)) is None:
        return one
    more = match_terms(original, wanted)
    about = one.about or _is_about(more, original, wanted)
    return one._replace(whole=whole, whole_text=original if more.coverage else "", whole_match=more, about=about)


def _is_about(found: Match, text: str, wanted: Sequence[SearchTerm]) -> bool:
    """Whether a text is about the words rather than mentioning them: in its title, again and again, or stating something."""
    most = max(found.lines.values(), default=0.0)
    if not most or found.title >= most / 2 or sum(one >= most / 2 for one in found.lines.values()) >= _AGAIN:
        return most > 0
    lines = text.split("\n")
    return any(weight >= most * 0.9 and _states(lines[at - 1], wanted) for at, weight in found.lines.items())


def _states(line: str, wanted: Sequence[SearchTerm]) -> bool:
    """Whether a line says something about the words, or asks about them, so that an answer follows."""
    told = (one for one in _SENTENCE.split(line) if any(may_hold(fold_text(one), word) for word in wanted))
    return line.rstrip().endswith(("?", "？")) or any(_STATES.search(one) for one in told)


def _weighed_anew(candidates: Sequence[_Candidate], wanted: Sequence[SearchTerm]) -> list[_Candidate]:
    """Their coverage with each name counted by how rare it is in the layer: one that stands in every talk tells nothing."""
    if len(candidates) < _FEW:
        return list(candidates)
    having = [sum(one.best.shares[at] > 0 for one in candidates) / len(candidates) for at in range(len(wanted))]
    weights = [
        one.weight * (max(_COMMONPLACE, 1 - share) if one.word.weight >= NAMED or one.amount > 1 else 1.0)
        for one, share in zip(wanted, having, strict=True)
    ]
    return [
        one._replace(
            match=one.match.weighed(weights), whole_match=one.whole_match.weighed(weights) if one.whole_match else None
        )
        for one in candidates
    ]


def _text(workspace: Workspace, file: Checkpoint, troubles: list[Problem]) -> str | None:
    """What a file says, bytes that are no text marked as such; None where it cannot be read."""
    try:
        data = file.path.read_bytes()
    except OSError as trouble:
        shown, reason = workspace.relative(file.path), trouble.strerror or str(trouble)
        sentence = say(f"{shown} cannot be read: {reason}.", f"{shown} 无法读取：{reason}。")
        troubles.append(Problem("unreadable", sentence, shown))
        return None
    return data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")


def _narrowed(answering: Sequence[_Candidate], wanted: Sequence[SearchTerm], among: int) -> list[_Candidate]:
    """The best first; where more than three answer, those that hold more of the key words."""
    kept = list(answering)
    for least in _NARROWER:
        if len(kept) <= MOST:
            break
        kept = [one for one in kept if one.answered >= least] or kept
    rarity = [
        math.log(1 + among / (1 + sum(one.best.shares[at] > 0 for one in answering))) for at in range(len(wanted))
    ]

    def standing(one: _Candidate) -> tuple[float, float, float, str]:
        rare = sum(share * rarity[at] * wanted[at].weight for at, share in enumerate(one.best.shares))
        dense = max(one.best.lines.values(), default=0.0)
        return one.answered, rare, dense, one.file.name  # names begin with their day: the newer first

    return sorted(kept, key=standing, reverse=True)


def _recalled(workspace: Workspace, one: _Candidate, layer: str, query: str, asked: frozenset[str]) -> Recalled:
    path, text, found, opened = workspace.relative(one.file.path), one.text, one.match, None
    if one.whole and one.whole_match:
        more = one.whole_match.coverage > one.match.coverage + 1e-9
        if more or (_DETAIL.search(query) and one.whole_match.coverage >= one.match.coverage):
            opened, text, found = workspace.relative(one.whole.path), one.whole_text, one.whole_match
    lines = text.split("\n")
    title = next((one_line(line).strip("#*> ") for line in lines if line.strip(" #-*>\t")), "")
    return Recalled(
        path,
        path,
        layer,
        redact(title[: 5 * _TITLE]).text[:_TITLE],
        passages_of(lines, found, asked),
        round(found.coverage, 2),
        opened,
        one.answered,
        (one.file, one.whole) if one.whole else (one.file,),
    )


def _notes(layer: str, before: int) -> str:
    """What the user should know about what was found; empty when there is nothing to say."""
    told = []
    if before:
        told.append(
            say(
                f"{before} checkpoints answered; the question was narrowed to those that hold most of the key words.",
                f"共有 {before} 个检查点符合；已收窄为包含关键词最多的几个。",
            )
        )
    if layer == FORGOTTEN:
        told.append(
            say(
                "An almost forgotten memory answers: it lay in the layer forgotten, to be deleted some day.",
                "一段快要遗忘的记忆给出了答案：它原在 forgotten 层，到期会被删除。",
            )
        )
    return say(" ", "").join(told)


def _nothing(words: Sequence[str], config: Config) -> str:
    days = duration(config.tiers.delete_after).total_seconds() / 86400
    english, chinese = (f"{days:g} days", f"{days:g} 天")
    tried_en, tried_zh = ", ".join(words), "、".join(words)
    return say(
        "No checkpoint answers this. Three reasons are possible: it was never recorded; it was deleted after lying in forgotten "
        f"for {english} without a recall; or it was said in other words than those tried: {tried_en}. "
        "To look by meaning, in everything: nacre search.",
        f"检查点中没有找到相关记录。可能的原因有三：从未被记录；进入 forgotten 后 {chinese}没有被召回，已被删除；"
        f"或者当时用的是别的说法，本次尝试的关键词：{tried_zh}。也可以用 nacre search 按意思在全部记忆中查找。",
    )


def report_moved(report: RecallReport, to: dict[str, str]) -> RecallReport:
    """The report after the files were brought back to a younger layer."""
    found = tuple(
        replace(one, path=to.get(one.was, one.was), opened=one.opened and to.get(one.opened, one.opened))
        for one in report.found
    )
    if report.layer == FORGOTTEN and any(one.path != one.was for one in found):
        back = say(" It was brought back and is kept from now on.", "现已找回，今后会保留。")
        return replace(report, found=found, reason=report.reason + back)
    return replace(report, found=found)


def report_unmoved(report: RecallReport, trouble: NacreError) -> RecallReport:
    """The report where the files had to stay."""
    sentence = say(f"What was found stays where it lies: {trouble}", f"找到的内容仍留在原处：{trouble}")
    return replace(report, problems=(*report.problems, Problem("not moved", sentence)))
