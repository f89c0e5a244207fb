"""What memory holds: how many of each thing, how large the memory files are beside their limits, how many tokens it all is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import NacreError
from nacre.health.desk import Desk
from nacre.health.finding import OVER, Finding
from nacre.health.passing import after
from nacre.recall import bootstrap
from nacre.text.language import tokens_estimate
from nacre.tidy.book import Book
from nacre.vault import atomic, working
from nacre.vault.files import TIERS, Found, memory_files
from nacre.vault.packed import PACKED, unpack
from nacre.words import say


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
class Stock:
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


def taken(desk: Desk, files: Sequence[Found]) -> Stock:
    """Count everything."""
    layers = Counter(one.layer for one in files)
    sizes = tuple(_size(desk, book) for book in desk.books if book.before is not None)
    return Stock(
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


def _packed(desk: Desk) -> int:
    """How many archived logs are compressed."""
    return sum(1 for _ in desk.workspace.archive.glob(f"*/????-??-??.md{PACKED}"))


def _size(desk: Desk, book: Book) -> Size:
    size, most = book.size, desk.config.memory
    share = max(size.lines / (most.max_lines or 1), size.bytes / (most.max_bytes or 1))
    tokens = tokens_estimate(book.doc.text) if book.doc else 0
    return Size(book.shown, len(book.lines), size.lines, size.bytes, round(share, 3), tokens)


def _tokens(desk: Desk, files: Sequence[Found]) -> Tokens:
    by_path = {one.path: _estimate(Path(one.full)) for one in files if one.layer != "extra"}
    longterm = by_path.get(desk.workspace.relative(desk.workspace.longterm), 0)
    recent = [desk.workspace.relative(desk.workspace.day(after(desk.today, back))) for back in (0, -1)]
    lately = sum(by_path.get(path, 0) for path in dict.fromkeys(recent))
    return Tokens(longterm, lately, _given(desk), sum(by_path.values()) + _state(desk))


def _given(desk: Desk) -> int:
    """What a session is given that belongs to no project and asks nothing yet."""
    context = desk.config.context
    if not context.enabled:
        return 0
    gathered = bootstrap.private(desk.workspace, desk.config, desk.clock, bootstrap.Place())
    return bootstrap.packed(gathered, context.budget, "main").tokens


def _state(desk: Desk) -> int:
    try:
        return _estimate(working.path_of(desk.workspace))
    except NacreError:
        return 0  # a link that leads elsewhere


def _estimate(path: Path) -> int:
    """The tokens of a file; none where it cannot be read, which doctor says."""
    try:
        data = atomic.read_bytes(path)
        data = unpack(data, path.name) if data and path.suffix == PACKED else data
    except NacreError:
        return 0
    return tokens_estimate(data.decode("utf-8", "replace")) if data else 0


def over(desk: Desk) -> list[Finding]:
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


def walked(desk: Desk) -> list[Found]:
    """Every file of memory, found by one walk."""
    return list(memory_files(desk.workspace, desk.config))
