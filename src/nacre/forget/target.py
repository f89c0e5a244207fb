"""Every line of memory with its place and words, which of them an id, a place or a query means, and which belong to one fact."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from nacre import disk
from nacre.clock import monday
from nacre.config.settings import Config
from nacre.errors import BadInput, NotFound
from nacre.guard.secrets import excerpt
from nacre.i18n import say
from nacre.index.freshness import MemoryIndex
from nacre.model import DAY_NAME, Context, Hit, Workspace
from nacre.search.read import no_such_id, parse_place
from nacre.text.blocks import HEADING, ITEM, TEXT, is_structural, labelled_spans, real_day, stamp_of
from nacre.text.tokens import tokens
from nacre.vault import longterm
from nacre.vault.entries import Document, Item, bare_words, bullet_id, document, entry_id, normal_words, words_of
from nacre.vault.history import Operation
from nacre.vault.ledger import LedgerStates
from nacre.vault.provenance import Trail
from nacre.vault.storage import TIERS, memory_files, read, read_memory, storage_of
from nacre.vault.writing import changed_outside, rewrite, write_recorded

_QUOTE = re.compile(r"\A\s*(?:>\s*)+")
_CLOCK = re.compile(r"\A\[(?:\d{4}-\d{2}-\d{2}[ T])?\d{1,2}:\d{2}\]\s+")  # before a decision in SESSION-STATE.md
_BREAK = re.compile(r"\n[^\S\n]*(?:[-*+]|\d{1,9}[.)])\s")
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"\w+")
_LETTER = re.compile(rf"[^\W_{_HAN.pattern[1:]}")
_RUN = re.compile(rf"({_HAN.pattern}{{1,3}}){_HAN.pattern}*|{_LETTER.pattern}+")
_LINK = 1100  # characters that may stand between two words of a line: where a link leads
_MARKS = re.compile(r"\]\([^()\n]{0,1000}\)|[*_`~\[\]]")
ENOUGH_WORDS, ENOUGH_HAN = 3, 6  # from which on words stand for one thing wherever they are met
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ID = re.compile(r"[0-9a-f]{8}(?:[0-9a-f]{2})?")  # of an entry or a hit; the shorter one of a bullet
_PLACE = re.compile(r"(.+?\.md(?:\.gz)?(?::\d{1,9}(?::\d{1,9})?|#L\d{1,9}(?:-L?\d{1,9})?))")
MOST = 10  # candidates of a query
QUOTED = 100  # characters of what may be meant


@dataclass(frozen=True)
class ForgetContext(Context):
    """The context with the index, opened when first needed, and search."""

    keeper: Callable[[], MemoryIndex] = field(kw_only=True)
    search: Callable[[str, int], Sequence[Hit]] = field(kw_only=True)


@dataclass(frozen=True)
class MemoryLine:
    """A line of memory with everything nested in it, from line `start` to `end`, counted from 1."""

    path: str  # as users see it
    full: Path
    layer: str
    start: int
    end: int
    section: str  # the heading it stands under
    text: str  # as it stands there with everything nested in it, on one line, without its marker
    words: str  # what it says itself
    whole: str  # what it says with what is nested in it
    title: str | None = None  # of a heading: the signs before its words, which stay when these go

    @cached_property
    def marks(self) -> frozenset[str]:
        return frozenset({bullet_id(f"- {self.whole}")} if self.whole else ())

    @cached_property
    def ids(self) -> frozenset[str]:
        return frozenset(entry_id(form) for form in {self.whole, self.text} if form)

    @cached_property
    def normal(self) -> str:
        """The normalised words with what is nested, as in tombstones."""
        return normal_words(self.whole)

    @cached_property
    def own(self) -> str:
        """The normalised words of the line itself, as in tombstones."""
        return normal_words(self.words)

    @cached_property
    def is_telling(self) -> bool:
        """Whether its words stand for one thing; "Done" is said of many."""
        return is_telling(self.whole)

    @property
    def id(self) -> str:
        return entry_id(self.text if self.layer == "longterm" else self.whole)

    @property
    def day(self) -> str | None:
        dated = DAY_NAME.fullmatch(self.path.rpartition("/")[2].removesuffix(disk.COMPRESSED))
        return dated[1] if dated and self.layer in ("daily", "archive") else None

    @property
    def span(self) -> tuple[str, int, int]:
        return self.path, self.start, self.end

    @property
    def place(self) -> str:
        return f"{self.path}:{self.start}"

    def covers(self, other: MemoryLine) -> bool:
        return self.path == other.path and self.start <= other.start and other.end <= self.end


def is_telling(words: str) -> bool:
    """Whether these are words enough to be known again by: three, or six Chinese characters, or some of both."""
    han = len(_HAN.findall(words))
    return len(_WORD.findall(_HAN.sub(" ", words))) / ENOUGH_WORDS + han / ENOUGH_HAN >= 1


class MemoryLines:
    """The lines of every memory file, parsed when needed; the user's own library is not included."""

    def __init__(self, workspace: Workspace, config: Config) -> None:
        listed = memory_files(workspace, config)
        # By their paths as users see them: where each lies, and its layer.
        self.files = {file.path: (Path(file.full), file.layer) for file in listed if file.layer != "extra"}
        lessons = (longterm.retrospect_path(workspace, name) for name in longterm.list_skills(workspace))
        for path in (workspace.review, workspace.state, workspace.root / "promote_report.md", *lessons):
            if (stored := storage_of(workspace).about(workspace.relative(path))) and stored.is_plain:
                self.files.setdefault(workspace.relative(path), (path, "working"))
        self._workspace = workspace
        self._parsed: dict[str, list[MemoryLine]] = {}
        self._texts: dict[str, str] = {}  # each file that was read, folded

    def of(self, path: str) -> list[MemoryLine]:
        if path not in self._parsed:
            full, layer = self.files.get(path, (None, ""))
            data = read_memory(self._workspace, full) if full else b""
            self._parsed[path] = list(lines_of(path, full or Path(), layer, data))
        return self._parsed[path]

    def every(self) -> list[MemoryLine]:
        return [line for path in self.files for line in self.of(path)]

    def about(self, texts: Iterable[str], days: Iterable[str] = (), marks: Container[str] = ()) -> list[MemoryLine]:
        """The lines of the files that may state one of the texts: files of the days, and files with the words of a text or of a line
        that has one of the marks."""
        dates = {
            date for day in days if real_day(day) for date in (day, monday(dt.date.fromisoformat(day)).isoformat())
        }
        paths = {path for path in self.files if any(date in path for date in dates)}
        marked = [line.whole for path in paths for line in self.of(path) if any(mark in marks for mark in line.marks)]
        sought = [_Words(text) for text in {*texts, *marked}]
        others = (path for path in self.files if path not in paths)
        paths |= {path for path in others if any(words.may_stand_in(self._text(path)) for words in sought)}
        return [line for path in self.files if path in paths for line in self.of(path)]

    def _text(self, path: str) -> str:
        if path not in self._texts:
            self._texts[path] = _folded(read_memory(self._workspace, self.files[path][0]).decode("utf-8", "replace"))
        return self._texts[path]


def _folded(text: str) -> str:
    return (text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)).casefold()


class _Words:
    """The words of a text in order, to be searched for in files; of Chinese only the beginning of each run."""

    def __init__(self, text: str) -> None:
        bare = _folded(_MARKS.sub(" ", text))
        self._words = [run[1] or run[0] for run in _RUN.finditer(bare)]
        self._longest = 2 * len(bare) + _LINK

    def may_stand_in(self, text: str) -> bool:
        """Whether the text has all the words, in order and near each other."""
        if not self._words:
            return True
        if _find(max(self._words, key=len), text, 0) < 0 or not all(word in text for word in self._words):
            return False
        start = -1
        while (start := _find(self._words[0], text, start + 1)) >= 0:
            end = start
            for word in self._words:
                if (at := _find(word, text, end)) < 0:
                    return False
                end = at + len(word)
            if end - start <= self._longest:
                return True
        return False


def _find(word: str, text: str, start: int) -> int:
    """Where the word stands, as a whole word unless it is Chinese."""
    while (start := text.find(word, start)) >= 0:
        around = text[start - 1 : start], text[start + len(word) : start + len(word) + 1]
        if _HAN.match(word) or not any(_LETTER.match(sign) for sign in around):
            break
        start += 1
    return start


def unmarked(text: str) -> str:
    """The text without Markdown marks and link targets."""
    return _MARKS.sub("", text)


def write_memory(op: Operation, path: Path, before: bytes, after: bytes) -> None:
    """Replace the content of a file that is still what was read; a compressed log stays compressed."""
    if path.suffix != disk.COMPRESSED:
        rewrite(op, path, after, read=disk.digest(before), log=True)
        return
    op.place(path)
    stored = read(op.workspace, path) or b""
    if read_memory(op.workspace, path) != before:
        raise changed_outside(op.workspace.relative(path))
    write_recorded(op, path, stored, disk.compress(after))


def lines_of(path: str, full: Path, layer: str, data: bytes) -> Iterator[MemoryLine]:
    """The lines of one file. Bytes that are not UTF-8 are replaced."""
    doc = document(full, data.decode("utf-8", "replace").removeprefix("\ufeff").encode())
    items = {item.start: item for item in doc.items}
    section = ""

    def line(start: int, end: int, own: str, whole: str) -> MemoryLine:
        words = _bare(own)
        said = words if own == whole else _bare(whole) or words
        return MemoryLine(path, full, layer, start, end, section, words_of(whole), words, said)

    has_titles = layer != "longterm" and full.name != "SESSION-STATE.md"
    for block in doc.blocks:
        if block.kind == HEADING:
            section = block.text
            if has_titles and not stamp_of(section).time and not is_structural(section):
                signs = f"{'#' * block.level} " if block.start == block.end else ""
                end = block.end if signs else block.end - 1  # a line under it marks the other kind
                yield replace(line(block.start, end, section, section), title=signs)
        elif block.kind == ITEM:
            for item in _with_nested(doc, items[block.start]):
                yield line(item.start, item.end, _BREAK.split(item.text, maxsplit=1)[0], item.text)
        elif block.kind == TEXT:
            # In a digest each label begins a line; elsewhere every line is one, and so is the whole.
            labelled = labelled_spans(doc.bare[block.start - 1 : block.end])
            spans = [(block.start + first, block.start + last - 1) for first, last in labelled]
            if not labelled:
                whole = [(block.start, block.end)] if block.end > block.start else []
                spans = [*whole, *((number, number) for number in range(block.start, block.end + 1))]
            for start, end in spans:
                text = "\n".join(doc.bare[start - 1 : end])
                yield line(start, end, text, text)
        else:
            for number in range(block.start, block.end + 1):
                text = doc.bare[number - 1]
                if any(map(str.isalnum, text)) or number not in (block.start, block.end):  # no bare mark of a fence
                    yield line(number, number, text, text)


def _bare(text: str) -> str:
    """The words of a line without list marks, quotes, labels, check boxes, times and source notes."""
    words = _CLOCK.sub("", words_of(_QUOTE.sub("", text)))
    return bare_words(f"- {words}") if words else ""


def _with_nested(doc: Document, item: Item) -> Iterator[Item]:
    yield item
    if item.end > item.start:
        for inner in doc.nested(item):
            yield from _with_nested(doc, inner)


def without_lines(data: bytes, lines: Iterable[MemoryLine], instead: Mapping[int, str] | None = None) -> bytes:
    """The bytes of a file without these lines, or with `instead` (by line number) in their place; all other bytes stay."""
    numbers = {number for line in lines for number in range(line.start, line.end + 1)}
    kept = re.findall(rb"[^\n]*\n|[^\n]+", data)
    for number, text in (instead or {}).items():
        ending = kept[number - 1][len(kept[number - 1].rstrip(b"\r\n")) :]
        kept[number - 1] = text.encode() + ending
        numbers.discard(number)
    rest = b"".join(line for number, line in enumerate(kept, start=1) if number not in numbers)
    return _BYTE_ORDER_MARK + rest if 1 in numbers and data.startswith(_BYTE_ORDER_MARK) else rest


# What the user means by an id, a place or a query: lines of memory, or an entry that only the ledger knows.


@dataclass(frozen=True)
class Target:
    """Something that may be meant. Without a line it is only in the ledger; without words it was forgotten before."""

    id: str
    words: str
    line: MemoryLine | None = None


def find_targets(context: ForgetContext, text: str, lines: MemoryLines) -> tuple[tuple[Target, ...], bool]:
    """What is meant, and whether that is certain: named by its id or words. A search may return something else next time, and a line
    number another line."""
    text = text.strip()
    if not text:
        raise BadInput(
            "Say which memory you mean: by id, FILE:LINE or a few words.",
            "请指明是哪条记忆：用 id、文件:行号或几个词。",
        )
    if _ID.fullmatch(text):
        return _by_id(context, text, lines), True
    if _PLACE.fullmatch(text):
        return _by_place(context, text, lines), False
    same_words = [line for line in lines.about([text]) if line.words and line.normal == normal_words(text)]
    if same_words:
        return _distinct(same_words), True
    matches: list[MemoryLine] = []
    query = set(tokens(text))
    hits = [hit for hit in context.search(text, MOST) if hit.layer not in ("session", "extra") and not hit.weak]
    # A session only tells how an entry came about.
    for hit in [hit for hit in hits if hit.layer not in TIERS] or hits:
        here = [line for path, first, last in hit.places for line in lines_at(lines.of(path), first, last)]
        matches += [line for line in here if query & set(tokens(line.whole))] or here
    if not matches:
        raise NotFound(
            f'Nothing in memory seems to be about "{text}". Specify a line by its id, as shown by "nacre search".',
            f"记忆中似乎没有关于“{text}”的内容。请用“nacre search”显示的 id 指定某一行。",
        )
    return _distinct(matches), False


def _by_id(context: ForgetContext, text: str, lines: MemoryLines) -> tuple[Target, ...]:
    """The targets for the id of a search hit, of an entry of the ledger, or of a line."""
    index = context.keeper()
    query = "select f.path, c.first, c.last from chunks c join files f on f.id = c.file where c.key = ?"
    index.store.safely(index.current)
    hit = index.store.safely(lambda: index.store.db.execute(query, (text,)).fetchone())
    if hit:
        path, first, last = hit
        if inside := lines_at(lines.of(path), first, last):
            return _distinct(inside)
        _check_is_memory(lines, path)
        raise _no_line(f"{path}:{first}")
    entry = LedgerStates(context.workspace).get(text)
    if entry and entry.text:
        candidates = lines.about([entry.text])
    else:
        captured = Trail(context.workspace).captured([text])
        candidates = lines.about((), {section.day for section in captured}, {text}) if captured else lines.every()
    if named := [line for line in candidates if text in line.ids or text in line.marks]:
        return _distinct(named if all(line.normal == named[0].normal for line in named) else named[:1])
    if entry:
        return (Target(entry.id, entry.text or ""),)
    raise no_such_id(text)


def _by_place(context: ForgetContext, place: str, lines: MemoryLines) -> tuple[Target, ...]:
    path, first, count = parse_place(place)
    absolute = Path(path).expanduser()
    shown = context.workspace.relative(absolute) if absolute.is_absolute() else path
    if shown not in lines.files and not shown.startswith("sessions/") and not (context.workspace.root / shown).exists():
        raise NotFound(f"There is no file {shown}.", f"没有文件 {shown}。")
    _check_is_memory(lines, shown)
    inside = lines_at(lines.of(shown), first or 0, (first or 0) + (count or 1) - 1)
    if not inside:
        length = len(read_memory(context.workspace, lines.files[shown][0]).splitlines())
        if first and first > length:
            raise NotFound(
                f"There is no line {first}: {shown} has {length} line{'' if length == 1 else 's'}.",
                f"没有第 {first} 行：{shown} 共 {length} 行。",
            )
        raise _no_line(place)
    return _distinct(inside)


def _no_line(place: str) -> NotFound:
    return NotFound(
        f"There is no memory at {place}: the line is empty or a heading.", f"{place} 处没有记忆：该行为空或是标题。"
    )


def lines_at(lines: Iterable[MemoryLine], first: int, last: int) -> list[MemoryLine]:
    """The lines of a span: the outermost lines within it; else the innermost line around it; else its title."""
    every = [line for line in lines if line.words]
    here = [line for line in every if line.title is None]
    inside = [line for line in here if first <= line.start and line.end <= last]
    if inside:
        return [line for line in inside if not any(other is not line and other.covers(line) for other in inside)]
    around = [line for line in here if line.start <= first and last <= line.end]
    titles = [line for line in every if line.title is not None and first <= line.start <= last]
    return sorted(around, key=lambda line: line.end - line.start)[:1] or titles[:1]


def _distinct(lines: Iterable[MemoryLine]) -> tuple[Target, ...]:
    """The lines as targets, each wording once; short ones once for each place."""
    targets: dict[str, Target] = {}
    for line in lines:
        targets.setdefault(line.normal if line.is_telling else line.place, Target(line.id, line.whole, line))
    return tuple(targets.values())


def _check_is_memory(lines: MemoryLines, path: str) -> None:
    """Refuse transcripts and the user's own library, which are searched but not changed."""
    if path not in lines.files:
        raise BadInput(
            f"{path} is not a memory file kept by Nacre, so it was left unchanged. Edit the file yourself.",
            f"{path} 不是由 Nacre 管理的记忆文件，不会改动。请自行编辑。",
        )


def several_targets(text: str, targets: Sequence[Target]) -> BadInput:
    text = excerpt(text, QUOTED)
    listed = "".join(
        f"\n  {target.id}  {target.line.place if target.line else 'ledger'}  {excerpt(target.words, QUOTED)}"
        for target in targets
    )
    return BadInput(
        f'"{text}" could mean any of these; specify one by its id or its exact words:{listed}',
        f"“{text}”可能指以下内容；请用 id 或原文指定：{listed}",
    )


# Which entries and lines belong to one fact, by the ledger and the provenance.


@dataclass(frozen=True)
class Fact:
    """A fact with everything that belongs to it: ids in the ledger and marks in the provenance, each with the reason."""

    id: str
    words: str
    ids: Mapping[str, str]
    marks: Mapping[str, str]
    normal: Mapping[str, str]  # its wordings, as tombstones know them, with the same reasons
    beside: Mapping[str, str] = field(default_factory=dict)  # ids and marks that are only akin to it
    named: MemoryLine | None = None  # the line that the user pointed at
    origins: frozenset[tuple[str, str]] = frozenset()  # days and marks of the bullets that it was made of
    entries: frozenset[str] = frozenset()  # ids of the entries that were made of the named line, by the ledger
    days: frozenset[str] = frozenset()  # of which a digest words it otherwise

    def reason(self, line: MemoryLine) -> str | None:
        """Why a line belongs to the fact; None when it does not. A few words prove nothing."""
        if self.named and line.span == self.named.span:
            return same_words()
        if not line.is_telling:
            is_learned = line.layer == "longterm" and bool(line.ids & self.entries)
            if not is_learned and not any((line.day, mark) in self.origins for mark in line.marks):
                return None
        reasons = (*(self.ids.get(entry) for entry in sorted(line.ids)), *(self.marks.get(mark) for mark in line.marks))
        return next(filter(None, (*reasons, self.normal.get(line.normal))), None)

    def akin(self, line: MemoryLine) -> str | None:
        """Why a line is related to the fact without belonging to it, by the ledger or its words; else None."""
        if reason := next((self.beside[key] for key in (*sorted(line.ids), *line.marks) if key in self.beside), None):
            return reason
        own = {line.own, line.normal}
        if own & self.normal.keys() or (self.named and self.named.own in own):
            return say("the same words elsewhere", "别处的相同内容")
        return None


def same_words() -> str:
    return say("the same words", "相同的内容")


def superseded_by_it() -> str:
    return say("superseded by it", "已被它取代")


def fact_of(
    target: Target, states: LedgerStates, trail: Trail, *, older: bool = True, superseded: bool = False
) -> Fact:
    """The fact that a target is part of.

    With `older` what was merged into it belongs to it too. What it superseded is another statement, and only related to it unless
    `superseded` is true.
    """
    ids = {target.id: same_words()}
    marks: dict[str, str] = {}
    forms: dict[str, str] = {}
    if target.words:
        forms[normal_words(target.words)] = same_words()
        ids[entry_id(target.words)] = same_words()
        marks[bullet_id(f"- {target.words}")] = same_words()
    if target.line:
        ids |= dict.fromkeys(target.line.ids, same_words())
        marks |= dict.fromkeys(target.line.marks, same_words())
        forms[target.line.normal] = same_words()
    # Entries that were made of one of the bullets say the same; so do the bullets that the entries were made of.
    for learned in [entry for mark in marks for entry in states.made_of(mark)]:
        ids.setdefault(learned.id, say("derived from it", "由它得出"))
    for entry in list(ids):
        for _, bullet in _sources(states, entry):
            marks.setdefault(bullet, say("what it was derived from", "它的来源"))
    days = _add_digested(marks, trail)
    own = list(ids)
    replaced = _add_older(ids, marks, states, superseded=superseded) if older else {}
    beside = {key: reason for key, reason in replaced.items() if key not in ids and key not in marks}
    for current in own:  # what it was merged into belongs to it; what else went into that entry is only akin
        state = states.get(current)
        while state and (into := state.into) and into not in ids:
            ids[into] = say("it became part of this", "它已并入这一条")
            akin = say("became part of the same entry", "并入了同一条")
            beside |= {other.id: akin for other in states.inside(into) if other.into == into and other.id not in ids}
            state = states.get(into)
    for entry, reason in ids.items():
        if (state := states.get(entry)) and state.text:
            forms.setdefault(normal_words(state.text), reason)
    day = target.line.day if target.line else None
    sources = {entry: _sources(states, entry) for entry in ids}
    proven = {entry: every for entry, every in sources.items() if every and day in (None, every[0][0])}
    origins = frozenset(source for every in proven.values() for source in every)
    entries = frozenset(proven) if day else frozenset()
    return Fact(target.id, target.words, ids, marks, forms, beside, target.line, origins, entries, days)


def _add_digested(marks: dict[str, str], trail: Trail) -> frozenset[str]:
    """Add the digest lines that word one of the bullets differently, and the bullets behind such a line; returns their days."""
    days: set[str] = set()
    pressed, pressed_from = (
        say("its summary in the weekly digest", "它在每周摘要中的概括"),
        say("the log line it summarises", "它所概括的日志行"),
    )
    own = set(marks)
    for digested in trail.digested(own):
        for line, bullets in digested.worded.items():
            if line in own or own & set(bullets):
                days.add(digested.day)
                marks.setdefault(line, pressed)
                marks |= {bullet: pressed_from for bullet in bullets if line in own and bullet not in marks}
    return frozenset(days)


def lines_about(facts: Iterable[Fact], lines: MemoryLines, states: LedgerStates) -> list[MemoryLine]:
    """The lines that may state one of the facts; all lines where words of one are known only by their hash."""
    texts: list[str] = []
    days: set[str] = set()
    marks: set[str] = set()
    for fact in facts:
        entries = [state for entry in (*fact.ids, *fact.beside) if (state := states.get(entry))]
        if not fact.words or not all(state.text for state in entries):
            return lines.every()
        texts += [fact.words, *(state.text for state in entries if state.text)]
        texts += [fact.named.whole, fact.named.words] if fact.named else []
        days |= {state.source.get("day", "") for state in entries} | fact.days
        marks |= fact.marks.keys() | fact.beside.keys()
    return lines.about(texts, days, marks)


def _sources(states: LedgerStates, entry: str) -> list[tuple[str, str]]:
    """Day and mark of each bullet that an entry was made of."""
    state = states.get(entry)
    return [(day, mark) for mark in state.bullets if (day := state.source.get("day"))] if state else []


def distinct_targets(targets: Sequence[Target], states: LedgerStates, trail: Trail) -> tuple[Target, ...]:
    chosen: list[Target] = []
    facts: list[Fact] = []
    for target in targets:
        if not target.line or not any(fact.reason(target.line) for fact in facts):
            chosen.append(target)
            facts.append(fact_of(target, states, trail))
    return tuple(chosen)


def _add_older(ids: dict[str, str], marks: dict[str, str], states: LedgerStates, *, superseded: bool) -> dict[str, str]:
    """Add what was merged into the fact and its bullets, and what it superseded; without `superseded` that is only returned."""
    merged, replaced = say("merged into it", "已并入它"), superseded_by_it()
    akin: dict[str, str] = {}
    waiting = list(ids)
    while waiting:
        current = waiting.pop()
        older = {state.id: replaced if state.by else merged for state in states.inside(current)}
        if (state := states.get(current)) and state.supersedes:
            older.setdefault(state.supersedes, replaced)
        for entry, reason in older.items():
            if entry in ids:
                continue
            bullets = [mark for _, mark in _sources(states, entry)]
            if reason == replaced and not superseded:
                akin |= dict.fromkeys((entry, *bullets), reason)
                continue
            ids[entry] = reason
            waiting.append(entry)
            for bullet in bullets:
                marks.setdefault(bullet, reason)
    return akin
