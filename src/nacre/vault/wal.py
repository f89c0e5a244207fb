"""Changes of working memory, on disk before the reply is given, and snapshots of it."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nacre.errors import BadInput, NotFound
from nacre.i18n import say
from nacre.model.context import Context
from nacre.model.report import Plan, Step
from nacre.model.workspace import Workspace
from nacre.vault import disk, working
from nacre.vault.history import Operation, operation
from nacre.vault.markdown import Document, document, replace_lines
from nacre.vault.working import (
    BLOCKERS,
    CONTEXT,
    DECISIONS,
    PENDING,
    TASK,
    State,
    StateEntry,
    as_text,
    same,
    section_entries,
)
from nacre.vault.writing import expect, guarded, remove_file, rewrite, write_recorded


class Edit(NamedTuple):
    """New bytes for a file that must still be what was read; `log` leaves it, `line` is what the change is about."""

    path: Path
    read: str | None
    data: bytes
    section: str
    line: str
    log: tuple[str, ...] = ()
    plan: Plan = Plan()

    @property
    def changed(self) -> bool:
        return bool(self.plan)


def change(context: Context, action: str, *words: str, dry_run: bool = False) -> Edit:
    """Plan a change and carry it out as one operation; `action` is one of the keys of `_ACTIONS`."""
    command, make = _ACTIONS[action]
    working.writable(context.workspace)
    if dry_run:
        return make(_Change(context), *words)
    with operation(context, f"wal {command}") as op:
        edit = make(_Change(context), *words)
        if edit.log:  # the log first: killed in between, nothing is lost, and the next run does not write it twice
            from nacre.vault import daily

            daily.append_notes(op.context, op.command, edit.log, by_agent=True)
        if edit.changed:
            rewrite(op, edit.path, edit.data, read=edit.read)
    return edit


class _Change:
    """Working memory as it stands, and the edits that are planned from it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.now = context.clock.now()
        self.settings = context.config.state
        self.state: State = working.read_state(context.workspace, context.clock)
        self.doc = self.state.document

    def dated(self) -> Document:
        return working.dated(self.state, self.now.date())

    def task(self, text: str) -> Edit:
        words = self._checked(text)
        line = as_text(words)
        if same(working.current_task(self.doc), words):
            return self._nothing(TASK, line)
        doc = working.with_task(working.with_section(self.dated(), TASK), line)
        return self._edit(doc, TASK, line, "set", say("new current task", "新的当前任务"))

    def drop(self) -> Edit:
        return self._end_task("drop", say("dropped", "已放弃"), "Dropped", "已放弃")

    def decide(self, text: str) -> Edit:
        """Write a decision down with its time. One that stands there already is not doubled: the later time holds."""
        words = self._checked(text)
        line = f"[{self.now:%H:%M}] {as_text(words, first=False)}"
        known = section_entries(self.doc, DECISIONS)
        if known and same(known[-1].words, words):
            written = next(item.text for item in self.doc.items if item.start == known[-1].start)
            return self._nothing(DECISIONS, written)
        doc = working.dated(self.state, self.now.date(), marked=True)
        doc = working.without(doc, [entry for entry in section_entries(doc, DECISIONS) if same(entry.words, words)])
        doc, gone = working.oldest(working.added(doc, DECISIONS, line), DECISIONS, self.settings.max_entries)
        log = []
        for entry in gone:
            is_old = entry.day not in ("", self.now.date().isoformat())
            log.append(_labelled(f"{entry.words} ({entry.day})" if is_old else entry.words, "[Decision] ", "[决策] "))
        return self._edit(doc, DECISIONS, line, "add", say("new decision", "新的决策"), log)

    def keep_value(self, key: str, value: str) -> Edit:
        name, words = self._checked(key), self._checked(value)
        if ":" in name or "：" in name:
            raise BadInput(
                f'A key must not hold a colon: "{name}". Write for example: nacre wal context deadline 2026-03-31',
                f"键中不能有冒号：“{name}”。例如：nacre wal context deadline 2026-03-31",
            )
        self._checked(f"{name}: {words}", most=2 * self.settings.max_chars + 2)
        line = as_text(f"{name}: {words}")

        def known(doc: Document) -> list[StateEntry]:
            return [entry for entry in section_entries(doc, CONTEXT) if same(entry.key, name)]

        before = known(self.doc)
        if [entry.words for entry in before] == [words]:
            return self._nothing(CONTEXT, line)
        doc = self.dated()
        if before:
            doc = working.without(doc, known(doc)[1:])
            (entry,) = known(doc)
            marker = next(item.marker for item in doc.items if item.start == entry.start)
            made = document(doc.path, replace_lines(doc, entry.start, entry.end, [marker + line]))
            if not working.hides_nothing(doc, made, CONTEXT):
                raise working.stuck(doc, CONTEXT)
            doc = made
        else:
            doc = working.added(doc, CONTEXT, line)
        doc, gone = working.oldest(doc, CONTEXT, self.settings.max_entries)
        log = [f"{entry.key}{say(': ', '：')}{entry.words}" if entry.key else entry.words for entry in gone]
        return self._edit(doc, CONTEXT, line, "set" if before else "add", say("key context", "关键上下文"), log)

    def pending(self, text: str) -> Edit:
        words = self._checked(text)
        line = f"[ ] {as_text(words, first=False)}"
        count = len(_open(self.doc, PENDING))
        full = BadInput(
            f'There are {count} things pending, and that is the most. Finish some first: "nacre wal done 1".',
            f"待办已有 {count} 项，达到上限。请先完成一些：“nacre wal done 1”。",
        )
        return self._add(PENDING, words, line, say("still to be done", "待办"), full)

    def blocker(self, text: str) -> Edit:
        words = self._checked(text)
        count = len(_open(self.doc, BLOCKERS))
        full = BadInput(
            f'There are {count} blockers, and that is the most. Clear some first: "nacre wal blocker --clear 1".',
            f"阻塞项已有 {count} 项，达到上限。请先解除一些：“nacre wal blocker --clear 1”。",
        )
        return self._add(BLOCKERS, words, as_text(words), say("stands in the way", "阻碍进展"), full)

    def done(self, which: str) -> Edit:
        entry = _find(self.doc, PENDING, which)
        if not entry and not which.strip().isdecimal():
            path = self.context.workspace.day(self.now.date())
            log = (disk.read_bytes(path) or b"").decode("utf-8", "replace").splitlines()
            words = self._checked(which)
            if f"- {_task_line(words, 'Done', '已完成')}" in log:
                return self._nothing(PENDING, words)
        return self._take_out(PENDING, entry, which, "finish", say("finished", "已完成"), "Done", "已完成")

    def finish(self) -> Edit:
        return self._end_task("finish", say("finished", "已完成"), "Done", "已完成")

    def clear(self, which: str) -> Edit:
        entry, reason = _find(self.doc, BLOCKERS, which), say("no longer in the way", "已解除")
        return self._take_out(BLOCKERS, entry, which, "clear", reason, "No longer blocked", "阻塞已解除")

    def _add(self, name: str, words: str, line: str, reason: str, full: BadInput) -> Edit:
        entries = _open(self.doc, name)
        if any(same(entry.words, words) for entry in entries):
            return self._nothing(name, line)
        if len(entries) >= self.settings.max_entries:
            raise full
        return self._edit(working.added(self.dated(), name, line), name, line, "add", reason)

    def _end_task(self, action: str, reason: str, english: str, chinese: str) -> Edit:
        words = working.current_task(self.doc)
        if not words:
            return self._nothing(TASK, "")
        doc = working.with_task(self.dated(), None)
        return self._edit(doc, TASK, words, action, reason, [_task_line(words, english, chinese)])

    def _take_out(
        self, name: str, entry: StateEntry | None, which: str, action: str, reason: str, english: str, chinese: str
    ) -> Edit:
        if entry is None:
            listed = enumerate(_open(self.doc, name), start=1)
            there = _redacted(say("; ", "；").join(f"{number} {known.words}" for number, known in listed))
            title = working.heading_for(self.doc, name)
            raise NotFound(
                f'"{which}" is not under “{title}”; there is: {there or "nothing"}.',
                f"“{title}”下没有“{which}”；现有：{there or '无'}。",
            )
        doc = self.dated()
        starts = [known.start for known, _ in working.nested_entries(self.doc, name)]
        again = working.nested_entries(doc, name)[starts.index(entry.start)][0]
        log = [_task_line(entry.words, english, chinese)]
        return self._edit(working.without(doc, [again]), name, entry.words, action, reason, log)

    def _checked(self, text: str, *, most: int | None = None) -> str:
        """The words on one line, without control characters; `SecretRefused`, or an error that says what is wrong with them."""
        from nacre.guard.sanitise import one_line

        words = one_line(guarded(text))
        if words != text:
            guarded(words)  # what stood on two lines stands together now
        most = most or self.settings.max_chars
        if not words:
            raise BadInput("There is nothing to write: the text is empty.", "没有可写入的内容：文本为空。")
        if len(words) > most:
            raise BadInput(
                f"The text has {len(words)} characters; a line of working memory may have {most}. Say it in fewer words.",
                f"文本有 {len(words)} 个字符；工作记忆的一行最多 {most} 个。请精简。",
            )
        return words

    def _nothing(self, name: str, line: str) -> Edit:
        return Edit(self.doc.path, self.state.read, self.doc.data, name, _redacted(line))

    def _edit(self, doc: Document, name: str, line: str, action: str, reason: str, log: Sequence[str] = ()) -> Edit:
        bullets, line = tuple(map(_redacted, log)), _redacted(line)
        steps = [Step(action, self.context.workspace.relative(self.context.workspace.state), reason, line)]
        today = f"memory/{self.now.date().isoformat()}.md"
        steps += [Step("log", today, say("leaves working memory", "移出工作记忆"), bullet) for bullet in bullets]
        return Edit(doc.path, self.state.read, doc.data, name, line, bullets, Plan(tuple(steps)))


_ACTIONS: dict[str, tuple[str, Callable[..., Edit]]] = {  # with the command that history names
    "task": ("task", _Change.task),
    "drop": ("task", _Change.drop),
    "decide": ("decide", _Change.decide),
    "context": ("context", _Change.keep_value),
    "pending": ("pending", _Change.pending),
    "done": ("done", _Change.done),
    "finish": ("done", _Change.finish),
    "blocker": ("blocker", _Change.blocker),
    "clear": ("blocker", _Change.clear),
}


def _open(doc: Document, name: str) -> list[StateEntry]:
    return [entry for entry in section_entries(doc, name) if not entry.done]


def _find(doc: Document, name: str, which: str) -> StateEntry | None:
    """The open entry of that number or with these words, also a nested one; refused where several have them."""
    words = " ".join(which.split())
    entries = _open(doc, name)
    exactly = next((entry for entry in entries if same(entry.words, words)), None)
    if exactly or not words:
        return exactly
    if words.isdecimal() and len(words) < 10:
        return entries[int(words) - 1] if 1 <= int(words) <= len(entries) else None
    nested = [(entry, own) for entry, own in working.nested_entries(doc, name) if not entry.done]
    matches = [entry for entry, own in nested if same(own, words)]
    matches = matches or [entry for entry, own in nested if words.casefold() in own.casefold()]
    if len(matches) > 1:
        there = _redacted(say("; ", "；").join(entry.words for entry in matches))
        raise BadInput(
            f'"{which}" could be any of {len(matches)}: {there}. Say more of it.',
            f"“{which}”可能是 {len(matches)} 项之一：{there}。请写得更完整。",
        )
    return matches[0] if matches else None


def _redacted(words: str) -> str:
    from nacre.guard.secrets import redact

    return redact(words).text


def _labelled(words: str, english: str, chinese: str) -> str:
    from nacre.text.tokens import language_of

    return (chinese if language_of(words) == "zh" else english) + words


def _task_line(words: str, english: str, chinese: str) -> str:
    """How today's log tells of a task or a blocker, in the language of its words."""
    return _labelled(words, f"[Task] {english}: ", f"[任务] {chinese}：")


# Snapshots of working memory: copies of SESSION-STATE.md beside the other backups, each named for its moment.

MOST_SNAPSHOTS = 20
_FILE = re.compile(r"SESSION-STATE\.md\.bak-(?P<moment>\d{4}-\d{2}-\d{2}-\d{6})(?:-(?P<name>[\w-]+))?")
_NAME = re.compile(r"[\w-]{1,60}")


@dataclass(frozen=True)
class Snapshot:
    """A copy by its file name: of which moment, and what the user called it."""

    path: Path
    moment: str
    name: str = ""

    @property
    def label(self) -> str:
        return f"{self.moment}-{self.name}" if self.name else self.moment


@dataclass(frozen=True)
class SnapshotPlan:
    """A snapshot taken or brought back: what is written where, what goes, and the steps to show."""

    snapshot: Snapshot
    target: Path
    read: str | None
    data: bytes
    removals: tuple[tuple[Path, str], ...] = ()
    plan: Plan = Plan()


def list_snapshots(workspace: Workspace) -> tuple[Snapshot, ...]:
    try:
        with os.scandir(workspace.archive) as files:
            names = [file.name for file in files if file.is_file(follow_symlinks=False)]
    except OSError:
        return ()
    matches = [match for name in names if (match := _FILE.fullmatch(name))]
    snapshots = [Snapshot(workspace.archive / match[0], match["moment"], match["name"] or "") for match in matches]
    return tuple(sorted(snapshots, key=lambda one: (one.moment, one.name), reverse=True))


def snapshot(context: Context, name: str | None = None, *, dry_run: bool = False) -> SnapshotPlan:
    """Keep a copy of working memory as it is now. A copy that would be the same as the last one of that name is not made again."""
    if name is not None and not _NAME.fullmatch(name):
        raise BadInput(
            f'"{name}" is no name for a snapshot; use letters, digits, "-" and "_", 60 at most.',
            f"“{name}”不能作为快照名；请使用文字、数字、“-”和“_”，最多 60 个字符。",
        )
    if dry_run:
        return _plan_snapshot(context, name or "")
    with operation(context, "wal snapshot") as op:
        return _apply_snapshot(op, _plan_snapshot(context, name or ""))


def restore(context: Context, name: str | None = None, *, dry_run: bool = False) -> SnapshotPlan:
    """Bring a copy back: the newest, or the newest of that name or moment. What stood there before is kept by history."""
    if dry_run:
        return _plan_restore(context.workspace, name)
    with operation(context, "wal restore") as op:
        return _apply_snapshot(op, _plan_restore(context.workspace, name))


def _plan_snapshot(context: Context, name: str) -> SnapshotPlan:
    workspace, now = context.workspace, context.clock.now()
    path = working.path_of(workspace)
    data = disk.read_bytes(path)
    if data is None:
        raise NotFound(
            f'There is no {path.name} yet; "nacre wal task TEXT" begins one.',
            f"还没有 {path.name}；“nacre wal task 文本”会新建。",
        )
    if len(data) > working.LARGEST:
        raise BadInput(
            f"{path.name} is too large for a snapshot. Shorten it.", f"{path.name} 过大，无法保存快照。请精简。"
        )
    known = list_snapshots(workspace)
    last = next((one for one in known if one.name == name), None)
    if last and disk.read_bytes(last.path) == data:
        return SnapshotPlan(last, last.path, disk.digest(data), data)
    while (moment := f"{now:%Y-%m-%d-%H%M%S}") in {one.moment for one in known}:
        now += dt.timedelta(seconds=1)  # so that the newest is always known
    file_name = f"SESSION-STATE.md.bak-{moment}" + (f"-{name}" if name else "")
    made = Snapshot(workspace.archive / file_name, moment, name)
    steps = [Step("keep", workspace.relative(made.path), say("a copy of working memory", "工作记忆的副本"))]
    removals: list[tuple[Path, str]] = []
    reason = say(f"only the last {MOST_SNAPSHOTS} snapshots are kept", f"只保留最近 {MOST_SNAPSHOTS} 个快照")
    for old in known[MOST_SNAPSHOTS - 1 :]:
        removals.append((old.path, disk.digest(disk.read_bytes(old.path) or b"")))
        steps.append(Step("remove", workspace.relative(old.path), reason))
    return SnapshotPlan(made, made.path, None, data, tuple(removals), Plan(tuple(steps)))


def _plan_restore(workspace: Workspace, name: str | None) -> SnapshotPlan:
    known = list_snapshots(workspace)
    if not known:
        raise NotFound(
            'There is no snapshot yet; "nacre wal snapshot" keeps one.', "还没有快照；“nacre wal snapshot”可保存一个。"
        )
    chosen = next((one for one in known if name is None or name in (one.name, one.moment, one.label)), None)
    if not chosen:
        there = say(", ", "、").join(one.label for one in known)
        raise NotFound(
            f'There is no snapshot "{name}"; there are: {there}.', f"没有名为“{name}”的快照；现有：{there}。"
        )
    data = disk.read_bytes(chosen.path)
    if data is None or len(data) > working.LARGEST:
        shown = workspace.relative(chosen.path)
        raise BadInput(
            f"{shown} cannot be brought back: it is gone or too large.", f"无法恢复 {shown}：文件不存在或过大。"
        )
    target = working.writable(workspace)
    now = disk.read_bytes(target)
    read = None if now is None else disk.digest(now)
    reason = say(f"as it was at {chosen.label}", f"恢复到 {chosen.label} 时的样子")
    steps = () if now == data else (Step("restore", workspace.relative(target), reason),)
    return SnapshotPlan(chosen, target, read, data, plan=Plan(steps))


def _apply_snapshot(op: Operation, made: SnapshotPlan) -> SnapshotPlan:
    if made.plan:
        op.place(made.target)
        write_recorded(op, made.target, expect(op.workspace, made.target, made.read), made.data)
        for path, read in made.removals:
            remove_file(op, path, read=read)
    return made
