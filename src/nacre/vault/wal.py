"""Changes of working memory, on disk before the reply is given, and snapshots of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from nacre import disk
from nacre.errors import BadInput, NotFound
from nacre.guard.values import pattern
from nacre.i18n import say
from nacre.model import Context, Plan, Step, Workspace
from nacre.vault import working
from nacre.vault.entries import Document, document, replace_lines
from nacre.vault.history import operation
from nacre.vault.storage import list_backups, read
from nacre.vault.working import BLOCKERS, CONTEXT, DECISIONS, PENDING, TASK, StateEntry, as_text, same, section_entries
from nacre.vault.writing import guarded, remove_file, rewrite, write_recorded

_COMMANDS = {"drop": "task", "finish": "done", "clear": "blocker"}  # the command of an action not named like it
_ENDINGS = {  # why something leaves working memory, and how today's log tells of it
    "drop": (("dropped", "已放弃"), ("Dropped", "已放弃")),
    "finish": (("finished", "已完成"), ("Done", "已完成")),
    "clear": (("unblocked", "已解除"), ("No longer blocked", "阻塞已解除")),
}


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
    working.writable(context.workspace)
    if dry_run:
        return _Change(context).plan(action, *words)
    with operation(context, f"wal {_COMMANDS.get(action, action)}") as op:
        edit = _Change(context).plan(action, *words)
        if edit.log:  # the log first: killed in between, nothing is lost, and the next run does not write it twice
            from nacre.vault import daily

            daily.append_notes(context, op.command, edit.log, by_agent=True)
        if edit.changed:
            rewrite(op, edit.path, edit.data, read=edit.read)
    return edit


class _Change:
    """Working memory as it stands, and the edits that are planned from it."""

    def __init__(self, context: Context) -> None:
        self.workspace = context.workspace
        self.now = context.clock.now()
        self.settings = context.config.state
        self.state = working.read_state(context.workspace, context.clock)
        self.doc = self.state.document
        self.dated = working.dated(self.state, self.now.date())  # each line of it stands where it stood

    def plan(self, action: str, *words: str) -> Edit:
        match action:
            case "decide":
                return self.decide(self.checked(*words))
            case "context":
                return self.keep_value(*map(self.checked, words))
            case "task":
                line = as_text(task := self.checked(*words))
                if same(working.current_task(self.doc), task):
                    return self.nothing(TASK, line)
                reason = say("new current task", "新的当前任务")
                return self.edit(working.with_task(self.dated, line), TASK, line, "set", reason)
            case "drop" | "finish":
                if not (task := working.current_task(self.doc)):
                    return self.nothing(TASK)
                return self.leave(working.with_task(self.dated, None), TASK, task, action)
            case "pending" | "blocker":
                return self.add(PENDING if action == "pending" else BLOCKERS, self.checked(*words))
            case _:
                return self.take_out(BLOCKERS if action == "clear" else PENDING, *words)

    def checked(self, text: str) -> str:
        """The words on one line, without control characters; `SecretRefused`, or an error that says what is wrong with them."""
        from nacre.guard.sanitise import one_line

        words = one_line(guarded(text))
        if words != text:
            guarded(words)  # what stood on two lines stands together now
        if not words:
            raise BadInput("There is nothing to write: the text is empty.", "没有可写入的内容：文本为空。")
        if len(words) > (most := self.settings.max_chars):
            raise BadInput(
                f"The text has {len(words)} characters; the limit for a line of working memory is {most}. Shorten it.",
                f"文本有 {len(words)} 个字符；工作记忆的一行最多 {most} 个。请精简。",
            )
        return words

    def decide(self, words: str) -> Edit:
        """Write a decision down with its time. One that stands there already is not doubled: the later time holds."""
        line = f"[{self.now:%H:%M}] {as_text(words, first=False)}"
        entries = section_entries(self.doc, DECISIONS)
        if entries and same(entries[-1].words, words):
            written = next(item.text for item in self.doc.items if item.start == entries[-1].start)
            return self.nothing(DECISIONS, written)
        today = self.now.date()
        doc = working.dated(self.state, today, marked=True)
        doc = working.without(doc, [entry for entry in section_entries(doc, DECISIONS) if same(entry.words, words)])
        doc = working.with_entry(doc, DECISIONS, line)
        doc, oldest = working.without_oldest(doc, DECISIONS, self.settings.max_entries)
        days = [f" ({entry.day})" if entry.day not in ("", today.isoformat()) else "" for entry in oldest]
        log = [_labelled(entry.words + day, "[Decision] ", "[决策] ") for entry, day in zip(oldest, days, strict=True)]
        return self.edit(doc, DECISIONS, line, "add", say("new decision", "新的决策"), log)

    def keep_value(self, key: str, value: str) -> Edit:
        if ":" in key or "：" in key:
            raise BadInput(
                f'A key must not contain a colon: "{key}". For example: nacre wal context deadline 2026-03-31',
                f"键中不能有冒号：“{key}”。例如：nacre wal context deadline 2026-03-31",
            )
        line = as_text(guarded(f"{key}: {value}"))
        before = [entry for entry in section_entries(self.doc, CONTEXT) if same(entry.key, key)]
        if [entry.words for entry in before] == [value]:
            return self.nothing(CONTEXT, line)
        doc = self.dated
        if before:
            entry, *others = before
            doc = working.without(doc, others)  # they stand below it
            marker = next(item.marker for item in doc.items if item.start == entry.start)
            edited = document(doc.path, replace_lines(doc, entry.start, entry.end, [marker + line]))
            if not working.hides_nothing(doc, edited, CONTEXT):
                raise working.stuck(doc, CONTEXT)
            doc = edited
        else:
            doc = working.with_entry(doc, CONTEXT, line)
        doc, oldest = working.without_oldest(doc, CONTEXT, self.settings.max_entries)
        log = [f"{entry.key}{say(': ', '：')}{entry.words}" if entry.key else entry.words for entry in oldest]
        return self.edit(doc, CONTEXT, line, "set" if before else "add", say("key context", "关键上下文"), log)

    def add(self, section: str, words: str) -> Edit:
        """Add something pending or a blocker, unless it is there; refused where there are too many."""
        is_pending = section == PENDING
        line = f"[ ] {as_text(words, first=False)}" if is_pending else as_text(words)
        entries = _open_entries(self.doc, section)
        if any(same(entry.words, words) for entry in entries):
            return self.nothing(section, line)
        if (count := len(entries)) >= self.settings.max_entries:
            things, things_chinese = ("pending items", "待办") if is_pending else ("blockers", "阻塞项")
            command = "nacre wal done 1" if is_pending else "nacre wal blocker --clear 1"
            raise BadInput(
                f'There are already {count} {things}, which is the limit. Remove some first: "{command}".',
                f"{things_chinese}已有 {count} 项，达到上限。请先移出一些：“{command}”。",
            )
        reason = say("still to do", "待办") if is_pending else say("blocker", "阻塞项")
        return self.edit(working.with_entry(self.dated, section, line), section, line, "add", reason)

    def take_out(self, section: str, which: str) -> Edit:
        """Take out something pending or a blocker, by its number or words."""
        action = "finish" if section == PENDING else "clear"
        entry = _find(self.doc, section, which)
        if entry is None and section == PENDING and not which.strip().isdecimal():
            log = (read(self.workspace, self.workspace.day(self.now.date())) or b"").decode("utf-8", "replace")
            words = self.checked(which)
            if f"- {_ending(words, action)}" in log.splitlines():
                return self.nothing(section, words)
        if entry is None:
            listed = enumerate(_open_entries(self.doc, section), start=1)
            listing = _redacted(say("; ", "；").join(f"{number} {entry.words}" for number, entry in listed))
            title = working.heading_for(self.doc, section)
            raise NotFound(
                f'There is no "{which}" under “{title}”; it contains: {listing or "nothing"}.',
                f"“{title}”下没有“{which}”；现有：{listing or '无'}。",
            )
        return self.leave(working.without(self.dated, [entry]), section, entry.words, action)

    def leave(self, doc: Document, section: str, words: str, action: str) -> Edit:
        return self.edit(doc, section, words, action, say(*_ENDINGS[action][0]), [_ending(words, action)])

    def nothing(self, section: str, line: str = "") -> Edit:
        return Edit(self.doc.path, self.state.read, self.doc.data, section, _redacted(line))

    def edit(self, doc: Document, section: str, line: str, action: str, reason: str, log: Sequence[str] = ()) -> Edit:
        bullets, line = tuple(map(_redacted, log)), _redacted(line)
        today, leaves = f"memory/{self.now.date().isoformat()}.md", say("removed from working memory", "移出工作记忆")
        steps = [Step(action, self.workspace.relative(self.workspace.state), reason, line)]
        steps += [Step("log", today, leaves, bullet) for bullet in bullets]
        return Edit(doc.path, self.state.read, doc.data, section, line, bullets, Plan(tuple(steps)))


def _open_entries(doc: Document, section: str) -> list[StateEntry]:
    return [entry for entry in section_entries(doc, section) if not entry.done]


def _find(doc: Document, section: str, which: str) -> StateEntry | None:
    """The open entry of that number or with these words, also a nested one; refused where several have them."""
    words = " ".join(which.split())
    entries = _open_entries(doc, section)
    exactly = next((entry for entry in entries if same(entry.words, words)), None)
    if exactly or not words:
        return exactly
    if words.isdecimal() and len(words) < 10:
        return entries[int(words) - 1] if 1 <= int(words) <= len(entries) else None
    nested = [(entry, text) for entry, text in working.nested_entries(doc, section) if not entry.done]
    matches = [entry for entry, text in nested if same(text, words)]
    matches = matches or [entry for entry, text in nested if words.casefold() in text.casefold()]
    if len(matches) > 1:
        listing = _redacted(say("; ", "；").join(entry.words for entry in matches))
        raise BadInput(
            f'"{which}" matches {len(matches)} items: {listing}. Be more specific.',
            f"“{which}”与 {len(matches)} 项匹配：{listing}。请写得更具体。",
        )
    return matches[0] if matches else None


def _redacted(words: str) -> str:
    from nacre.guard.secrets import redact

    return redact(words).text


def _labelled(words: str, english: str, chinese: str) -> str:
    """The words behind a label in their own language."""
    from nacre.text.tokens import language_of

    return (chinese if language_of(words) == "zh" else english) + words


def _ending(words: str, action: str) -> str:
    english, chinese = _ENDINGS[action][1]
    return _labelled(words, f"[Task] {english}: ", f"[任务] {chinese}：")


# Snapshots of working memory: copies of SESSION-STATE.md beside the other backups, each named for its moment.

MOST_SNAPSHOTS = 20
_FILE = r"SESSION-STATE\.md\.bak-(?P<moment>\d{4}-\d{2}-\d{2}-\d{6})(?:-(?P<name>[\w-]+))?"


class Snapshot(NamedTuple):
    """A copy by its file name: of which moment, and what the user called it."""

    path: Path
    moment: str
    name: str = ""

    @property
    def label(self) -> str:
        return f"{self.moment}-{self.name}" if self.name else self.moment


class SnapshotPlan(NamedTuple):
    """A snapshot taken or brought back, and the steps for that; none where everything is so already."""

    snapshot: Snapshot
    plan: Plan = Plan()


def list_snapshots(workspace: Workspace) -> tuple[Snapshot, ...]:
    """The snapshots, newest first."""
    matches = [match for path in list_backups(workspace) if (match := pattern(_FILE).fullmatch(path.name))]
    snapshots = [Snapshot(workspace.archive / match[0], match["moment"], match["name"] or "") for match in matches]
    return tuple(sorted(snapshots, key=lambda snapshot: (snapshot.moment, snapshot.name), reverse=True))


def snapshot(context: Context, name: str | None = None, *, dry_run: bool = False) -> SnapshotPlan:
    """Keep a copy of working memory as it is now. A copy that would be the same as the last one of that name is not made again."""
    if name is not None and not pattern(r"[\w-]{1,60}").fullmatch(name):
        raise BadInput(
            f'"{name}" is not a valid snapshot name; use letters, digits, "-" and "_", at most 60 characters.',
            f"“{name}”不能作为快照名；请使用文字、数字、“-”和“_”，最多 60 个字符。",
        )
    workspace, now, name = context.workspace, context.clock.now(), name or ""
    path = working.path_of(workspace)
    with nullcontext() if dry_run else operation(context, "wal snapshot") as op:
        data = read(workspace, path)
        if data is None:
            raise NotFound(
                f'There is no {path.name} yet; "nacre wal task TEXT" creates it.',
                f"还没有 {path.name}；“nacre wal task 文本”会新建。",
            )
        if len(data) > working.LARGEST:
            raise BadInput(
                f"{path.name} is too large for a snapshot. Shorten it.", f"{path.name} 过大，无法保存快照。请精简。"
            )
        before = list_snapshots(workspace)
        last = next((snapshot for snapshot in before if snapshot.name == name), None)
        if last and read(workspace, last.path) == data:
            return SnapshotPlan(last)
        while (moment := f"{now:%Y-%m-%d-%H%M%S}") in {snapshot.moment for snapshot in before}:
            now += dt.timedelta(seconds=1)  # so that the newest is always known
        file_name = f"SESSION-STATE.md.bak-{moment}" + (f"-{name}" if name else "")
        taken, oldest = Snapshot(workspace.archive / file_name, moment, name), before[MOST_SNAPSHOTS - 1 :]
        if op:
            op.place(taken.path)
            write_recorded(op, taken.path, None, data)
            for old in oldest:
                remove_file(op, old.path, read=disk.digest(read(workspace, old.path) or b""))
    reason = say(f"only the last {MOST_SNAPSHOTS} snapshots are kept", f"只保留最近 {MOST_SNAPSHOTS} 个快照")
    keep = Step("keep", workspace.relative(taken.path), say("a copy of working memory", "工作记忆的副本"))
    return SnapshotPlan(taken, Plan((keep, *(Step("remove", workspace.relative(old.path), reason) for old in oldest))))


def restore(context: Context, name: str | None = None, *, dry_run: bool = False) -> SnapshotPlan:
    """Bring a copy back: the newest, or the newest of that name or moment. What stood there before is kept by history."""
    workspace = context.workspace
    with nullcontext() if dry_run else operation(context, "wal restore") as op:
        snapshots = list_snapshots(workspace)
        if not snapshots:
            raise NotFound(
                'There are no snapshots yet; "nacre wal snapshot" saves one.',
                "还没有快照；“nacre wal snapshot”可保存一个。",
            )
        chosen = next((copy for copy in snapshots if name in (None, copy.name, copy.moment, copy.label)), None)
        data = read(workspace, chosen.path) if chosen else None
        if chosen is None or data is None:
            listing = say(", ", "、").join(snapshot.label for snapshot in snapshots)
            raise NotFound(
                f'There is no snapshot "{name}"; available: {listing}.', f"没有名为“{name}”的快照；可用：{listing}。"
            )
        target = working.writable(workspace)
        before = read(workspace, target)
        if before == data:
            return SnapshotPlan(chosen)
        if op:
            op.place(target)
            write_recorded(op, target, before, data)
    reason = say(f"restored to its state at {chosen.label}", f"恢复到 {chosen.label} 的状态")
    return SnapshotPlan(chosen, Plan((Step("restore", workspace.relative(target), reason),)))
