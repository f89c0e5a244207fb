"""Lines of notes that carry no type yet, and giving them theirs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from nacre.brain.local.judge import Judge
from nacre.clock import Clock
from nacre.config import Config
from nacre.guard.secrets import redact
from nacre.model.entry import Entry
from nacre.text.stamps import label_of, stamp_of
from nacre.vault import atomic
from nacre.vault.markdown import Document, Item, document
from nacre.vault.operation import operation
from nacre.vault.rewrite import rewrite
from nacre.vault.workspace import DAY_NAME, Workspace

_MARKER = re.compile(rb"\A(\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)")


def untyped(workspace: Workspace, judge: Judge) -> list[Entry]:
    """Every bullet of a daily log that has no type, with the one it would get.

    Under the heading of a session a line without a type is work that was asked for or done: it needs none.
    """
    found: list[tuple[str, Item]] = [
        (workspace.relative(doc.path), item) for doc in _logs(workspace) for item in doc.items if wants(item)
    ]
    kinds = [one.best("type") for one in judge.read([item.words for _, item in found])]
    return [Entry(item.words, path, item.start, kind) for (path, item), kind in zip(found, kinds, strict=True)]


def give_types(workspace: Workspace, clock: Clock, config: Config, entries: Sequence[Entry]) -> list[Entry]:
    """Put the types before the lines; one operation, undone as one. Those that got theirs.

    A line that was changed meanwhile stays as it is, and so does one that holds a secret: writing it anew would be writing it.
    """
    by_path: dict[str, dict[int, Entry]] = {}
    for entry in entries:
        by_path.setdefault(entry.path, {})[entry.line] = entry
    done: list[Entry] = []
    with operation(workspace, clock, "classify", config) as op:
        for shown, mine in by_path.items():
            path = workspace.inside(shown)
            data = atomic.read_bytes(path) or b""
            lines = data.split(b"\n")
            for item in document(path, data).items:
                wanted = mine.get(item.start)
                line = lines[item.start - 1]
                if wanted and wanted.type and item.words == wanted.text and not _holds_secret(line):
                    lines[item.start - 1] = _MARKER.sub(rb"\g<1>[" + wanted.type.encode() + b"] ", line, count=1)
                    done.append(wanted)
            rewrite(op, path, b"\n".join(lines), read=atomic.digest(data), log=True)
    return done


def counted(workspace: Workspace, judge: Judge) -> Counter[str]:
    """How many bullets of the daily logs are of each type: the one they carry, or would get; "-" is work, which needs none."""
    items = [item for doc in _logs(workspace) for item in doc.items if item.words and item.depth == 0]
    open_ones = [item for item in items if wants(item)]
    counts = Counter(one.best("type") for one in judge.read([item.words for item in open_ones]))
    return counts + Counter(_label(item) or "-" for item in items if not wants(item))


def _holds_secret(line: bytes) -> bool:
    return bool(redact(line.decode("utf-8", errors="replace")).findings)


def _logs(workspace: Workspace) -> Iterator[Document]:
    for path in sorted(workspace.memory.glob("????-??-??.md")):
        if DAY_NAME.fullmatch(path.name) and (data := _text(path)) is not None:
            yield document(path, data)


def _text(path: Path) -> bytes | None:
    data = atomic.read_bytes(path)
    try:
        (data or b"").decode("utf-8")
    except UnicodeDecodeError:
        return None  # doctor names it
    return data


def wants(item: Item) -> bool:
    """Whether a bullet of a log is one that should carry a type and does not."""
    return bool(item.words) and item.depth == 0 and not stamp_of(item.section).session and _label(item) is None


def _label(item: Item) -> str | None:
    return label_of(f"- {item.text}")  # as it stands there: a box to tick belongs to the mark, not to the words
