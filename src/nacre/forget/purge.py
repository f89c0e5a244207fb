"""After forgetting: cleans history, backups, the ledger and the index, then searches every file that Nacre wrote."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.capture.checkpoint import NAME_LENGTH
from nacre.errors import NacreError
from nacre.forget import traces
from nacre.forget.apply import ForgetPlan, redact_ledger
from nacre.forget.related import Fact
from nacre.forget.target import ForgetContext, MemoryLine, is_telling, lines_of, read_memory, without_lines
from nacre.forget.traces import Trace, Words
from nacre.i18n import say
from nacre.index.sessions import SESSIONS_FILE as SESSIONS
from nacre.index.store import Store, scrub
from nacre.model.workspace import Workspace, slug_of
from nacre.text.tokens import tokens
from nacre.vault import disk, injected, ledger, provenance, tombstones
from nacre.vault import history as vault_history
from nacre.vault.cache import cache_folder
from nacre.vault.entries import bare_words, normal_words
from nacre.vault.files import memory_files
from nacre.vault.history import operation, operations_file, read_history
from nacre.vault.lock import lock
from nacre.vault.tombstones import Tombstones
from nacre.vault.writing import rewrite


@dataclass(frozen=True)
class SourceSession:
    """A talk whose transcript, which is the agent's, still holds what was forgotten."""

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
    """What is left of something forgotten: earlier contents in history, lines of backups, words in the ledger."""

    ids: frozenset[str]
    words: tuple[str, ...]  # none when they stand nowhere that they could be recognised in
    blobs: tuple[str, ...]
    undoes: tuple[int, ...]  # operations that can no longer be undone
    backups: tuple[tuple[Path, tuple[MemoryLine, ...]], ...]
    sessions: tuple[SourceSession, ...]


@dataclass(frozen=True)
class PurgeReport:
    plan: PurgePlan
    left: tuple[Remaining, ...] = ()
    rebuilt: bool = False  # the index was made anew, and its vectors are to be


def plan_purge(room: ForgetContext, forgotten: ForgetPlan) -> PurgePlan:
    """What purging would clean. Words that nobody remembers are known again by their tombstones where they still stand."""
    workspace = room.workspace
    ids = frozenset(forgotten.ids)
    stones = tombstones.load_tombstones(workspace).only(ids)
    said = {one.words for one in forgotten.wordings} | {one.line.whole for one in forgotten.going}
    said |= {fact.words for fact in forgotten.facts}
    kept = list(_history_contents(workspace))
    backups = _backups(workspace)
    for text in (*(data for _, data in kept), *(read_memory(path) for path in backups)):
        said |= _recognised(text, stones, ids)
    words = Words(_with_names(filter(None, said)))
    held = tuple(dict.fromkeys(name for name, data in kept if words.found(data))) if words else ()
    undoes = tuple(
        one.id
        for one in read_history(workspace).operations
        if any({change.before, change.after, change.bytes} & set(held) for change in one.changes)
    )
    cleaned = tuple((path, gone) for path in backups if (gone := _gone(workspace, path, forgotten.facts, said)))
    marks = {mark for fact in forgotten.facts for mark in fact.marks}
    return PurgePlan(ids, tuple(sorted(filter(None, said))), held, undoes, cleaned, _sessions(workspace, marks, ids))


def _history_contents(workspace: Workspace) -> Iterator[tuple[str, bytes]]:
    """Every content that history keeps, by its hash."""
    for path in traces.below(workspace.history / "blobs"):
        name = path.parent.name + path.name
        with contextlib.suppress(NacreError):
            for _, content in traces.contents(
                vault_history.load_blob(workspace.history, name)
            ):  # a compressed log is kept as one
                yield name, content


def _backups(workspace: Workspace) -> list[Path]:
    return sorted(path for path in workspace.archive.glob("*.bak-*") if path.is_file() and not path.is_symlink())


def _recognised(data: bytes, stones: Tombstones, ids: frozenset[str]) -> set[str]:
    """The words in an earlier content that were forgotten: by the keyed hash, and in the ledger by the id."""
    found: set[str] = set()
    texts: list[str] = []
    for line in data.decode("utf-8", "replace").splitlines():
        if line.startswith("{"):
            told = _object(line)
            if told.get("id") in ids:
                found |= {value for name in ("text", "without_it") if isinstance(value := told.get(name), str)}
        elif line.strip():
            texts.append(line)
    if stones and texts:
        texts += [line.whole for line in lines_of("", Path(), "note", data) if line.whole != line.words]
        found |= {text for text, met in zip(texts, stones.exactly(texts), strict=True) if met}
    return {words for one in found if (words := bare_words(one))}


def _object(line: str) -> dict[str, object]:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _gone(workspace: Workspace, path: Path, facts: Sequence[Fact], said: Iterable[str]) -> tuple[MemoryLine, ...]:
    """The lines of a backup that say what was forgotten."""
    forms = {normal_words(one) for one in said if one}
    found = lines_of(workspace.relative(path), path, "longterm", read_memory(path))
    return tuple(
        line for line in found if (line.is_telling and line.normal in forms) or any(fact.reason(line) for fact in facts)
    )


def _sessions(workspace: Workspace, marks: set[str], ids: Iterable[str]) -> tuple[SourceSession, ...]:
    """The talks that the lines were learned from, as the trail and the ledger know them."""
    found: dict[tuple[str, str], SourceSession] = {}
    for one in provenance.read_provenance(workspace).captured:
        if marks & one.bullets.keys():
            found.setdefault((one.day, one.session), SourceSession(one.agent, one.transcript or one.session, one.day))
    known = ledger.entry_states(ledger.read_ledger(workspace).records)
    for entry in ids:
        source = known[entry].source if entry in known else {}
        if session := source.get("session"):
            day = source.get("day", "")
            found.setdefault((day, session), SourceSession("", session, day))
    return tuple(found.values())


def apply_purge(room: ForgetContext, made: PurgePlan) -> PurgeReport:
    """Clean all of it, then search every file for the words. What is done here is not undone."""
    workspace = room.workspace
    words, wanted = Words(made.words), _with_names(made.words)
    with lock(workspace):
        with operation(workspace, room.clock, "forget", room.config) as op:
            for path, lines in made.backups:
                data = read_memory(path)
                if remaining := _still_there(path, lines, data):
                    rewrite(op, path, without_lines(data, remaining), read=disk.digest(data))
            redact_ledger(op, made.ids, words.hold)
        _empty_history(workspace, Words(wanted))
        injected.redact_injected(workspace, words.hold)
        for folder in _folders(room):
            disk.clean_stale(folder)
    standing = tuple(_in_files(room, Words(wanted))) if words else tuple(_by_hash(room, made.ids))
    indexed = {found.full for found in memory_files(workspace, room.config)}
    still = {one.words for one in standing if str(one.path) in indexed}
    gone = [one for one in wanted if one not in still]  # what a file holds, its index may hold
    rebuilt = _clean_index(room, Words(gone))
    named = {one.path for one in standing}
    tokens_of = (one for one in _in_full_text(room, made.words) if one.path not in named)
    found = (*standing, *_in_index(room, gone), *tokens_of)
    extra = _extra_files(room)
    places = (Remaining(workspace.relative(one.path), one.line, _why_left(room, one, extra)) for one in found)
    return PurgeReport(made, tuple(dict.fromkeys(places)), rebuilt)


def _still_there(path: Path, lines: Sequence[MemoryLine], data: bytes) -> list[MemoryLine]:
    now = {(line.start, line.end, line.text) for line in lines_of("", path, "longterm", data)}
    return [line for line in lines if (line.start, line.end, line.text) in now]


def _empty_history(workspace: Workspace, words: Words) -> None:
    """Delete every earlier content that holds the words, those of this very operation too."""
    for name in {name for name, data in _history_contents(workspace) if words.found(data)}:
        disk.remove(workspace.history / "blobs" / name[:2] / name[2:])


def _folders(room: ForgetContext) -> set[Path]:
    roots = (room.workspace.root, room.workspace.tiers(room.config.tiers.path))
    return {Path(place) for root in roots for place, _, _ in os.walk(root)}


def _clean_index(room: ForgetContext, words: Words) -> bool:
    """Take what is gone out of the free parts of the index too; where that is not enough, make it anew. Whether it was."""
    keeper = room.keeper()
    store = keeper.store
    if not store.on_disk:
        return False
    for old in store.path.parent.glob(f"{store.path.name}.damaged-*"):
        disk.remove(old)
    with contextlib.suppress(sqlite3.Error, NacreError):
        store.safely(lambda: scrub(store, keeper.current()))
        store.db.execute("vacuum")
        store.db.execute("pragma wal_checkpoint(truncate)").fetchall()
    if not any(traces.in_file(path, words) for path in _index_files(store)):
        return False
    store.close()
    for path in _index_files(store):
        path.unlink(missing_ok=True)
    store.safely(keeper.current)
    return True


def _with_names(words: Iterable[str]) -> list[str]:
    """The words, and what they become in the name of a checkpoint, as far as that tells anything."""
    every = list(words)
    return every + [slug for one in every if is_telling(slug := slug_of(one)[:NAME_LENGTH].strip("-"))]


def _index_files(store: Store) -> list[Path]:
    return [path for path in store.path.parent.glob(f"{store.path.name}*") if path.is_file()]


def _roots(room: ForgetContext) -> list[Path]:
    """Wherever Nacre writes: the workspace, the layers and their counts, the index, the session cache; and the user's library."""
    config, store = room.config, room.keeper().store
    own = [
        room.workspace.tiers(config.tiers.path),
        room.workspace.refcount(config.tiers.path),
        cache_folder(config.cache.path),
    ]
    index = [store.path.parent] if store.on_disk else []
    return [room.workspace.root, *own, *index, *map(Path, sorted(_extra_files(room)))]


def _extra_files(room: ForgetContext) -> set[str]:
    """The user's own files that are searched beside the workspace."""
    return {found.full for found in memory_files(room.workspace, room.config) if found.layer == "extra"}


def _in_files(room: ForgetContext, words: Words) -> Iterator[Trace]:
    """Every place that Nacre writes, or searches, and that still holds the words; but for the index."""
    index = room.keeper().store
    skip = _index_files(index) if index.on_disk else []
    return (one for one in traces.scan(_roots(room), words) if one.path not in skip)


def _in_index(room: ForgetContext, words: Sequence[str]) -> list[Trace]:
    """Where the index still holds the words."""
    store = room.keeper().store
    plain = Words(words)
    return [one for path in _index_files(store) for one in traces.in_file(path, plain)] if store.on_disk else []


def _in_full_text(room: ForgetContext, words: Sequence[str]) -> Iterator[Trace]:
    """Where the full text of an index still holds the tokens of the words one after the other: in the file that a passage is of,
    in a transcript, or in the index itself, when no file has them any more."""
    store = room.keeper().store
    for path in (store.path, store.path.parent / SESSIONS) if store.on_disk else ():
        if not path.is_file():
            continue
        try:
            for shown, one, line in _in_database(path, words):
                if shown and path.name != SESSIONS:
                    yield Trace(room.workspace.root / shown, one, line)
                else:
                    yield Trace(path, one, None)
        except sqlite3.Error:
            yield Trace(path, "", inside=traces.UNREADABLE)


def _in_database(path: Path, words: Sequence[str]) -> list[tuple[str | None, str, int | None]]:
    """The passages of an index whose tokens hold the words: their file, the words, their line."""
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        tables = db.execute("select name from sqlite_master where sql like 'create virtual%using fts5(%'").fetchall()
        return [
            (shown, one, line)
            for (name,) in tables
            for one in filter(is_telling, words)
            for shown, line in db.execute(  # the name is from the database's own list
                f"select f.path, c.first from {name} left join chunks c on c.id = {name}.rowid"  # noqa: S608
                f" left join files f on f.id = c.file where {name} match ?",
                (f'"{" ".join(tokens(one))}"',),
            )
        ]


def _by_hash(room: ForgetContext, ids: frozenset[str]) -> Iterator[Trace]:
    """Lines that are known by a tombstone alone."""
    stones = tombstones.load_tombstones(room.workspace).only(ids)
    for root in _roots(room) if stones else ():
        for path in traces.below(root):
            texts = (
                read_memory(path).decode("utf-8", "replace").split("\n") if path.stat().st_size < traces.PIECE else []
            )
            met = stones.exactly(texts)
            yield from (Trace(path, "", number) for number, same in enumerate(met, 1) if same)


def _why_left(room: ForgetContext, trace: Trace, extra: Container[str]) -> str:
    """Why words stand where they do, and who can take them out."""
    workspace, config = room.workspace, room.config
    shown = workspace.relative(trace.path)
    if trace.inside == traces.UNREADABLE:
        return cannot_be_read()
    if trace.inside == traces.NAME:
        return say("the name of the file says it: rename it", "文件名包含该内容：请重命名")
    if trace.path.name.startswith("sessions.sqlite"):
        return say(
            "the index of sessions, made from your agents' transcripts: delete the transcript, then run nacre update",
            "会话索引，由代理的对话记录生成：请删除该记录，然后运行 nacre update",
        )
    if str(trace.path) in extra:
        return own_file()
    if trace.path in (operations_file(workspace), workspace.refcount(config.tiers.path)):
        return say(
            "the name that a file has or had, which is kept with its history", "文件现在或曾经的名称，随其历史保留"
        )
    if cache_folder(config.cache.path) in trace.path.parents:
        return say("the cache of a session: nacre cache clear", "会话缓存：请运行 nacre cache clear")
    if workspace.machine in trace.path.parents or trace.path.name.startswith("index.sqlite"):
        return say("Nacre's own file: run the command again", "Nacre 自己的文件：请再次运行命令")
    if not _is_memory(shown):
        return own_file()
    return say(
        "a line that says more than that: --similar takes it, or edit it",
        "该行还包含其他内容：可用 --similar 一并删除，或自行编辑",
    )


def cannot_be_read() -> str:
    return say("cannot be read, so nothing is proven of it", "无法读取，因此无法证明")


def own_file() -> str:
    return say("your own file: edit it yourself", "您自己的文件：请自行编辑")


def _is_memory(shown: str) -> bool:
    """Whether a path, as users see it, is one of memory; of those outside the workspace only layers are looked at."""
    ours = ("memory/", "memory_fs/", "projects/", "MEMORY.md", "USER.md", "SESSION-STATE.md", "promote_report.md")
    return shown.startswith(ours) or Path(shown).is_absolute()
