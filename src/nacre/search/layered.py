"""Recall by layer: hot, warm, gist, forgotten, as far as the first that answers; at most three checkpoints."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from nacre.clock import duration
from nacre.errors import BadInput
from nacre.guard.sanitise import clean, one_line
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.model.context import Context
from nacre.model.report import Problem
from nacre.search.search import snippet
from nacre.text.keywords import NAMED, PLAIN, QUOTED, KeyWord, weighed
from nacre.text.tokens import cjk_count, tokens
from nacre.vault.checkpoints import FORGOTTEN, GIST, Checkpoint, Family, families, survey_checkpoints
from nacre.vault.files import TIERS

MAX_FILES = 3  # more that answer are narrowed down
CONFIDENCE = {"hot": 0.95, "warm": 0.9, "gist": 0.6, "forgotten": 0.2}
_ENOUGH = 0.5  # share of the key words' weight by which a file answers
_WELL = 0.8  # share by which it answers so well that no deeper layer is looked at
_CLEARLY = 0.15  # by which a deeper layer must answer better to be given instead
_IN_PASSING = 0.75  # what an answer counts for that only mentions what is asked about
_REPEATED = 3  # lines on which the words must stand for a session to be about them without its title saying so
_NARROWER = (0.7, 0.85, 0.99)  # thresholds applied in turn while more than MAX_FILES answer
_FEW = 5  # files of a layer below which nothing can be said about how common a word is
_COMMONPLACE = 0.2  # what is left of the weight of a name that stands in all of them
_TITLE = 80
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

# Key words on lines.

_WINDOW = 40  # lines within which the words must stand together: a question, its answer and what was said about it
_LOOSE = 0.7  # what words of a phrase count for that stand on one line, but not as they were quoted
_PARTLY = 0.6  # share of the characters of a long Chinese word that must stand on a line, in pieces of two or more
_APART = 6  # characters that may stand between the halves of a Chinese compound
_COMPOUND = 4  # characters from which a Chinese word is two
_MANY_LINES = 5000  # lines that are looked at closely; where so many come near, the rest says the same
_HYPHENATED = re.compile(r"(?<![^\W\d_])[^\W\d_]+(?:-[^\W\d_]+)+")
_SEPARATORS = r"[\s._/:@+-]"


class _Term(NamedTuple):
    """A key word made ready for looking."""

    word: KeyWord
    text: str  # folded
    probes: tuple[str, ...]  # a line that holds the word contains one of them
    pattern: re.Pattern[str] | None  # None: Chinese, by characters
    stem: str | None  # of an English word: what matches the pattern must have the same
    amount: int  # how many words it stands for: "重试策略" says as much as "retry policy"
    weight: float

    def near(self, text: str) -> bool:
        """Whether a folded text may hold the word: quickly told, and never wrong about a no."""
        return any(probe in text for probe in self.probes)


@dataclass
class _Match:
    """What a text has of the key words: the share of each, and of their weight in its best stretch of lines."""

    coverage: float
    shares: list[float]  # for each key word, its best on any line of that stretch
    lines: dict[int, float] = field(default_factory=dict)  # counted from 1, with the weight that each holds
    title: float = 0.0  # the weight that the title holds, which is one of the lines


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).lower()


def _term(word: KeyWord) -> _Term:
    text = _fold(word.text)
    if cjk_count(text) == len(text):
        pairs = tuple(text[at : at + 2] for at in range(len(text) - 1)) if len(text) > 3 else (text,)
        amount = 2 if len(text) >= _COMPOUND else 1
        return _Term(word, text, pairs, None, None, amount, word.weight * (1 + amount) / 2)
    if text.isascii() and text.isalpha() and word.weight < QUOTED and len(text) > 2:
        stem = tokens(text)[0]
        # The stem of "retry" is "retri": its last letter does not stand in every form.
        probe = stem[:-1] if stem.endswith("i") and len(stem) > 3 else stem
        probe = probe if text.startswith(probe) else text
        pattern = re.compile(rf"(?<![^\W\d_]){re.escape(probe)}[^\W\d_]*")
        return _Term(word, text, (probe,), pattern, stem, 1, word.weight)
    parts = [part for part in re.split(f"{_SEPARATORS}+", text) if part] or [text]
    before = r"(?<!\d)" if text[:1].isdigit() else r"(?<![a-z0-9])" if text[:1].isascii() else ""
    after = r"(?!\d)" if text[-1:].isdigit() else r"(?:e?s)?(?![a-z0-9])" if text[-1:].isascii() else ""
    pattern = re.compile(before + f"{_SEPARATORS}*".join(map(re.escape, parts)) + after)
    return _Term(word, text, (parts[0],), pattern, None, 1, word.weight)


def _match(text: str, terms: Sequence[_Term]) -> _Match:
    """Look for the words; those of the title count as if they stood beside every line."""
    folded = _fold(text)
    nothing = [0.0] * len(terms)
    likely = [term for term in terms if term.near(folded)]
    if not likely:
        return _Match(0.0, nothing)
    lines = folded.split("\n")
    heading = next((at for at, line in enumerate(lines) if line.strip()), 0)
    near = [at for at, line in enumerate(lines) if any(term.near(line) for term in likely)][:_MANY_LINES]
    rows = {at + 1: [_share(lines[at], term, lines[heading]) for term in terms] for at in near}
    rows = {number: shares for number, shares in rows.items() if any(shares)}
    weights = [term.weight for term in terms]
    title = rows.get(heading + 1, nothing)
    best, best_weight = title, _weigh(title, weights)
    places = list(rows)
    start = 0
    for end, number in enumerate(places):
        while number - places[start] >= _WINDOW:
            start += 1
        shares = list(map(max, title, *(rows[place] for place in places[start : end + 1])))
        if (weight := _weigh(shares, weights)) > best_weight:
            best, best_weight = shares, weight
        if all(share == 1 for share in best):
            break
    by_line = {number: _weigh(shares, weights) for number, shares in rows.items()}
    return _Match(best_weight / (sum(weights) or 1.0), best, by_line, _weigh(title, weights))


def _weigh(shares: Sequence[float], weights: Sequence[float]) -> float:
    return sum(share * weight for share, weight in zip(shares, weights, strict=True))


def _share(line: str, term: _Term, title: str) -> float:
    """How much of a key word stands on a line: all of it, or the pieces of a long one."""
    if term.pattern is None:
        return _han_share(line, term.text, title)
    if term.stem is not None:
        return float(any(term.stem in tokens(word) for word in term.pattern.findall(line)))
    if term.pattern.search(line):
        return 1.0
    written = term.word.text
    is_phrase = term.word.weight >= QUOTED or " " in written or _HYPHENATED.fullmatch(written)
    parts = set(tokens(written)) if is_phrase else set()
    return _LOOSE if len(parts) > 1 and parts <= set(tokens(line)) else 0.0


def _han_share(line: str, word: str, title: str) -> float:
    if word in line:
        return 1.0
    if len(word) < _COMPOUND or not any(word[at : at + 2] in line for at in range(len(word) - 1)):
        return 0.0
    for cut in range(2, len(word) - 1):  # both halves in one breath, in either order: "妈妈的生日", "生日那天妈妈"
        first, second = word[:cut], word[cut:]
        reach = len(second) + _APART
        starts = (match.start() for match in re.finditer(f"(?={re.escape(first)})", line))
        if any(second in line[max(0, at - reach) : at + len(first) + reach] for at in starts):
            return 1.0
    line = f"{line}\n{title}"
    covered = place = 0
    while place < len(word) - 1:
        size = next((size for size in range(len(word) - place, 1, -1) if word[place : place + size] in line), 0)
        covered += size
        place += size or 1
    share = covered / len(word)
    return share * 0.9 if share >= _PARTLY else 0.0


# What is shown of a checkpoint: the whole of a short one, of a longer one whole turns around what matches.

LONGEST_PASSAGES = 1500  # characters of one file
_LINE = 400  # characters around what matches, of a line in a turn that is too long to be shown whole
_LONGEST_LINE = 100_000  # what is looked at of a line; a longer one is data
_LITTLE = 40  # characters of room that are not worth filling
_SPEAKER = re.compile(r"\*\*.{1,100}\*\* \d{4}-\d{2}-\d{2} \d{2}:\d{2}\s*")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)、])\s+|\s*\|")


@dataclass(frozen=True)
class Passage:
    start_line: int
    end_line: int
    text: str


def _passages(lines: Sequence[str], match: _Match, words: frozenset[str]) -> tuple[Passage, ...]:
    """All lines where there is room for them; else the turns that match best, each with its neighbours, in order."""
    if sum(len(line) + 1 for line in lines) <= LONGEST_PASSAGES:
        return _joined(range(1, len(lines) + 1), lines, words, LONGEST_PASSAGES)
    turns = _turns(lines)
    weights = [max((match.lines.get(number, 0.0) for number in turn), default=0.0) for turn in turns]
    best = sorted((at for at, weight in enumerate(weights) if weight), key=lambda at: (-weights[at], at))
    sizes = {at: sum(len(lines[number - 1]) + 1 for number in turn) for at, turn in enumerate(turns)}
    # What follows is the answer to a question; what stands before it is what an answer answers.
    chosen = _choose(best, (0, 1, -1), sizes)
    if best and best[0] not in chosen:  # longer than all that can be shown: its lines that match best
        turn = turns[best[0]]
        matching = sorted((n for n in turn if n in match.lines), key=lambda n: (-match.lines[n], n))
        near = _choose(matching, (0, 1, 2, -1), {n: min(len(lines[n - 1]), _LINE) + 1 for n in turn})
        return _joined(sorted(near), lines, words, _LINE)
    return _joined(sorted(number for at in chosen for number in turns[at]), lines, words, LONGEST_PASSAGES)


def _choose(best: Iterable[int], offsets: Sequence[int], sizes: Mapping[int, int]) -> set[int]:
    chosen: set[int] = set()
    room = LONGEST_PASSAGES
    for at in best:
        for near in (at + offset for offset in offsets):
            if near not in chosen and near in sizes and sizes[near] <= room:
                chosen.add(near)
                room -= sizes[near]
        if room < _LITTLE:
            break
    return chosen


def _turns(lines: Sequence[str]) -> list[range]:
    """The line numbers in pieces that are understood alone: who speaks, and a paragraph with the list that it announces."""
    turns: list[range] = []
    start, goes_on = 1, False
    for number, line in enumerate(lines, 1):
        following = lines[number] if number < len(lines) else ""
        if not line.strip() or (following.strip() and not _SPEAKER.fullmatch(following)):
            continue  # the paragraph goes on
        if _SPEAKER.fullmatch(line) or line.rstrip().endswith((":", "：")):
            goes_on = True
            continue
        after = next((other for other in lines[number : number + 3] if other.strip()), "")
        if goes_on and _ITEM.match(line) and _ITEM.match(after):
            continue
        turns.append(range(start, number + 1))
        start, goes_on = number + 1, False
    return [*turns, range(start, len(lines) + 1)] if start <= len(lines) else turns


def _joined(numbers: Sequence[int], lines: Sequence[str], words: frozenset[str], most: int) -> tuple[Passage, ...]:
    """The lines as passages, one for each run of them without the blank lines around it; long lines are cut to `most`."""

    def cut(line: str, length: int) -> str:
        return line if len(line) <= length else snippet(line, words, length)

    passages = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        filled = [number for _, number in run if lines[number - 1].strip()]
        if filled:
            first, last = filled[0], filled[-1]
            # Secrets go before anything is cut off: half of one would no longer look like one.
            near = (cut(line[:_LONGEST_LINE], 20 * _LINE) for line in lines[first - 1 : last])
            text = redact(clean("\n".join(near))).text
            passages.append(Passage(first, last, "\n".join(cut(line, most) for line in text.split("\n"))))
    return tuple(passages)


# Recall.


@dataclass(frozen=True)
class Recalled:
    """A checkpoint that answers: where it lies, where it lay before it was recalled, and what of it matches. `opened`
    is the original that was read where a summary was not enough; the passages are then the original's. `answered` is
    how far it answers: its coverage, less where what is asked about is only mentioned."""

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
        words = {GIST: say("medium", "中"), FORGOTTEN: say("very low", "极低")}
        return words.get(self.layer) or say("high", "高")


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
    """A checkpoint: its file and, where that is a summary whose original is there, the original; with text and match."""

    readings: list[tuple[Checkpoint, str, _Match]]
    about: bool  # rather than mentioning it in passing

    @property
    def best(self) -> _Match:
        return max((match for *_, match in self.readings), key=lambda match: match.coverage)

    @property
    def answered(self) -> float:
        return self.best.coverage * (1.0 if self.about else _IN_PASSING)


def recall(context: Context, query: str, limit: int = MAX_FILES) -> RecallReport:
    key_words = weighed(query)
    if not key_words:
        raise BadInput(
            "The question names nothing to look for; add a name, a thing or a number.",
            "问题中没有可供查找的内容；请加上名称、事物或数字。",
        )
    terms = [_term(word) for word in key_words]
    words = tuple(word.text for word in key_words)
    checkpoints, problems = survey_checkpoints(context.workspace, context.config)
    grouped = families(checkpoints)
    tried: list[tuple[str, list[_Candidate], int, float]] = []  # layer, those that answer, among how many, the best
    for layer in TIERS:
        read = [_candidate(context, family, terms, problems) for family in grouped if family.layer == layer]
        candidates = [candidate for candidate in read if candidate.readings]
        _reweigh(candidates, terms)
        answering = [candidate for candidate in candidates if _answers(candidate.best, terms)]
        if answering:
            best = max(candidate.answered for candidate in answering)
            tried.append((layer, answering, len(candidates), best))
            if best >= _WELL:
                break
    if not tried:
        days = duration(context.config.tiers.delete_after).total_seconds() / 86400
        reason = say(
            "No checkpoint answers this. Three reasons are possible: it was never recorded; it was deleted after lying in forgotten "
            f"for {days:g} days without a recall; or it was said in other words than those tried: {', '.join(words)}. "
            "To look by meaning, in everything: nacre search.",
            f"检查点中没有找到相关记录。可能的原因有三：从未被记录；进入 forgotten 后 {days:g} 天没有被召回，已被删除；"
            f"或者当时用的是别的说法，本次尝试的关键词：{'、'.join(words)}。也可以用 nacre search 按意思在全部记忆中查找。",
        )
        return RecallReport(query, words, None, (), 0, reason, tuple(problems))
    clearly = max(best for *_, best in tried) - _CLEARLY
    layer, answering, among, _ = next(answer for answer in tried if answer[3] >= clearly)
    shown = frozenset(tokens(" ".join(words)))
    kept = _narrow(answering, terms, among)[: min(limit, MAX_FILES)]
    recalled = tuple(_recalled(context, candidate, layer, query, shown) for candidate in kept)
    before = len(answering) if len(answering) > MAX_FILES else 0
    notes = []
    if before:
        narrowed = f"{before} checkpoints answered; the question was narrowed to those that hold most of the key words."
        notes.append(say(narrowed, f"共有 {before} 个检查点符合；已收窄为包含关键词最多的几个。"))
    if layer == FORGOTTEN:
        forgotten = "An almost forgotten memory answers: it lay in the layer forgotten, to be deleted some day."
        notes.append(say(forgotten, "一段快要遗忘的记忆给出了答案：它原在 forgotten 层，到期会被删除。"))
    return RecallReport(query, words, layer, recalled, before, say(" ", "").join(notes), tuple(problems))


def _candidate(context: Context, family: Family, terms: Sequence[_Term], problems: list[Problem]) -> _Candidate:
    """What a checkpoint holds of the words; where only its summary has stayed young, both are read."""
    file = family.summary if family.layer == GIST and family.summary else family.lead
    readings = []
    about = False
    for piece in [file, family.original] if family.original not in (None, file) else [file]:
        try:
            data = piece.path.read_bytes()
        except OSError as error:
            shown, reason = context.workspace.relative(piece.path), error.strerror or str(error)
            sentence = say(f"{shown} cannot be read: {reason}.", f"{shown} 无法读取：{reason}。")
            problems.append(Problem("unreadable", sentence, shown))
            break
        text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
        match = _match(text, terms)
        about = about or _is_about(match, text, terms)
        if not about and piece.is_summary and (tags := _TAGS.search(text[:5000])):
            about = _answers(_match(tags[1], terms), terms)
        # All texts of a layer would fill the memory.
        readings.append((piece, text if match.coverage else "", match))
    return _Candidate(readings, about)


def _answers(match: _Match, terms: Sequence[_Term]) -> bool:
    """Whether a text holds enough: half of the weight, and never a single everyday word out of several."""
    if match.coverage < _ENOUGH:
        return False
    present = [term for term, share in zip(terms, match.shares, strict=True) if share > 0]
    telling = sum(term.word.weight >= PLAIN for term in terms)
    if not telling:
        return len(present) == len(terms)
    best = max(term.word.weight for term in present)
    return best >= NAMED or (best >= PLAIN and (sum(term.amount for term in present) > 1 or telling == 1))


def _is_about(match: _Match, text: str, terms: Sequence[_Term]) -> bool:
    """Whether a text is about the words rather than mentioning them: in its title, again and again, or stating something."""
    most = max(match.lines.values(), default=0.0)
    if not most or match.title >= most / 2 or sum(weight >= most / 2 for weight in match.lines.values()) >= _REPEATED:
        return most > 0
    lines = text.split("\n")
    for line in (lines[number - 1] for number, weight in match.lines.items() if weight >= most * 0.9):
        if line.rstrip().endswith(("?", "？")):  # an answer follows
            return True
        for sentence in _SENTENCE.split(line):
            if _STATES.search(sentence) and any(term.near(_fold(sentence)) for term in terms):
                return True
    return False


def _reweigh(candidates: list[_Candidate], terms: Sequence[_Term]) -> None:
    """Count each name in the coverage by how rare it is in the layer: one that stands in every session tells nothing."""
    if len(candidates) < _FEW:
        return
    weights = []
    for at, term in enumerate(terms):
        common = sum(candidate.best.shares[at] > 0 for candidate in candidates) / len(candidates)
        named = term.word.weight >= NAMED or term.amount > 1
        weights.append(term.weight * (max(_COMMONPLACE, 1 - common) if named else 1.0))
    for match in [match for candidate in candidates for *_, match in candidate.readings]:
        match.coverage = _weigh(match.shares, weights) / (sum(weights) or 1.0)


def _narrow(answering: list[_Candidate], terms: Sequence[_Term], among: int) -> list[_Candidate]:
    """The best first; where more than three answer, those that hold more of the key words."""
    kept = answering
    for least in _NARROWER:
        if len(kept) > MAX_FILES:
            kept = [candidate for candidate in kept if candidate.answered >= least] or kept
    rarity = [
        math.log(1 + among / (1 + sum(candidate.best.shares[at] > 0 for candidate in answering))) * term.weight
        for at, term in enumerate(terms)
    ]

    def rank(candidate: _Candidate) -> tuple[float, float, float, str]:
        rare = _weigh(candidate.best.shares, rarity)
        dense = max(candidate.best.lines.values(), default=0.0)
        name = candidate.readings[0][0].name  # begins with its day: the newer first
        return candidate.answered, rare, dense, name

    return sorted(kept, key=rank, reverse=True)


def _recalled(context: Context, candidate: _Candidate, layer: str, query: str, words: frozenset[str]) -> Recalled:
    (file, text, match), *originals = candidate.readings
    path, opened = context.workspace.relative(file.path), None
    for original, whole, other in originals:
        more = other.coverage - match.coverage
        if more > 1e-9 or (more >= 0 and _DETAIL.search(query)):
            opened, text, match = context.workspace.relative(original.path), whole, other
    lines = text.split("\n")
    title = next((one_line(line).strip("#*> ") for line in lines if line.strip(" #-*>\t")), "")
    return Recalled(
        path,
        path,
        layer,
        redact(title[: 5 * _TITLE]).text[:_TITLE],
        _passages(lines, match, words),
        round(match.coverage, 2),
        opened,
        candidate.answered,
        tuple(reading[0] for reading in candidate.readings),
    )


def report_moved(report: RecallReport, to: dict[str, str]) -> RecallReport:
    """The report after the files were brought back to a younger layer."""
    recalled = tuple(
        replace(file, path=to.get(file.was, file.was), opened=file.opened and to.get(file.opened, file.opened))
        for file in report.found
    )
    reason = report.reason
    if report.layer == FORGOTTEN and any(file.path != file.was for file in recalled):
        reason += say(" It was brought back and is kept from now on.", "现已找回，今后会保留。")
    return replace(report, found=recalled, reason=reason)
