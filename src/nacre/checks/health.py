"""What a memory holds, what is wrong with it, and its grade: of 100 points each problem takes those of its kind (memory_checks.KINDS)."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.checks import memory_checks
from nacre.checks.memory_checks import KINDS, Fade, LooseEnds, Snapshot
from nacre.context import gather
from nacre.errors import BadInput, NacreError
from nacre.memory import Memory
from nacre.model.report import Problem
from nacre.text.tokens import tokens_estimate
from nacre.vault import disk
from nacre.vault.files import TIERS, MemoryFile, memory_files

FULL = 100
GRADES = ((90, "A"), (80, "B"), (70, "C"), (60, "D"))


@dataclass(frozen=True)
class Deduction:
    kind: str
    count: int
    points: float


@dataclass(frozen=True)
class Grade:
    """The letter, the points that are left, and every deduction, the largest first."""

    letter: str
    points: int
    deductions: tuple[Deduction, ...]


def graded(problems: Iterable[Problem]) -> Grade:
    counts = Counter(problem.kind for problem in problems)
    lost = [
        Deduction(kind, counts[kind], round(float(min(points.each * counts[kind], points.most)), 1))
        for kind, points in KINDS.items()
        if counts[kind]
    ]
    left = max(0, round(FULL - sum(deduction.points for deduction in lost)))
    letter = next((letter for least, letter in GRADES if left >= least), "F")
    return Grade(letter, left, tuple(sorted(lost, key=lambda deduction: -deduction.points)))


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


@dataclass(frozen=True)
class Health:
    """How a memory is kept. `meaning` are the languages in which likeness was judged with an embedding model."""

    grade: Grade
    findings: tuple[Problem, ...]
    fading: tuple[Fade, ...]
    stock: Contents
    loose: LooseEnds
    meaning: tuple[str, ...]


def check_health(memory: Memory) -> Health:
    """Examine a memory. Reads, and changes nothing; a file that cannot be read is a problem."""
    if memory.scope.group is not None:
        raise BadInput(
            "In a group nothing is told about private memory; run this without a scope.",
            "群组范围内不会透露私人记忆的情况；请去掉范围再运行。",
        )
    snapshot = memory_checks.take_snapshot(memory)
    files = list(memory_files(memory.workspace, memory.config))
    problems, fading = memory_checks.find_problems(snapshot), memory_checks.what_fades(snapshot)
    loose = memory_checks.count_loose_ends(snapshot, {file.path for file in files})
    contents = _count_contents(snapshot, files)
    return Health(graded(problems), problems, fading, contents, loose, memory.brain.with_vectors)


def _count_contents(snapshot: Snapshot, files: Sequence[MemoryFile]) -> Contents:
    layers = Counter(file.layer for file in files)
    most = snapshot.config.memory
    sizes: list[Size] = []
    for file in snapshot.files:
        if file.before is not None:
            lines, size = file.size.lines, file.size.bytes
            share = round(max(lines / (most.max_lines or 1), size / (most.max_bytes or 1)), 3)
            sizes.append(Size(file.shown, len(file.lines), lines, size, share, tokens_estimate(file.before.text)))
    compressed = len(list(snapshot.workspace.archive.glob(f"*/????-??-??.md{disk.COMPRESSED}")))
    return Contents(
        tuple(sizes),
        sum(not day.archived for day in snapshot.days),
        layers["weekly"],
        sum(day.archived for day in snapshot.days) + compressed,
        layers["note"],
        {layer: layers[layer] for layer in TIERS},
        dict(Counter(state.verdict for state in snapshot.states.values()).most_common()),
        sum(snapshot.is_pinned(line) for _, line in snapshot.lines),
        dict(Counter(question.kind for question in (snapshot.draft.questions if snapshot.draft else ()))),
        _tokens(snapshot, files),
    )


def _tokens(snapshot: Snapshot, files: Sequence[MemoryFile]) -> Tokens:
    workspace, config = snapshot.workspace, snapshot.config

    def estimate(path: Path) -> int:
        try:
            data = disk.read_bytes(path) or b""
            data = disk.decompress(data, path.name) if path.suffix == disk.COMPRESSED else data
        except NacreError:
            return 0  # unreadable, which doctor says
        return tokens_estimate(data.decode("utf-8", "replace"))

    by_path = {file.path: estimate(Path(file.full)) for file in files if file.layer != "extra"}
    yesterday = snapshot.today - dt.timedelta(days=1)
    recent = sum(by_path.get(workspace.relative(workspace.day(day)), 0) for day in (snapshot.today, yesterday))
    given = 0  # to a session that belongs to no project and asks nothing yet
    if config.context.enabled:
        gathered = gather.gather_private(snapshot.context, gather.SessionProject())
        given = gather.pack_context(gathered, config.context.budget, "main").tokens
    longterm = by_path.get(workspace.relative(workspace.longterm), 0)
    return Tokens(longterm, recent, given, sum(by_path.values()) + estimate(workspace.state))
