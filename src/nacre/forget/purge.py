"""After forgetting: cleans history, backups, the ledger and the index, then searches every file that Nacre wrote."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import eq
from pathlib import Path
from typing import Any

from nacre import disk
from nacre.brain.journal import forget_orders
from nacre.capture.checkpoint import part_of_name
from nacre.errors import NacreError
from nacre.forget.target import Fact, ForgetContext, MemoryLine, is_telling, lines_of, unmarked, without_lines
from nacre.i18n import say
from nacre.index.store import SESSIONS_FILE
from nacre.model import Workspace
from nacre.vault import ledger, provenance, spool
from nacre.vault.cache import cache_folder
from nacre.vault.entries import bare_words, normal_words
from nacre.vault.history import Operation, operation, read_history
from nacre.vault.ledger import Tombstones, load_tombstones
from nacre.vault.storage import (
    dump_row,
    list_backups,
    memory_files,
    operations_file,
    parse_row,
    read,
    read_memory,
    storage_of,
)
from nacre.vault.writing import rewrite


@dataclass(frozen=True)
class SourceSession:
    """A session whose transcript, which belongs to its agent, still holds what was forgotten."""

    agent: str
    session: str
    day: str


@dataclass(frozen=True)
class Remaining:
    """A place that still holds the words, and what to do about it."""

    path: str
    line: int | None
    reason: str


@dataclass(frozen=True)
class PurgePlan:
    """What is left of something forgotten: contents in history, lines of backups, sessions."""

    id: str  # by which it can be purged again
    ids: frozenset[str]
    words: tuple[str, ...]  # none when they stand nowhere that they could be recognised in
    blobs: tuple[str, ...]
    undoes: tuple[int, ...]  # operations that can no longer be undone
    backups: tuple[tuple[Path, tuple[MemoryLine, ...]], ...]
    sessions: tuple[SourceSession, ...]


@dataclass(frozen=True)
class PurgeReport:
    left: tuple[Remaining, ...] = ()
    rebuilt: bool = False  # the index was made anew, and its vectors are to be


def plan_purge(context: ForgetContext, facts: Sequence[Fact], ids: frozenset[str], words: Collection[str]) -> PurgePlan:
    """What purging would clean. Unknown words are recognised by their tombstones where they still stand."""
    workspace = context.workspace
    stones = load_tombstones(workspace).only(ids)
    history = list(_history_contents(workspace))
    backups = {path: read_memory(workspace, path) for path in list_backups(workspace)}
    said = set(words).union(
        *(_recognised(data, stones, ids) for data in (*(data for _, data in history), *backups.values()))
    )
    sought = Words(_with_names(said))
    held = dict.fromkeys(name for name, data in history if sought.matches(data))
    undoes = tuple(
        done.id
        for done in read_history(workspace).operations
        if any({change.before, change.after, change.bytes} & held.keys() for change in done.changes)
    )
    forms = set(map(normal_words, said))
    cleaned: list[tuple[Path, tuple[MemoryLine, ...]]] = []
    for path, data in backups.items():
        if lines := tuple(
            line
            for line in lines_of(workspace.relative(path), path, "longterm", data)
            if (line.is_telling and line.normal in forms) or any(fact.reason(line) for fact in facts)
        ):
            cleaned.append((path, lines))
    sessions: dict[tuple[str, str], SourceSession] = {}
    for captured in provenance.Trail(workspace).captured({mark for fact in facts for mark in fact.marks}):
        session = SourceSession(captured.agent, captured.transcript or captured.session, captured.day)
        sessions.setdefault((captured.day, captured.session), session)
    states = ledger.LedgerStates(workspace)
    for source in (state.source for entry in ids if (state := states.get(entry))):
        if name := source.get("session"):
            day = source.get("day", "")
            sessions.setdefault((day, name), SourceSession("", name, day))
    return PurgePlan(
        facts[0].id, ids, tuple(sorted(said)), tuple(held), undoes, tuple(cleaned), tuple(sessions.values())
    )


def _history_contents(workspace: Workspace) -> Iterator[tuple[str, bytes]]:
    """Every content in history with its hash; packed ones also unpacked."""
    for path in files_below(workspace.history / "blobs"):
        name = path.parent.name + path.name
        with contextlib.suppress(NacreError):
            yield from ((name, data) for data in contents(storage_of(workspace).content(name)))


def _recognised(data: bytes, stones: Tombstones, ids: frozenset[str]) -> set[str]:
    """The forgotten words in an earlier content: recognised by tombstones, in ledger rows by the id."""
    matches: set[str] = set()
    texts: list[str] = []
    for line in data.decode("utf-8", "replace").splitlines():
        if line.startswith("{"):
            row = parse_row(line) or {}
            if row.get("id") in ids:
                matches |= {value for name in ("text", "without_it") if isinstance(value := row.get(name), str)}
        elif line.strip():
            texts.append(line)
    if stones and texts:
        texts += [line.whole for line in lines_of("", Path(), "note", data) if line.whole != line.words]
        matches.update(filter(stones.known, texts))
    return {words for text in matches if (words := bare_words(text))}


def _with_names(words: Iterable[str]) -> list[str]:
    """The words, and their form in the name of a checkpoint if that is distinctive."""
    every = list(words)
    return every + [slug for phrase in every if is_telling(slug := part_of_name(phrase))]


def redact_ledger(op: Operation, ids: Collection[str], words: Words | None = None) -> None:
    """Remove the words from the records of these ids, and `words` from all others."""
    path = op.workspace.ledger
    data = read(op.workspace, path) or b""
    lines = data.split(b"\n")
    named = [entry.encode() for entry in ids]
    for at, line in enumerate(lines):
        if words is None and not any(entry in line for entry in named):
            continue
        row = parse_row(line) or {}
        if row.get("id") in ids:
            redacted = {name: value for name, value in row.items() if name != "without_it"} | {"text": None}
        else:
            redacted = {name: _without_words(value, words) for name, value in row.items()} if words else row
        if redacted != row:
            lines[at] = dump_row(redacted).rstrip("\n").encode() + (b"\r" if line.endswith(b"\r") else b"")
    if (after := b"\n".join(lines)) != data:
        rewrite(op, path, after, read=disk.digest(data))


def _without_words(value: Any, words: Words) -> Any:
    if isinstance(value, str):
        return None if words.matches(value.encode("utf-8", "replace")) else value
    if isinstance(value, dict):
        return {name: _without_words(inner, words) for name, inner in value.items()}
    return [_without_words(inner, words) for inner in value] if isinstance(value, list) else value


def apply_purge(context: ForgetContext, plan: PurgePlan) -> PurgeReport:
    """Clean everything, then search every file for the words. This cannot be undone."""
    workspace, config = context.workspace, context.config
    words = Words(_with_names(plan.words))
    with storage_of(workspace).hold():
        with operation(context, "forget") as op:
            for path, lines in plan.backups:
                data = read_memory(workspace, path)
                now = {(line.start, line.end, line.text) for line in lines_of("", path, "longterm", data)}
                if left := [line for line in lines if (line.start, line.end, line.text) in now]:
                    rewrite(op, path, without_lines(data, left), read=disk.digest(data))
            redact_ledger(op, plan.ids, Words(plan.words))
        # Every earlier content that holds the words goes, those of this very operation too.
        for name in {name for name, data in _history_contents(workspace) if words.matches(data)}:
            disk.remove(workspace.history / "blobs" / name[:2] / name[2:])
        spool.forget_delivered(workspace)
        forget_orders(workspace)
        drop_derived(workspace, vectors=True)
        for root in (workspace.root, workspace.tiers(config.tiers.path)):
            for place, _, _ in os.walk(root):
                disk.clean_stale(Path(place))
    layers, store = config.tiers.path, context.keeper().store
    roots = (workspace.root, workspace.tiers(layers), workspace.refcount(layers), cache_folder(config.cache.path))
    library = {Path(file.full) for file in memory_files(workspace, config) if file.layer == "extra"}
    traces = [trace for trace in scan((*roots, *sorted(library)), words) if trace.path.parent != store.path.parent]
    still = {trace.words for trace in traces}  # what a file holds, its index may hold
    gone = Words(phrase for phrase in _with_names(plan.words) if phrase not in still)
    rebuilt = _clean_index(context, gone)
    traces += [trace for path in files_below(store.path.parent) for trace in traces_in(path, gone)]
    remaining = (
        Remaining(workspace.relative(trace.path), trace.line, _why_left(context, plan, trace, library))
        for trace in traces
    )
    return PurgeReport(tuple(dict.fromkeys(remaining)), rebuilt)


def drop_derived(workspace: Workspace, *, vectors: bool = False) -> None:
    """Delete what was derived from memory and is stored beside the index: problems, which quote it, and for a purge the vectors."""
    for pattern in ("*.json", "*.npz") if vectors else ("*.json",):
        for path in workspace.index.glob(pattern):
            disk.remove(path)


def _clean_index(context: ForgetContext, words: Words) -> bool:
    """Remove the words from the free pages of the index too, or rebuild it; returns whether it was rebuilt."""
    index = context.keeper()
    store = index.store
    for old in store.path.parent.glob("*.damaged-*"):
        disk.remove(old)
    with contextlib.suppress(sqlite3.Error, NacreError):
        store.safely(index.current)
        store.safely(store.scrub)
        store.db.execute("vacuum")
        store.db.execute("pragma wal_checkpoint(truncate)").fetchall()
        if not any(traces_in(path, words) for path in store.path.parent.glob(f"{store.path.name}*")):
            return False
    store.close()
    for path in store.path.parent.glob(f"{store.path.name}*"):
        path.unlink(missing_ok=True)
    store.safely(index.current)
    return True


def _why_left(context: ForgetContext, plan: PurgePlan, trace: Trace, library: Collection[Path]) -> str:
    """Why the words are still at a place, and what to do about it."""
    workspace, config = context.workspace, context.config
    if trace.inside == UNREADABLE:
        return say("cannot be read, so it could not be checked", "无法读取，因此未能检查")
    if trace.inside == NAME:
        return say("the file name contains it: rename the file", "文件名包含该内容：请重命名文件")
    if trace.path.name.startswith(SESSIONS_FILE):
        return say(
            "the session index, built from your agents' transcripts: delete the transcript, then run nacre update",
            "会话索引，由智能体的会话记录生成：请删除该记录，然后运行 nacre update",
        )
    if trace.path in (operations_file(workspace), workspace.refcount(config.tiers.path)):
        return say("a current or former file name, kept in history", "文件现在或以前的名称，保留在历史中")
    if cache_folder(config.cache.path) in trace.path.parents:
        return say("a session cache: run nacre cache clear", "会话缓存：请运行 nacre cache clear")
    if workspace.machine in trace.path.parents or trace.path.name.startswith("index.sqlite"):
        again = f"nacre forget {plan.id} --purge"
        return say(f"one of Nacre's files: run {again}", f"Nacre 自己的文件：请运行 {again}")
    ours = ("memory/", "memory_fs/", "projects/", "MEMORY.md", "USER.md", "SESSION-STATE.md", "promote_report.md")
    shown = workspace.relative(trace.path)
    if trace.path in library or (not shown.startswith(ours) and not Path(shown).is_absolute()):
        return say("one of your own files: edit it yourself", "你自己的文件：请自行编辑")
    return say(
        "the line says other things too: --similar removes it, or edit it yourself",
        "该行还有其他内容：可用 --similar 一并删除，或自行编辑",
    )


# Searching the bytes of files for words: plain, escaped in JSON, compressed by zlib or gzip, in databases.

LARGEST = 500_000_000  # bytes that are read or unpacked of one file
UNREADABLE, NAME = "unreadable", "name"
DISTINCTIVE = 16  # bytes; shorter words may stand anywhere, and count as a line of their own unless they say enough
RECOGNISED = 30  # bytes of the beginning of words, by which a copy that was cut short is recognised
_ELLIPSIS = re.compile(rb"\s*(?:\xe2\x80\xa6|\\u2026|\.\.\.)")
_SIGNS = re.compile(r"\A[\s>*+#-]*(?:\[[^\]]{1,12}\]\s*)?|[\s.,;:!?。，；：！？…\"”]+\Z")
_ZLIB = re.compile(rb"\x78[\x01\x5e\x9c\xda]")  # how a stream begins


@dataclass(frozen=True)
class Trace:
    """A place that still holds words. `inside` is NAME for the name of the file, UNREADABLE if it cannot be read."""

    path: Path
    words: str
    line: int | None = None
    inside: str = ""


class Words:
    """Searches for words, ignoring case, white space and Markdown between them."""

    def __init__(self, words: Iterable[str]) -> None:
        self._inside: dict[bytes, list[str]] = {}  # looked for within a line
        self._lines: dict[bytes, list[str]] = {}  # these say too little for that
        for phrase in dict.fromkeys(words):
            bare = _SIGNS.sub("", phrase)
            for text in (bare, _SIGNS.sub("", unmarked(bare))):
                for spelled in (text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]):
                    if form := _squeezed(spelled):
                        (self._inside if _says_enough(form) else self._lines).setdefault(form, []).append(phrase)

    def matches(self, data: bytes) -> list[str]:
        text = data.decode("utf-8", "replace")
        phrases: list[str] = []
        for squeezed in {_squeezed(text), _squeezed(unmarked(text))}:
            phrases += [phrase for form, same in self._inside.items() if _stands_in(squeezed, form) for phrase in same]
        for line in text.split("\n") if self._lines else ():
            bare = _SIGNS.sub("", line)
            for form in (_squeezed(bare), _squeezed(_SIGNS.sub("", unmarked(bare)))):
                phrases += self._lines.get(form, ())
        return list(dict.fromkeys(phrases))


def _squeezed(text: str) -> bytes:
    return " ".join(text.casefold().split()).encode("utf-8", "replace")


def _says_enough(form: bytes) -> bool:
    """Whether words are searched for within lines: long ones, several words, a number, some Chinese."""
    text = form.decode("utf-8", "replace")
    letters = [sign for sign in text if sign.isalnum()]
    wide = sum(sign > "\u2e7f" for sign in letters)
    is_phrase = wide >= 4 or sum(map(str.isdigit, letters)) >= 4 or (len(text.split()) >= 2 and len(letters) >= 6)
    return is_phrase or len(form) >= DISTINCTIVE


def _stands_in(data: bytes, form: bytes) -> bool:
    """Whether the words stand in the bytes: short ones not as a part of longer ones, long ones whole or cut short by an ellipsis."""
    if form in data:
        before = rb"(?<![0-9a-z])" if form[:1].isalnum() else b""
        after = rb"(?![0-9a-z])" if form[-1:].isalnum() else b""
        return len(form) >= DISTINCTIVE or re.search(before + re.escape(form) + after, data) is not None
    start = -1
    while len(form) >= DISTINCTIVE and (start := data.find(form[:RECOGNISED], start + 1)) >= 0:
        end = start + sum(takewhile(bool, map(eq, form, data[start : start + len(form)])))
        # What follows may share its first two bytes with the ellipsis.
        if any(_ELLIPSIS.match(data, at) for at in range(end - 2, end + 1)):
            return True
    return False


def scan(roots: Iterable[Path], words: Words) -> Iterator[Trace]:
    """Every place below the roots that holds the words, in content or name, once for each file and word; without links and .git."""
    for path in {os.path.realpath(path): path for root in roots for path in files_below(root)}.values():
        yield from (Trace(path, phrase, inside=NAME) for phrase in words.matches(path.name.encode("utf-8", "replace")))
        yield from traces_in(path, words)


def files_below(root: Path) -> Iterator[Path]:
    """Every regular file below a folder, or the file itself, in order."""
    if root.is_file() and not root.is_symlink():
        yield root
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != ".git")
        paths = (Path(place, name) for name in sorted(names))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def traces_in(path: Path, words: Words) -> list[Trace]:
    traces: dict[str, Trace] = {}
    try:
        if path.stat().st_size > LARGEST:
            return [Trace(path, "", inside=UNREADABLE)]
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError:
        return [Trace(path, "", inside=UNREADABLE)]
    for content in contents(data):
        for phrase in words.matches(content):
            sought = Words([phrase])
            lines = enumerate(() if b"\0" in data[:4096] else data.split(b"\n"), 1)  # of a database none is named
            number = next((number for number, line in lines if sought.matches(line)), None)
            traces.setdefault(phrase, Trace(path, phrase, number))
    return list(traces.values())


def contents(data: bytes) -> Iterator[bytes]:
    """The bytes of a file, and those packed in them."""
    yield data
    try:
        if data.startswith(b"\x1f\x8b"):
            yield gzip.decompress(data)
        elif _ZLIB.match(data):
            yield zlib.decompressobj().decompress(data, LARGEST)
    except (OSError, EOFError, zlib.error):
        return
