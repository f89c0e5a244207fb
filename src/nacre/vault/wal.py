"""Changes of working memory, on disk before the reply is given, and snapshots of it."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nacre.clock import Clock
from nacre.config.settings import Config, StateSettings
from nacre.errors import BadInput, NotFound
from nacre.i18n import say
from nacre.model.report import Plan, Step
from nacre.model.workspace import Workspace
from nacre.vault import disk, working
from nacre.vault import working as vault_working
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


class StateInput(NamedTuple):
    """What a change is planned from."""

    shown: str
    state: State
    now: dt.datetime
    settings: StateSettings

    @property
    def document(self) -> Document:
        return self.state.document


class Edit(NamedTuple):
    """New bytes for a file that must still be what was read. What leaves it goes to today's log first.

    `line` is what the change is about, as it stands in the file or stood there, but for secrets.
    """

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


Planner = Callable[[StateInput], Edit]


def change(
    workspace: Workspace, clock: Clock, config: Config, verb: str, make: Planner, *, dry_run: bool = False
) -> Edit:
    """Plan a change and carry it out: one operation, undone as one."""
    working.writable(workspace)
    if dry_run:
        return make(_state_input(workspace, clock, config))
    with operation(workspace, clock, f"wal {verb}", config) as op:
        edit = make(_state_input(workspace, clock, config))
        apply_edit(op, edit)
    return edit


def apply_edit(op: Operation, edit: Edit) -> None:
    """The log first: killed in between, nothing is lost, and the next run does not write it twice."""
    if not edit.changed:
        return
    if edit.log:
        from nacre.vault import daily

        daily.append_notes(op.workspace, op.clock, op.command, edit.log, by_agent=True, config=op.config)
    rewrite(op, edit.path, edit.data, read=edit.read)


def _state_input(workspace: Workspace, clock: Clock, config: Config) -> StateInput:
    state = working.read_state(workspace, clock)
    return StateInput(workspace.relative(workspace.state), state, clock.now(), config.state)


def task(desk: StateInput, text: str) -> Edit:
    """Say what is being done now, instead of what stood there."""
    words = _said(desk, text)
    line = as_text(words)
    if same(working.current_task(desk.document), words):
        return _nothing(desk, TASK, line)
    doc = vault_working.with_section(vault_working.dated(desk.state, desk.now.date()), TASK)
    reason = say("new current task", "新的当前任务")
    return _edit(desk, vault_working.with_task(doc, line), TASK, line, "set", reason)


def decide(desk: StateInput, text: str) -> Edit:
    """Write a decision down with its time. One that stands there already is not doubled: the later time holds."""
    words = _said(desk, text)
    line = f"[{desk.now:%H:%M}] {as_text(words, first=False)}"
    known = section_entries(desk.document, DECISIONS)
    if known and same(known[-1].words, words):
        return _nothing(desk, DECISIONS, _text_of(desk.document, known[-1]))
    doc = vault_working.dated(desk.state, desk.now.date(), marked=True)
    doc = vault_working.without(doc, [one for one in section_entries(doc, DECISIONS) if same(one.words, words)])
    doc = vault_working.added(doc, DECISIONS, line)
    doc, gone = vault_working.oldest(doc, DECISIONS, desk.settings.max_entries)
    log = [_labelled(_with_day(one, desk), "Decision", "决策") for one in gone]
    return _edit(desk, doc, DECISIONS, line, "add", say("new decision", "新的决策"), log)


def context(desk: StateInput, key: str, value: str) -> Edit:
    """Keep a value by its key; the value that it had gives way."""
    name, words = _said(desk, key), _said(desk, value)
    if ":" in name or "：" in name:
        raise BadInput(
            say(
                f'A key must not hold a colon: "{name}". Write for example: nacre wal context deadline 2026-03-31',
                f"键中不能有冒号：“{name}”。例如：nacre wal context deadline 2026-03-31",
            )
        )
    _said(desk, f"{name}: {words}", most=2 * desk.settings.max_chars + 2)
    line = as_text(f"{name}: {words}")
    known = [one for one in section_entries(desk.document, CONTEXT) if same(one.key, name)]
    if [one.words for one in known] == [words]:
        return _nothing(desk, CONTEXT, line)
    doc = vault_working.dated(desk.state, desk.now.date())
    if known:
        again = [one for one in section_entries(doc, CONTEXT) if same(one.key, name)]
        doc = vault_working.without(doc, again[1:])
        first = next(one for one in section_entries(doc, CONTEXT) if same(one.key, name))
        marker = next(item.marker for item in doc.items if item.start == first.start)
        made = document(doc.path, replace_lines(doc, first.start, first.end, [marker + line]))
        if not vault_working.hides_nothing(doc, made, but=CONTEXT):
            raise working.stuck(doc, working.heading_for(doc, CONTEXT))
        doc = made
    else:
        doc = vault_working.added(doc, CONTEXT, line)
    doc, gone = vault_working.oldest(doc, CONTEXT, desk.settings.max_entries)
    log = [f"{one.key}{say(': ', '：')}{one.words}" if one.key else one.words for one in gone]
    return _edit(desk, doc, CONTEXT, line, "set" if known else "add", say("key context", "关键上下文"), log)


def pending(desk: StateInput, text: str) -> Edit:
    """Write down what is still to be done."""
    words = _said(desk, text)
    line = f"[ ] {as_text(words, first=False)}"
    still = _open(desk.document, PENDING)
    if any(same(one.words, words) for one in still):
        return _nothing(desk, PENDING, line)
    if len(still) >= desk.settings.max_entries:
        raise BadInput(
            say(
                f'There are {len(still)} things pending, and that is the most. Finish some first: "nacre wal done 1".',
                f"待办已有 {len(still)} 项，达到上限。请先完成一些：“nacre wal done 1”。",
            )
        )
    doc = vault_working.added(vault_working.dated(desk.state, desk.now.date()), PENDING, line)
    return _edit(desk, doc, PENDING, line, "add", say("still to be done", "待办"))


def blocker(desk: StateInput, text: str) -> Edit:
    """Write down what stands in the way."""
    words = _said(desk, text)
    line = as_text(words)
    known = section_entries(desk.document, BLOCKERS)
    if any(same(one.words, words) for one in known):
        return _nothing(desk, BLOCKERS, line)
    if len(known) >= desk.settings.max_entries:
        raise BadInput(
            say(
                f'There are {len(known)} blockers, and that is the most. Clear some first: "nacre wal blocker --clear 1".',
                f"阻塞项已有 {len(known)} 项，达到上限。请先解除一些：“nacre wal blocker --clear 1”。",
            )
        )
    return _edit(
        desk,
        vault_working.added(vault_working.dated(desk.state, desk.now.date()), BLOCKERS, line),
        BLOCKERS,
        line,
        "add",
        say("stands in the way", "阻碍进展"),
    )


def done(desk: StateInput, which: str | None = None, *, log: str = "") -> Edit:
    """Finish something pending, by its number or its words; without either, the current task. `log` is today's log so far."""
    if which is None:
        words = working.current_task(desk.document)
        if not words:
            return _nothing(desk, TASK, "")
        doc = vault_working.with_task(vault_working.dated(desk.state, desk.now.date()), None)
        return _edit(desk, doc, TASK, words, "finish", say("finished", "已完成"), [_finished(words)])
    found = _meant(desk.document, PENDING, which)
    if not found and not which.strip().isdecimal() and f"- {_finished(_said(desk, which))}" in log.splitlines():
        return _nothing(desk, PENDING, _said(desk, which))
    return _taken_out(desk, PENDING, found, which, "finish", _finished)


def drop(desk: StateInput) -> Edit:
    """Let the current task go unfinished; today's log says so."""
    words = working.current_task(desk.document)
    if not words:
        return _nothing(desk, TASK, "")
    doc = vault_working.with_task(vault_working.dated(desk.state, desk.now.date()), None)
    return _edit(desk, doc, TASK, words, "drop", say("dropped", "已放弃"), [_dropped(words)])


def clear(desk: StateInput, which: str) -> Edit:
    """Take out a blocker that no longer stands in the way, by its number or its words."""
    return _taken_out(desk, BLOCKERS, _meant(desk.document, BLOCKERS, which), which, "clear", _cleared)


def _taken_out(
    desk: StateInput, name: str, found: StateEntry | None, which: str, action: str, told: Callable[[str], str]
) -> Edit:
    if found is None:
        listed = _open(desk.document, name)
        there = _shown(say("; ", "；").join(f"{number} {one.words}" for number, one in enumerate(listed, start=1)))
        title = working.heading_for(desk.document, name)
        raise NotFound(
            say(
                f'"{which}" is not under “{title}”; there is: {there or "nothing"}.',
                f"“{title}”下没有“{which}”；现有：{there or '无'}。",
            )
        )
    doc = vault_working.dated(desk.state, desk.now.date())
    at = next(at for at, (one, _) in enumerate(working.nested_entries(desk.document, name)) if one.start == found.start)
    again = working.nested_entries(doc, name)[at].line
    reason = say("finished", "已完成") if action == "finish" else say("no longer in the way", "已解除")
    return _edit(desk, vault_working.without(doc, [again]), name, found.words, action, reason, [told(found.words)])


def _meant(doc: Document, name: str, which: str) -> StateEntry | None:
    """The entry of that number, or with these words: all of them, or some that no other has. By its words one that is nested in
    another is found too, and the words of such a one are not those of the other."""
    wanted = " ".join(which.split())
    known = _open(doc, name)
    exactly = [one for one in known if same(one.words, wanted)]
    if exactly or not wanted:
        return exactly[0] if exactly else None
    if wanted.isdecimal() and len(wanted) < 10:
        return known[int(wanted) - 1] if 1 <= int(wanted) <= len(known) else None
    listed = [one for one in working.nested_entries(doc, name) if not one.line.done]
    alike = [one.line for one in listed if same(one.own.words, wanted)]
    holding = alike or [one.line for one in listed if wanted.casefold() in one.own.words.casefold()]
    if len(holding) > 1:
        there = _shown(say("; ", "；").join(one.words for one in holding))
        raise BadInput(
            say(
                f'"{which}" could be any of {len(holding)}: {there}. Say more of it.',
                f"“{which}”可能是 {len(holding)} 项之一：{there}。请写得更完整。",
            )
        )
    return holding[0] if holding else None


def _open(doc: Document, name: str) -> list[StateEntry]:
    return [one for one in section_entries(doc, name) if not one.done]


def _said(desk: StateInput, text: str, *, most: int | None = None) -> str:
    """The words on one line, without control characters; `SecretRefused`, or an error that says what is wrong with them."""
    from nacre.guard.sanitise import one_line

    words = one_line(guarded(text))
    if words != text:
        guarded(words)  # what stood on two lines stands together now
    most = most or desk.settings.max_chars
    if not words:
        raise BadInput(say("There is nothing to write: the text is empty.", "没有可写入的内容：文本为空。"))
    if len(words) > most:
        raise BadInput(
            say(
                f"The text has {len(words)} characters; a line of working memory may have {most}. Say it in fewer words.",
                f"文本有 {len(words)} 个字符；工作记忆的一行最多 {most} 个。请精简。",
            )
        )
    return words


def _shown(words: str) -> str:
    """Words of the file without the secrets that somebody wrote into it."""
    from nacre.guard.secrets import redact

    return redact(words).text


def _text_of(doc: Document, one: StateEntry) -> str:
    return next(item.text for item in doc.items if item.start == one.start)


def _with_day(one: StateEntry, desk: StateInput) -> str:
    day = one.day if one.day != desk.now.date().isoformat() else ""
    return f"{one.words} ({day})" if day else one.words


def _labelled(words: str, english: str, chinese: str) -> str:
    from nacre.text.tokens import language_of

    return f"[{chinese if language_of(words) == 'zh' else english}] {words}"


def _finished(words: str) -> str:
    from nacre.text.tokens import language_of

    return f"[任务] 已完成：{words}" if language_of(words) == "zh" else f"[Task] Done: {words}"


def _dropped(words: str) -> str:
    from nacre.text.tokens import language_of

    return f"[任务] 已放弃：{words}" if language_of(words) == "zh" else f"[Task] Dropped: {words}"


def _cleared(words: str) -> str:
    from nacre.text.tokens import language_of

    return f"[任务] 阻塞已解除：{words}" if language_of(words) == "zh" else f"[Task] No longer blocked: {words}"


def _nothing(desk: StateInput, name: str, line: str) -> Edit:
    return Edit(desk.document.path, desk.state.read, desk.document.data, name, _shown(line))


def _edit(
    desk: StateInput, doc: Document, name: str, line: str, action: str, reason: str, log: Sequence[str] = ()
) -> Edit:
    told, line = tuple(map(_shown, log)), _shown(line)
    steps = [Step(action, desk.shown, reason, line)]
    today = f"memory/{desk.now.date().isoformat()}.md"
    steps += [Step("log", today, say("leaves working memory", "移出工作记忆"), bullet) for bullet in told]
    return Edit(doc.path, desk.state.read, doc.data, name, line, told, Plan(tuple(steps)))


# Snapshots of working memory: copies of SESSION-STATE.md beside the other backups, each named for its moment.

MOST_SNAPSHOTS = 20
_NAME = re.compile(r"SESSION-STATE\.md\.bak-(?P<moment>\d{4}-\d{2}-\d{2}-\d{6})(?:-(?P<name>[\w-]+))?")
_GIVEN = re.compile(r"[\w-]{1,60}")


@dataclass(frozen=True)
class Snapshot:
    """A copy by its file name: of which moment, and what the user called it."""

    path: Path
    moment: str
    name: str = ""


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
    """Every snapshot, newest first."""
    try:
        with os.scandir(workspace.archive) as entries:
            names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    except OSError:
        return ()
    found = [(match, name) for name in names if (match := _NAME.fullmatch(name))]
    made = [Snapshot(workspace.archive / name, match["moment"], match["name"] or "") for match, name in found]
    return tuple(sorted(made, key=lambda one: (one.moment, one.name), reverse=True))


def plan_snapshot(workspace: Workspace, clock: Clock, name: str | None = None) -> SnapshotPlan:
    """What keeping a copy would do. A copy that would be the same as the last one of that name is not made again."""
    wanted = _checked_name(name)
    data = _current_state(workspace)
    known = list_snapshots(workspace)
    for one in known:
        if one.name == wanted:
            if disk.read_bytes(one.path) == data:
                return SnapshotPlan(one, one.path, disk.digest(data), data)
            break
    made = _new_snapshot(workspace, clock.now(), wanted, {one.moment for one in known})
    steps = [Step("keep", workspace.relative(made.path), say("a copy of working memory", "工作记忆的副本"))]
    removals: list[tuple[Path, str]] = []
    for old in known[MOST_SNAPSHOTS - 1 :]:
        if (there := disk.read_bytes(old.path)) is not None:
            removals.append((old.path, disk.digest(there)))
            reason = say(f"only the last {MOST_SNAPSHOTS} snapshots are kept", f"只保留最近 {MOST_SNAPSHOTS} 个快照")
            steps.append(Step("remove", workspace.relative(old.path), reason))
    return SnapshotPlan(made, made.path, None, data, tuple(removals), Plan(tuple(steps)))


def plan_restore(workspace: Workspace, name: str | None = None) -> SnapshotPlan:
    """What bringing a copy back would do: the newest, or the newest of that name or moment."""
    known = list_snapshots(workspace)
    if not known:
        raise NotFound(
            say(
                'There is no snapshot yet; "nacre wal snapshot" keeps one.',
                "还没有快照；“nacre wal snapshot”可保存一个。",
            )
        )
    chosen = next((one for one in known if name is None or name in (one.name, one.moment, _label(one))), None)
    if not chosen:
        there = say(", ", "、").join(_label(one) for one in known)
        raise NotFound(
            say(f'There is no snapshot "{name}"; there are: {there}.', f"没有名为“{name}”的快照；现有：{there}。")
        )
    data = disk.read_bytes(chosen.path)
    if data is None or len(data) > working.LARGEST:
        shown = workspace.relative(chosen.path)
        raise BadInput(
            say(f"{shown} cannot be brought back: it is gone or too large.", f"无法恢复 {shown}：文件不存在或过大。")
        )
    target = working.writable(workspace)
    now = disk.read_bytes(target)
    read = None if now is None else disk.digest(now)
    if now == data:
        return SnapshotPlan(chosen, target, read, data)
    reason = say(f"as it was at {_label(chosen)}", f"恢复到 {_label(chosen)} 时的样子")
    return SnapshotPlan(chosen, target, read, data, plan=Plan((Step("restore", workspace.relative(target), reason),)))


def apply_snapshot(op: Operation, made: SnapshotPlan) -> None:
    """Write the copy, byte for byte what the user has or had, then let the oldest go."""
    if not made.plan:
        return
    op.place(made.target)
    write_recorded(op, made.target, expect(op.workspace, made.target, made.read), made.data)
    for path, read in made.removals:
        remove_file(op, path, read=read)


def take_snapshot(workspace: Workspace, clock: Clock, config: Config, name: str | None = None) -> SnapshotPlan:
    """Keep a copy of working memory as it is now."""
    with operation(workspace, clock, "wal snapshot", config) as op:
        made = plan_snapshot(workspace, clock, name)
        apply_snapshot(op, made)
    return made


def restore_snapshot(workspace: Workspace, clock: Clock, config: Config, name: str | None = None) -> SnapshotPlan:
    """Bring a copy back. What stood there before is kept by history."""
    with operation(workspace, clock, "wal restore", config) as op:
        made = plan_restore(workspace, name)
        apply_snapshot(op, made)
    return made


def _checked_name(name: str | None) -> str:
    if name is None or _GIVEN.fullmatch(name):
        return name or ""
    raise BadInput(
        say(
            f'"{name}" is no name for a snapshot; use letters, digits, "-" and "_", 60 at most.',
            f"“{name}”不能作为快照名；请使用文字、数字、“-”和“_”，最多 60 个字符。",
        )
    )


def _current_state(workspace: Workspace) -> bytes:
    path = working.path_of(workspace)
    data = disk.read_bytes(path)
    if data is None:
        raise NotFound(
            say(
                f'There is no {path.name} yet; "nacre wal task TEXT" begins one.',
                f"还没有 {path.name}；“nacre wal task 文本”会新建。",
            )
        )
    if len(data) > working.LARGEST:
        raise BadInput(
            say(f"{path.name} is too large for a snapshot. Shorten it.", f"{path.name} 过大，无法保存快照。请精简。")
        )
    return data


def _new_snapshot(workspace: Workspace, now: dt.datetime, name: str, taken: Container[str]) -> Snapshot:
    """The name of this moment; of the next second when a copy has it already, so that the newest is always known."""
    while (moment := f"{now:%Y-%m-%d-%H%M%S}") in taken:
        now += dt.timedelta(seconds=1)
    file_name = f"SESSION-STATE.md.bak-{moment}" + (f"-{name}" if name else "")
    return Snapshot(workspace.archive / file_name, moment, name)


def _label(one: Snapshot) -> str:
    return f"{one.moment}-{one.name}" if one.name else one.moment
