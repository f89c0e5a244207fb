"""What a memory holds, what is wrong with it, and its grade: of 100 points each problem takes those of its kind (memory_checks.KINDS)."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from nacre.checks import memory_checks
from nacre.checks.memory_checks import KINDS, Fade, Snapshot, kind_title
from nacre.context import gather
from nacre.errors import BadInput, NacreError
from nacre.memory import Memory
from nacre.model.report import Problem, fields
from nacre.text.tokens import tokens_estimate
from nacre.vault import disk
from nacre.vault.files import TIERS, MemoryFile

__all__ = ["Health", "check_health", "kind_title"]

FULL = 100
GRADES = ((90, "A"), (80, "B"), (70, "C"), (60, "D"))


class Deduction(NamedTuple):
    kind: str
    count: int
    points: float


class Grade(NamedTuple):
    """The letter, the points that are left, and every deduction, the largest first."""

    letter: str
    points: int
    deductions: tuple[Deduction, ...]


class Health(NamedTuple):
    """How a memory is kept: its grade, what is wrong, what fades next, and figures by the names that programs know."""

    grade: Grade
    findings: tuple[Problem, ...]
    fading: tuple[Fade, ...]
    figures: dict[str, Any]

    def as_plain(self) -> dict[str, Any]:
        findings = []
        for finding in self.findings:
            command = finding.remedy if finding.remedy.startswith("nacre ") else None
            about = {"id": finding.id or None, "command": command, "byHand": None if command else finding.remedy}
            findings.append(fields(finding, "kind message path line id", **about))
        return {
            "grade": self.grade.letter,
            "points": self.grade.points,
            "deductions": [deduction._asdict() for deduction in self.grade.deductions],
            "findings": findings,
            "fading": [asdict(fade) for fade in self.fading],
            **self.figures,
        }


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


def check_health(memory: Memory) -> Health:
    """Examine a memory. Reads, and changes nothing; a file that cannot be read is a problem."""
    if memory.scope.group is not None:
        raise BadInput(
            "In a group nothing is told about private memory; run this without a scope.",
            "群组范围内不会透露私人记忆的情况；请去掉范围再运行。",
        )
    snapshot, files = memory_checks.take_snapshot(memory), memory.files()
    problems, fading = memory_checks.find_problems(snapshot), memory_checks.what_fades(snapshot)
    figures = {
        "longterm": _sizes(snapshot),
        "counts": _counts(snapshot, files),
        "tokens": _tokens(snapshot, files),
        "loose": memory_checks.count_loose_ends(snapshot, {file.path for file in files}),
        "meaning": list(memory.brain.with_vectors),
    }
    return Health(graded(problems), problems, fading, figures)


def _sizes(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Every MEMORY.md beside its limits; `share` is the larger of the two shares."""
    most, sizes = snapshot.config.memory, []
    for file in snapshot.files:
        if file.before is not None:
            lines, size, tokens = file.size.lines, file.size.bytes, tokens_estimate(file.before.text)
            share = round(max(lines / (most.max_lines or 1), size / (most.max_bytes or 1)), 3)
            row = {"path": file.shown, "entries": len(file.lines), "lines": lines, "bytes": size, "share": share}
            sizes.append({**row, "tokens": tokens})
    return sizes


def _counts(snapshot: Snapshot, files: Sequence[MemoryFile]) -> dict[str, Any]:
    layers = Counter(file.layer for file in files)
    compressed = len(list(snapshot.workspace.archive.glob(f"*/????-??-??.md{disk.COMPRESSED}")))
    return {
        "daily": sum(not day.archived for day in snapshot.days),
        "weekly": layers["weekly"],
        "archived": sum(day.archived for day in snapshot.days) + compressed,
        "notes": layers["note"],
        "checkpoints": {layer: layers[layer] for layer in TIERS},
        "ledger": dict(Counter(state.verdict for state in snapshot.states.values()).most_common()),
        "pinned": sum(snapshot.is_pinned(line) for _, line in snapshot.lines),
        "questions": dict(Counter(question.kind for question in (snapshot.draft.questions if snapshot.draft else ()))),
    }


def _tokens(snapshot: Snapshot, files: Sequence[MemoryFile]) -> dict[str, int]:
    """About how many model tokens are in MEMORY.md, in the logs of today and yesterday, in what a new session is given, in all."""
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
    given = 0  # to a session that belongs to no project and asks nothing yet
    if config.context.enabled:
        gathered = gather.gather_private(snapshot.context, gather.SessionProject())
        given = gather.pack_context(gathered, config.context.budget, "main").tokens
    return {
        "longterm": by_path.get(workspace.relative(workspace.longterm), 0),
        "recent": sum(by_path.get(workspace.relative(workspace.day(day)), 0) for day in (snapshot.today, yesterday)),
        "session": given,
        "everything": sum(by_path.values()) + estimate(workspace.state),
    }
