"""The grade of a memory, by a formula that anybody can follow.

A memory begins with 100 points. Each finding takes the points of its kind away, and no kind takes more than its most:

| kind | each | most |
|---|---|---|
| unreadable: a file or line that is left alone because it cannot be read or is no memory | 5 | 20 |
| over limits: a MEMORY.md that takes nothing new | 20 | 30 |
| contradiction: two entries that cannot both hold | 6 | 24 |
| duplicate: two entries that say the same | 3 | 15 |
| question: something waits for the user's word | 1 | 10 |
| faded: an entry whose time is over | 2 | 10 |
| stale state: a task in SESSION-STATE.md, untouched for more than 7 days | 5 | 5 |
| origin gone: an entry whose day, session or line no longer exists | 2 | 10 |
| unknown entry: MEMORY.md and ledger tell different things | 0.5 | 10 |
| untyped: a note of the last 30 days without a type | 0.5 | 10 |
| unpressed: a log that a night should have put away | 0.5 | 15 |
| unsorted: a checkpoint that belongs in another layer since yesterday | 0.5 | 10 |
| empty log | 0.5 | 5 |
| copy: a checkpoint with the content of another | 0.5 | 5 |
| count without file: a recall count of a checkpoint that is gone | 0.2 | 2 |
| source gone: a line of a digest that names a day without a log | 0.2 | 2 |

What is left, rounded, is the grade: A from 90, B from 80, C from 70, D from 60, else F.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.checks import checkpoints, daily, longterm, snapshot
from nacre.checks.daily import Fade, days_after
from nacre.checks.longterm import LooseEnds
from nacre.checks.snapshot import KINDS, OVER, Finding, Logs, Snapshot, take_snapshot, unreadable
from nacre.context import gather
from nacre.errors import BadInput, NacreError
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.context import Context
from nacre.text.tokens import tokens_estimate
from nacre.tidy.memory_files import LongTermFile
from nacre.vault import disk, working
from nacre.vault.disk import COMPRESSED, decompress
from nacre.vault.files import TIERS, MemoryFile, memory_files

FULL = 100
GRADES = ((90, "A"), (80, "B"), (70, "C"), (60, "D"))
POINTS = {  # by kind: for each finding, and at most
    snapshot.UNREADABLE: (5.0, 20.0),
    snapshot.OVER: (20.0, 30.0),
    snapshot.CONTRADICTION: (6.0, 24.0),
    snapshot.DUPLICATE: (3.0, 15.0),
    snapshot.QUESTION: (1.0, 10.0),
    snapshot.FADED: (2.0, 10.0),
    snapshot.STATE: (5.0, 5.0),
    snapshot.ORIGIN: (2.0, 10.0),
    snapshot.UNKNOWN: (0.5, 10.0),
    snapshot.UNTYPED: (0.5, 10.0),
    snapshot.UNPRESSED: (0.5, 15.0),
    snapshot.UNSORTED: (0.5, 10.0),
    snapshot.EMPTY: (0.5, 5.0),
    snapshot.COPY: (0.5, 5.0),
    snapshot.UNCOUNTED: (0.2, 2.0),
    snapshot.SOURCE: (0.2, 2.0),
}


@dataclass(frozen=True)
class Deduction:
    """What one kind of finding takes away."""

    kind: str
    count: int
    points: float


@dataclass(frozen=True)
class Grade:
    """The letter, the points that are left, and every deduction, the largest first."""

    letter: str
    points: int
    deductions: tuple[Deduction, ...]


def graded(findings: Iterable[Finding]) -> Grade:
    counts = Counter(one.kind for one in findings)
    lost = [Deduction(kind, counts[kind], _lost(kind, counts[kind])) for kind in snapshot.KINDS if counts[kind]]
    left = max(0, round(FULL - sum(one.points for one in lost)))
    letter = next((letter for least, letter in GRADES if left >= least), "F")
    return Grade(letter, left, tuple(sorted(lost, key=lambda one: -one.points)))


def _lost(kind: str, count: int) -> float:
    each, most = POINTS[kind]
    return round(min(each * count, most), 1)


# What memory holds: how many of each thing, how large the memory files are beside their limits, how many tokens it
# all is.


@dataclass(frozen=True)
class Size:
    """A MEMORY.md beside its limits. `share` is the larger of the two shares."""

    path: str
    entries: int
    lines: int
    bytes: int
    share: float
    tokens: int


@dataclass(frozen=True)
class Tokens:
    """About how many model tokens are in MEMORY.md, in the logs of today and yesterday, in what a new session is given, in all."""

    longterm: int
    recent: int
    session: int
    everything: int


@dataclass(frozen=True)
class Contents:
    """All of it in figures."""

    sizes: tuple[Size, ...]
    daily: int
    weekly: int
    archived: int
    notes: int
    checkpoints: Mapping[str, int]
    verdicts: Mapping[str, int]
    pinned: int
    questions: Mapping[str, int]
    tokens: Tokens


def count_contents(desk: Snapshot, files: Sequence[MemoryFile]) -> Contents:
    """Count everything."""
    layers = Counter(one.layer for one in files)
    sizes = tuple(_size(desk, book) for book in desk.books if book.before is not None)
    return Contents(
        sizes,
        sum(not one.archived for one in desk.days),
        layers["weekly"],
        sum(one.archived for one in desk.days) + _packed(desk),
        layers["note"],
        {layer: layers[layer] for layer in TIERS},
        dict(Counter(one.verdict for one in desk.known.values()).most_common()),
        sum(desk.is_pinned(line) for _, line in desk.lines),
        dict(Counter(one.kind for one in desk.asked)),
        _tokens(desk, files),
    )


def _packed(desk: Snapshot) -> int:
    """How many archived logs are compressed."""
    return sum(1 for _ in desk.workspace.archive.glob(f"*/????-??-??.md{COMPRESSED}"))


def _size(desk: Snapshot, book: LongTermFile) -> Size:
    size, most = book.size, desk.config.memory
    share = max(size.lines / (most.max_lines or 1), size.bytes / (most.max_bytes or 1))
    tokens = tokens_estimate(book.doc.text) if book.doc else 0
    return Size(book.shown, len(book.lines), size.lines, size.bytes, round(share, 3), tokens)


def _tokens(desk: Snapshot, files: Sequence[MemoryFile]) -> Tokens:
    by_path = {one.path: _estimate(Path(one.full)) for one in files if one.layer != "extra"}
    longterm = by_path.get(desk.workspace.relative(desk.workspace.longterm), 0)
    recent = [desk.workspace.relative(desk.workspace.day(days_after(desk.today, back))) for back in (0, -1)]
    lately = sum(by_path.get(path, 0) for path in dict.fromkeys(recent))
    return Tokens(longterm, lately, _given(desk), sum(by_path.values()) + _state(desk))


def _given(desk: Snapshot) -> int:
    """What a session is given that belongs to no project and asks nothing yet."""
    context = desk.config.context
    if not context.enabled:
        return 0
    gathered = gather.gather_private(Context(desk.workspace, desk.config, desk.clock), gather.SessionProject())
    return gather.pack_context(gathered, context.budget, "main").tokens


def _state(desk: Snapshot) -> int:
    try:
        return _estimate(working.path_of(desk.workspace))
    except NacreError:
        return 0  # a link that leads elsewhere


def _estimate(path: Path) -> int:
    """The tokens of a file; none where it cannot be read, which doctor says."""
    try:
        data = disk.read_bytes(path)
        data = decompress(data, path.name) if data and path.suffix == COMPRESSED else data
    except NacreError:
        return 0
    return tokens_estimate(data.decode("utf-8", "replace")) if data else 0


def over_limits(desk: Snapshot) -> list[Finding]:
    """Every MEMORY.md that breaks its limits: it takes nothing new."""
    most = desk.config.memory
    return [
        Finding(
            OVER,
            say(
                f"{book.shown} has {book.size.lines} of {most.max_lines} lines and {book.size.bytes} of {most.max_bytes} bytes, "
                "and takes nothing new.",
                f"{book.shown} 有 {book.size.lines}/{most.max_lines} 行、{book.size.bytes}/{most.max_bytes} 字节，不再接受新内容。",
            ),
            book.shown,
            command="nacre review --adopt",
        )
        for book in desk.books
        if book.over
    ]


def list_files(desk: Snapshot) -> list[MemoryFile]:
    """Every file of memory, found by one walk."""
    return list(memory_files(desk.workspace, desk.config))


# The examination as a whole: what memory holds, every finding with what mends it, what fades next, and a grade.


@dataclass(frozen=True)
class Health:
    """How a memory is kept. `meaning` are the languages in which likeness was judged with an embedding model."""

    grade: Grade
    findings: tuple[Finding, ...]
    fading: tuple[Fade, ...]
    stock: Contents
    loose: LooseEnds
    meaning: tuple[str, ...]


def check_health(memory: Memory) -> Health:
    """Examine a memory. Reads, and changes nothing; a file that cannot be read is a finding."""
    if memory.scope.group is not None:
        raise BadInput(
            "In a group nothing is told about private memory; run this without a scope.",
            "群组范围内不会透露私人记忆的情况；请去掉范围再运行。",
        )
    desk = take_snapshot(memory)
    files = list_files(desk)
    logs, tiers = Logs(desk), checkpoints.plan_layers(desk)
    findings = [
        *map(unreadable, desk.problems),
        *over_limits(desk),
        *longterm.duplicates_and_conflicts(desk),
        *longterm.open_questions(desk),
        *daily.faded_entries(desk),
        *longterm.stale_task(desk),
        *longterm.unknown_entries(desk),
        *longterm.entries_without_origin(desk, logs),
        *daily.untyped_notes(desk),
        *daily.overdue_logs(desk),
        *checkpoints.checkpoint_findings(desk, tiers),
        *longterm.digest_lines_without_day(desk, logs),
    ]
    order = {kind: place for place, kind in enumerate(KINDS)}
    findings.sort(key=lambda one: (order[one.kind], one.path, one.line or 0))
    once = tuple(dict.fromkeys(findings))
    fading = (*checkpoints.fading_checkpoints(desk, tiers), *daily.dated_entries(desk), *daily.fading_logs(desk))
    return Health(
        graded(once),
        once,
        tuple(sorted(fading, key=lambda one: (one.day, one.path, one.line or 0))),
        count_contents(desk, files),
        longterm.count_loose_ends(desk, logs, files),
        memory.brain.with_vectors,
    )
