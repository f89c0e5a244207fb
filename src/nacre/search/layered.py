"""Recall: a search by words over the checkpoints, layer by layer, as far as the first that answers well; at most three of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile
from typing import Any, NamedTuple

from nacre.clock import duration
from nacre.errors import BadInput
from nacre.guard.sanitise import clean, one_line
from nacre.guard.secrets import AROUND, redact, redact_lines
from nacre.i18n import say
from nacre.index.freshness import MemoryIndex
from nacre.index.store import CHECKPOINT_WORDS
from nacre.model import Context, Problem
from nacre.search.candidates import Chunks
from nacre.search.query import Filters, condition
from nacre.search.search import snippet
from nacre.text.blocks import date_in, without_message_marks
from nacre.text.keywords import NAMED, PLAIN, KeyWord, weighed
from nacre.text.tokens import cjk_count, query_tokens, stop_tokens, tokens
from nacre.vault.checkpoints import FORGOTTEN, GIST, Checkpoint, Family, families, survey_checkpoints
from nacre.vault.ledger import ClosedEntries, load_closed
from nacre.vault.storage import TIERS, read

MAX_FILES = 3  # more that answer are narrowed down
LONGEST_PASSAGES = 1500  # characters of one file that are shown
CONFIDENCE = {"hot": 0.95, "warm": 0.9, "gist": 0.6, "forgotten": 0.2}
_ENOUGH = 0.5  # share of the key words' weight by which a file answers
_WELL = 0.8  # share by which it answers so well that no deeper layer is looked at
_CLEARLY = 0.15  # by which a deeper layer must answer better to be given instead
_IN_PASSING = 0.75  # what an answer counts for that only mentions what is asked about
_REPEATED = 3  # lines on which the words must stand for a session to be about them without its title saying so
_WINDOW = 40  # lines within which the words must stand together: a question, its answer and what was said about it
_PARTLY = 0.6  # share of the characters of a Chinese word that must stand there, in pieces of two or more
_BY_WORDS = 1000  # chunks that are looked at
_FEW = 5  # files of a layer below which nothing can be said about how common a word is
_MANY = 10  # checkpoints of which a telling word stands in one
_COMMONPLACE = 0.2  # what is left of the weight of a name that stands in all of them
_NARROWER = (0.7, 0.85, 0.99)  # thresholds applied in turn while more than MAX_FILES answer
_COMPOUND = 4  # characters from which a Chinese word is two
_LINE = 400  # characters of a line that are shown of a text too long to be shown whole
_LONGEST_LINE = 100_000  # what is looked at of a line; a longer one is data
_TITLE = 80
_TAGS = re.compile(r"(?:标签|Tags)[:：]")
# What a summary is likely to have left out: who, what it is called, where, why, and everything that is a figure.
_DETAIL = re.compile(
    r"\d|\b(?:how (?:many|much|long|often|big|old|far)|when|who|whom|whose|where|why|called|named?|number|date|day|time|price|costs?|paid|pay|fee|charged?"
    r"|phone|e?mail|version|port|address|error|command|exact(?:ly)?|verbatim|word for word|in detail|details)\b"
    r"|多少|几[^何乎]|什么时候|什么时间|哪天|哪一天|谁|叫什么|叫啥|姓什么|哪里|哪儿|在哪|为什么|为何|日期|时间|具体|原话|原文|准确|精确|详细|版本|端口|地址|编号|号码|电话|价格|费用|报价|多久"
    r"|名字|[率价费]|金额|数量|预算|工资|密钥|命令|[\"“「`]",
    re.IGNORECASE,
)
# What makes a line more than a mention: a question, which an answer follows, a figure, or something settled.
_STATES = re.compile(
    r"\d|\b(?:decid\w+|decision|agreed|settled|chose|chosen|from now on|always|never|instead of|must|is called)\b"
    r"|决定|定了|定下|就用|改用|改成|改为|以后|一律|不再|结论|约定|必须|确定|叫做|名叫|[?？]\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Passage:
    start_line: int
    end_line: int
    text: str


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


_Row = Sequence[Any]  # a chunk: its first and last line, text, tokens, and those of its headings


class _File(NamedTuple):
    """One file of a checkpoint as the index found it."""

    checkpoint: Checkpoint
    shares: Sequence[float] = (0.0,) * 9  # of each key word, in the best stretch of lines
    rows: Sequence[_Row] = ()
    bm25: float = 0.0


class _Answer(NamedTuple):
    """A checkpoint: its file and, where that is a summary, the original."""

    files: list[_File]
    coverage: float
    answered: float


def recall(context: Context, index: MemoryIndex, query: str, limit: int = MAX_FILES) -> RecallReport:
    # A long Chinese word says as much as two: 重试策略, "retry policy".
    words = [word._replace(weight=word.weight * 1.5) if _is_compound(word) else word for word in weighed(query)]
    if not words:
        raise BadInput(
            "The query contains nothing to search for; add a name, a keyword or a number.",
            "查询中没有可搜索的内容；请加上名称、关键词或数字。",
        )
    texts = tuple(word.text for word in words)
    checkpoints, problems = survey_checkpoints(context.workspace, context.config)
    files = index.store.safely(lambda: _search(context, index, words, checkpoints))
    held = [(family.layer, _files_of(family, files)) for family in families(checkpoints)]
    telling = _raise_rare_words(words, [pieces for _, pieces in held])
    tried: list[tuple[str, list[_Answer]]] = []
    for layer in TIERS:
        here = [pieces for own, pieces in held if own == layer]
        answers = _answers(list(filter(None, here)), words, telling, len(here))
        if answers:
            tried.append((layer, answers))
            if answers[0].answered >= _WELL:
                break
    if not tried:
        days = duration(context.config.tiers.delete_after).total_seconds() / 86400
        reason = say(
            f"No checkpoint answers this. It was never recorded, it was deleted after {days:g} day{'' if days == 1 else 's'} in the forgotten layer, or it was worded differently (searched for: {', '.join(texts)}). To search all of memory by meaning, use nacre search.",
            f"检查点中没有找到相关内容：可能从未记录过，可能在 forgotten 层满 {days:g} 天后已删除，也可能当时用的是别的说法（搜索的关键词：{'、'.join(texts)}）。可以用 nacre search 按含义搜索全部记忆。",
        )
        return RecallReport(query, texts, None, (), 0, reason, tuple(problems))
    clearly = max(answers[0].answered for _, answers in tried) - _CLEARLY
    layer, answers = next(answer for answer in tried if answer[1][0].answered >= clearly)
    narrowed = len(answers) if len(answers) > MAX_FILES else 0
    for least in _NARROWER:
        if len(answers) > MAX_FILES:
            answers = [answer for answer in answers if answer.answered >= least] or answers
    notes = []
    if narrowed:
        note = f"{narrowed} checkpoints matched; only those with the most keywords are shown."
        notes.append(say(note, f"共有 {narrowed} 个检查点匹配；只显示包含关键词最多的几个。"))
    if layer == FORGOTTEN:
        note = "The answer was about to be lost: it was in the forgotten layer, due to be deleted."
        notes.append(say(note, "答案来自一段快被遗忘的记忆：它在 forgotten 层，到期会被删除。"))
    ended = load_closed(context.workspace, context.clock.today().isoformat())
    shown = answers[: min(limit, MAX_FILES)]
    recalled = tuple(_recalled(context, answer, layer, query, words, ended) for answer in shown)
    return RecallReport(query, texts, layer, recalled, narrowed, say(" ", "").join(notes), tuple(problems))


def _search(
    context: Context, index: MemoryIndex, words: Sequence[KeyWord], checkpoints: Sequence[Checkpoint]
) -> dict[Checkpoint, _File]:
    """The checkpoints that hold any of the key words."""
    by_path = {context.workspace.relative(checkpoint.path): checkpoint for checkpoint in checkpoints}
    index.current()
    with index.store.reading() as db:
        chunks = Chunks(db, condition(context.scope, Filters(layers=TIERS), None), ("", []), checkpoints=True)
        wanted = {token: cjk_count(token) == 1 for word in words for token in tokens(word.text)}
        telling = [token for token, single in wanted.items() if not single] or list(wanted)
        scores = chunks.by_words(chunks.weigh_terms(telling, frozenset()), _BY_WORDS)
        query = (
            "select f.path, c.id, c.first, c.last, c.text, w.body, w.heading from chunks c join files f on f.id = c.file"
            f" join {CHECKPOINT_WORDS} w on w.rowid = c.id where c.id in ({','.join('?' * len(scores))})"
            " order by f.path, c.position"
        )
        rows = db.execute(query, tuple(scores)).fetchall()
    files: dict[Checkpoint, _File] = {}
    for path, group in groupby(rows, key=lambda row: row[0]):
        if checkpoint := by_path.get(path):
            numbers, chunk_rows = zip(*((number, row) for _, number, *row in group), strict=True)
            bm25 = max(scores[number] for number in numbers)
            files[checkpoint] = _File(checkpoint, _best_shares(chunk_rows, words), chunk_rows, bm25)
    return files


def _best_shares(rows: Sequence[_Row], words: Sequence[KeyWord]) -> list[float]:
    """What the best stretch of lines holds of the words. Those of the title count as if they stood beside every line."""
    title = _title(rows)
    held = [(first, last, body.split()) for first, last, _, body, _ in rows]
    best = [0.0] * len(words)
    for at, (start, _, body) in enumerate(held):
        near = takewhile(lambda row: row[1] < start + _WINDOW, held[at + 1 :])  # noqa: B023 - used at once
        shares = _shares(words, title.union(body, *(others for *_, others in near)))
        best = max(best, shares, key=lambda each: _weigh(each, words))
    return best


def _title(rows: Sequence[_Row]) -> set[str]:
    return {token for above in {row[4] for row in rows} for token in above.split()}


def _lines(file: _File, words: Sequence[KeyWord]) -> dict[int, tuple[float, str]]:
    """The lines with any of the words, with the weight of these."""
    lines = {first + at: line for first, _, text, *_ in file.rows for at, line in enumerate(text.split("\n"))}
    weighed = ((at, _weigh(_shares(words, set(tokens(line))), words), line) for at, line in lines.items() if line)
    return {at: (weight, line) for at, weight, line in weighed if weight}


def _is_about(file: _File, words: Sequence[KeyWord]) -> bool:
    """Whether a file is about the words rather than mentioning them: in its title or tags, again and again, or stating something."""
    lines = _lines(file, words).values()
    most = max((weight for weight, _ in lines), default=0.0)
    tags = (tokens(line) for _, line in lines if file.checkpoint.is_summary and _TAGS.match(line))
    return (
        _weigh(_shares(words, _title(file.rows).union(*tags)), words) >= most / 2
        or sum(weight >= most / 2 for weight, _ in lines) >= _REPEATED
        or any(weight >= most * 0.9 and _STATES.search(line) for weight, line in lines)
    )


def _shares(words: Sequence[KeyWord], held: set[str]) -> list[float]:
    return [_share(word.text, held) for word in words]


def _share(word: str, held: set[str]) -> float:
    """How much of a key word is among these tokens: all of it, or the pieces of a long Chinese one."""
    if (size := cjk_count(word)) == len(word) > 1:
        covered = {at + step for at in range(size - 1) if word[at : at + 2] in held for step in (0, 1)}
        share = len(covered) / size
        return share if share == 1 or (size >= _COMPOUND and share >= _PARTLY) else 0.0
    whole, *parts = query_tokens(word) or [word]
    if whole in stop_tokens():
        return 0.0
    if word.replace("_", "").isalnum() and not size:  # an identifier: as it is, or in its parts
        return float(whole in held or (bool(parts) and held.issuperset(parts)))
    return float(held.issuperset((whole, *parts)))


def _is_compound(word: KeyWord) -> bool:
    return cjk_count(word.text) == len(word.text) >= _COMPOUND


def _weigh(shares: Sequence[float], words: Sequence[KeyWord]) -> float:
    return sum(share * word.weight for share, word in zip(shares, words, strict=False))


def _files_of(family: Family, files: dict[Checkpoint, _File]) -> list[_File]:
    """The files of a checkpoint that holds any of the words: it or, where only that has stayed young, its summary and it."""
    lead = family.summary if family.layer == GIST and family.summary else family.lead
    pieces = [piece for piece in dict.fromkeys((lead, family.original)) if piece]
    return [files.get(piece) or _File(piece) for piece in pieces] if any(piece in files for piece in pieces) else []


def _raise_rare_words(words: Sequence[KeyWord], checkpoints: Sequence[Sequence[_File]]) -> list[KeyWord]:
    """The words, where a plain one that hardly any of many checkpoints holds tells as much as a name."""
    most = len(checkpoints) // _MANY
    held = [sum(any(file.shares[at] for file in files) for files in checkpoints) for at in range(len(words))]
    pairs = zip(words, held, strict=True)
    return [word._replace(weight=NAMED) if PLAIN <= word.weight < NAMED and n <= most else word for word, n in pairs]


def _answers(
    candidates: list[list[_File]], words: Sequence[KeyWord], telling: Sequence[KeyWord], among: int
) -> list[_Answer]:
    """The checkpoints of a layer of so many that hold enough of the words, the best first. A name counts by how rare it is
    there: one that stands in every session tells nothing."""
    rare = list(words)
    for at, word in enumerate(words):
        if among >= _FEW and (word.weight >= NAMED or _is_compound(word)):
            common = sum(any(file.shares[at] for file in files) for files in candidates) / among
            rare[at] = word._replace(weight=word.weight * max(_COMMONPLACE, 1 - common))
    answers = []
    for files in candidates:
        best = max((file.shares for file in files), key=lambda shares: _weigh(shares, rare))
        coverage = _weigh(best, rare) / sum(word.weight for word in rare)
        if coverage >= _ENOUGH and _tells(best, telling):
            about = any(_is_about(file, words) for file in files if file.rows)
            answers.append(_Answer(files, coverage, coverage if about else coverage * _IN_PASSING))

    def rank(answer: _Answer) -> tuple[float, float, str]:
        bm25 = max(file.bm25 for file in answer.files)
        return answer.answered, round(bm25, 1), answer.files[0].checkpoint.name  # begins with its day: the newer first

    return sorted(answers, key=rank, reverse=True)


def _tells(shares: Sequence[float], words: Sequence[KeyWord]) -> bool:
    """Whether the words that are there tell anything: never a single everyday one out of several."""
    present = [word for word, share in zip(words, shares, strict=True) if share]
    telling = sum(word.weight >= PLAIN for word in words)
    if not telling:
        return len(present) == len(words)
    best = max(word.weight for word in present)
    return best >= NAMED or (best >= PLAIN and (len(present) > 1 or any(map(_is_compound, present)) or telling == 1))


def _recalled(
    context: Context, answer: _Answer, layer: str, query: str, words: Sequence[KeyWord], ended: ClosedEntries
) -> Recalled:
    file, *originals = answer.files
    path, opened = context.workspace.relative(file.checkpoint.path), None
    for original in originals:
        more = _weigh(original.shares, words) - _weigh(file.shares, words)
        if more > 1e-9 or (more >= 0 and _DETAIL.search(query)):
            file, opened = original, context.workspace.relative(original.checkpoint.path)
    data = read(context.workspace, file.checkpoint.path) or b""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    lines = without_message_marks(text).split("\n")
    title = next((one_line(line).strip("#*> ") for line in lines if line.strip(" #-*>\t")), "")
    day = date_in(file.checkpoint.name)
    return Recalled(
        path,
        path,
        layer,
        redact(title[: 5 * _TITLE]).text[:_TITLE],
        _passages(
            lines,
            _lines(file, words),
            frozenset(tokens(" ".join(word.text for word in words))),
            lambda line: bool(ended.of_talk(line, day)[1]),
        ),
        round(answer.coverage, 2),
        opened,
        answer.answered,
        tuple(each.checkpoint for each in answer.files),
    )


def _passages(
    lines: Sequence[str],
    matching: dict[int, tuple[float, str]],
    words: frozenset[str],
    is_superseded: Callable[[str], bool],
) -> tuple[Passage, ...]:
    """All lines of a short text; of a longer one those that match best with what stands around them. What no longer holds is marked."""
    mark = say(" (superseded)", "（已被取代）")
    chosen, longest = set(range(1, len(lines) + 1)), LONGEST_PASSAGES
    if sum(map(len, lines)) + len(lines) > LONGEST_PASSAGES:
        chosen, longest = set(), _LINE
        for best in sorted(matching, key=lambda at: (-matching[at][0], at)):
            # What follows is the answer to a question; what stands before it is what an answer answers.
            near = {at for at in range(best - 3, best + 12) if 0 < at <= len(lines)}
            for wanted in (near, near & {best}):
                if sum(min(len(lines[at - 1]), _LINE) + 1 for at in chosen | wanted) <= LONGEST_PASSAGES:
                    chosen |= wanted
                    break
    passages = []
    for _, run in groupby(enumerate(sorted(chosen)), lambda pair: pair[1] - pair[0]):
        filled = [at for _, at in run if lines[at - 1].strip()]
        if filled:
            # Secrets go before anything is cut off: half of one would no longer look like one.
            first = max(1, filled[0] - AROUND)
            around = enumerate(lines[first - 1 : filled[-1] + AROUND], first)
            whole = redact_lines([(at, clean(line[:_LONGEST_LINE])) for at, line in around])
            inside = (line[: _LONGEST_LINE - 1000] for at, line in whole if filled[0] <= at <= filled[-1])
            shown = (
                (line if len(line) <= longest else snippet(line, words, longest)) + mark * is_superseded(line)
                for line in inside
            )
            passages.append(Passage(filled[0], filled[-1], "\n".join(shown)))
    return tuple(passages)


def report_moved(report: RecallReport, to: dict[str, str]) -> RecallReport:
    """The report after the files were brought back to a younger layer."""
    recalled = tuple(
        replace(file, path=to.get(file.was, file.was), opened=file.opened and to.get(file.opened, file.opened))
        for file in report.found
    )
    reason = report.reason
    if report.layer == FORGOTTEN and any(file.path != file.was for file in recalled):
        reason += say(" It was brought back and will be kept from now on.", "现已找回，今后会保留。")
    return replace(report, found=recalled, reason=reason)
