"""The lines that a text is worth, and the types of lines in daily logs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

from nacre.brain.local.extract import extract
from nacre.brain.local.judge import Judge
from nacre.clock import Clock
from nacre.disk import digest
from nacre.errors import BadInput
from nacre.guard.secrets import redact, redact_messages
from nacre.model import DAY_NAME, Bullet, Context, Entry, Message, Speaker, Workspace
from nacre.text.blocks import label_of, stamp_of
from nacre.vault.entries import Item, document
from nacre.vault.history import operation
from nacre.vault.storage import read, storage_of
from nacre.vault.writing import rewrite

_MARKER = re.compile(rb"\A(\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)")


def extract_text(text: str, clock: Clock, judge: Judge) -> list[Bullet]:
    if not text.strip():
        raise BadInput("There is nothing to read: the text is empty.", "没有可读取的内容：文本为空。")
    return extract(redact_messages([Message("text", clock.now(), Speaker.OWNER, text)]), judge, least=1)


def untyped(workspace: Workspace, judge: Judge) -> list[Entry]:
    """Every bullet of a daily log that lacks a type, with the type it would get."""
    items = [(path, item) for path, item in _log_items(workspace) if lacks_type(item)]
    kinds = [reading.best("type") for reading in judge.read([item.words for _, item in items])]
    return [Entry(item.words, path, item.start, kind) for (path, item), kind in zip(items, kinds, strict=True)]


def give_types(context: Context, entries: Sequence[Entry]) -> list[Entry]:
    """Write the types into the lines and return the entries that got one. Changed lines, and those with a secret, stay as they are."""
    workspace = context.workspace
    by_path: dict[str, dict[int, Entry]] = {}
    for entry in entries:
        by_path.setdefault(entry.path, {})[entry.line] = entry
    typed: list[Entry] = []
    with operation(context, "classify") as op:
        for shown, by_line in by_path.items():
            path = workspace.inside(shown)
            data = read(workspace, path) or b""
            lines = data.split(b"\n")
            for item in document(path, data).items:
                line = lines[item.start - 1]
                if (
                    (entry_here := by_line.get(item.start))
                    and entry_here.type
                    and item.words == entry_here.text
                    and not redact(line.decode("utf-8", errors="replace")).findings
                ):
                    lines[item.start - 1] = _MARKER.sub(rb"\g<1>[" + entry_here.type.encode() + b"] ", line, count=1)
                    typed.append(entry_here)
            rewrite(op, path, b"\n".join(lines), read=digest(data), log=True)
    return typed


def count_types(workspace: Workspace, judge: Judge) -> Counter[str]:
    """How many bullets of the daily logs have, or would get, each type; "-" counts bullets of sessions, which need none."""
    items = [item for _, item in _log_items(workspace) if item.words and item.depth == 0]
    readings = judge.read([item.words for item in items if lacks_type(item)])
    counts = Counter(reading.best("type") for reading in readings)
    return counts + Counter(label_of(f"- {item.text}") or "-" for item in items if not lacks_type(item))


def lacks_type(item: Item) -> bool:
    """Whether a bullet of a log should carry a type and does not; under the heading of a session it need not."""
    is_note = bool(item.words) and item.depth == 0 and not stamp_of(item.section).session
    return is_note and label_of(f"- {item.text}") is None


def _log_items(workspace: Workspace) -> Iterator[tuple[str, Item]]:
    """Every item of every daily log with its path; a log that is no UTF-8 is left to doctor."""
    for stored in sorted(storage_of(workspace).walk("memory", (".md",), depth=1)):
        path, dated = workspace.root / stored.name, DAY_NAME.fullmatch(stored.name.removeprefix("memory/"))
        if dated and not dated[2]:
            data = read(workspace, path) or b""
            with suppress(UnicodeDecodeError):
                data.decode("utf-8")
                yield from ((stored.name, item) for item in document(path, data).items)
