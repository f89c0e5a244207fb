"""Changes of working memory: each planned as new bytes for SESSION-STATE.md, and on disk before the answer is given."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from nacre.clock import Clock
from nacre.config import Config, StateSettings
from nacre.errors import BadInput, NotFound
from nacre.model.plan import Plan, Step
from nacre.vault import statelines, working
from nacre.vault.append import guarded
from nacre.vault.markdown import Document, document, replace_lines
from nacre.vault.operation import Operation, operation
from nacre.vault.rewrite import rewrite
from nacre.vault.working import BLOCKERS, CONTEXT, DECISIONS, PENDING, TASK, Line, State, as_text, lines, same
from nacre.vault.workspace import Workspace
from nacre.words import say


class Desk(NamedTuple):
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


Planner = Callable[[Desk], Edit]


def change(
    workspace: Workspace, clock: Clock, config: Config, verb: str, make: Planner, *, dry_run: bool = False
) -> Edit:
    """Plan a change and carry it out: one operation, undone as one."""
    working.writable(workspace)
    if dry_run:
        return make(_desk(workspace, clock, config))
    with operation(workspace, clock, f"wal {verb}", config) as op:
        edit = make(_desk(workspace, clock, config))
        apply(op, edit)
    return edit


def apply(op: Operation, edit: Edit) -> None:
    """The log first: killed in between, nothing is lost, and the next run does not write it twice."""
    if not edit.changed:
        return
    if edit.log:
        from nacre.vault import daily

        daily.notes(op.workspace, op.clock, op.command, edit.log, by_agent=True, config=op.config)
    rewrite(op, edit.path, edit.data, read=edit.read)


def _desk(workspace: Workspace, clock: Clock, config: Config) -> Desk:
    state = working.read(workspace, clock)
    return Desk(workspace.relative(workspace.state), state, clock.now(), config.state)


def task(desk: Desk, text: str) -> Edit:
    """Say what is being done now, instead of what stood there."""
    words = _said(desk, text)
    line = as_text(words)
    if same(working.task(desk.document), words):
        return _nothing(desk, TASK, line)
    doc = statelines.with_section(statelines.dated(desk.state, desk.now.date()), TASK)
    reason = say("new current task", "新的当前任务")
    return _edit(desk, statelines.with_task(doc, line), TASK, line, "set", reason)


def decide(desk: Desk, text: str) -> Edit:
    """Write a decision down with its time. One that stands there already is not doubled: the later time holds."""
    words = _said(desk, text)
    line = f"[{desk.now:%H:%M}] {as_text(words, first=False)}"
    known = lines(desk.document, DECISIONS)
    if known and same(known[-1].words, words):
        return _nothing(desk, DECISIONS, _text_of(desk.document, known[-1]))
    doc = statelines.dated(desk.state, desk.now.date(), marked=True)
    doc = statelines.without(doc, [one for one in lines(doc, DECISIONS) if same(one.words, words)])
    doc = statelines.added(doc, DECISIONS, line)
    doc, gone = statelines.oldest(doc, DECISIONS, desk.settings.max_entries)
    log = [_labelled(_with_day(one, desk), "Decision", "决策") for one in gone]
    return _edit(desk, doc, DECISIONS, line, "add", say("new decision", "新的决策"), log)


def context(desk: Desk, key: str, value: str) -> Edit:
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
    known = [one for one in lines(desk.document, CONTEXT) if same(one.key, name)]
    if [one.words for one in known] == [words]:
        return _nothing(desk, CONTEXT, line)
    doc = statelines.dated(desk.state, desk.now.date())
    if known:
        again = [one for one in lines(doc, CONTEXT) if same(one.key, name)]
        doc = statelines.without(doc, again[1:])
        first = next(one for one in lines(doc, CONTEXT) if same(one.key, name))
        marker = next(item.marker for item in doc.items if item.start == first.start)
        made = document(doc.path, replace_lines(doc, first.start, first.end, [marker + line]))
        if not statelines.hides_nothing(doc, made, but=CONTEXT):
            raise working.stuck(doc, working.heading_for(doc, CONTEXT))
        doc = made
    else:
        doc = statelines.added(doc, CONTEXT, line)
    doc, gone = statelines.oldest(doc, CONTEXT, desk.settings.max_entries)
    log = [f"{one.key}{say(': ', '：')}{one.words}" if one.key else one.words for one in gone]
    return _edit(desk, doc, CONTEXT, line, "set" if known else "add", say("key context", "关键上下文"), log)


def pending(desk: Desk, text: str) -> Edit:
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
    doc = statelines.added(statelines.dated(desk.state, desk.now.date()), PENDING, line)
    return _edit(desk, doc, PENDING, line, "add", say("still to be done", "待办"))


def blocker(desk: Desk, text: str) -> Edit:
    """Write down what stands in the way."""
    words = _said(desk, text)
    line = as_text(words)
    known = lines(desk.document, BLOCKERS)
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
        statelines.added(statelines.dated(desk.state, desk.now.date()), BLOCKERS, line),
        BLOCKERS,
        line,
        "add",
        say("stands in the way", "阻碍进展"),
    )


def done(desk: Desk, which: str | None = None, *, log: str = "") -> Edit:
    """Finish something pending, by its number or its words; without either, the current task. `log` is today's log so far."""
    if which is None:
        words = working.task(desk.document)
        if not words:
            return _nothing(desk, TASK, "")
        doc = statelines.with_task(statelines.dated(desk.state, desk.now.date()), None)
        return _edit(desk, doc, TASK, words, "finish", say("finished", "已完成"), [_finished(words)])
    found = _meant(desk.document, PENDING, which)
    if not found and not which.strip().isdecimal() and f"- {_finished(_said(desk, which))}" in log.splitlines():
        return _nothing(desk, PENDING, _said(desk, which))
    return _taken_out(desk, PENDING, found, which, "finish", _finished)


def drop(desk: Desk) -> Edit:
    """Let the current task go unfinished; today's log says so."""
    words = working.task(desk.document)
    if not words:
        return _nothing(desk, TASK, "")
    doc = statelines.with_task(statelines.dated(desk.state, desk.now.date()), None)
    return _edit(desk, doc, TASK, words, "drop", say("dropped", "已放弃"), [_dropped(words)])


def clear(desk: Desk, which: str) -> Edit:
    """Take out a blocker that no longer stands in the way, by its number or its words."""
    return _taken_out(desk, BLOCKERS, _meant(desk.document, BLOCKERS, which), which, "clear", _cleared)


def _taken_out(desk: Desk, name: str, found: Line | None, which: str, action: str, told: Callable[[str], str]) -> Edit:
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
    doc = statelines.dated(desk.state, desk.now.date())
    at = next(at for at, (one, _) in enumerate(working.every(desk.document, name)) if one.start == found.start)
    again = working.every(doc, name)[at].line
    reason = say("finished", "已完成") if action == "finish" else say("no longer in the way", "已解除")
    return _edit(desk, statelines.without(doc, [again]), name, found.words, action, reason, [told(found.words)])


def _meant(doc: Document, name: str, which: str) -> Line | None:
    """The entry of that number, or with these words: all of them, or some that no other has. By its words one that is nested in
    another is found too, and the words of such a one are not those of the other."""
    wanted = " ".join(which.split())
    known = _open(doc, name)
    exactly = [one for one in known if same(one.words, wanted)]
    if exactly or not wanted:
        return exactly[0] if exactly else None
    if wanted.isdecimal() and len(wanted) < 10:
        return known[int(wanted) - 1] if 1 <= int(wanted) <= len(known) else None
    listed = [one for one in working.every(doc, name) if not one.line.done]
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


def _open(doc: Document, name: str) -> list[Line]:
    return [one for one in lines(doc, name) if not one.done]


def _said(desk: Desk, text: str, *, most: int | None = None) -> str:
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


def _text_of(doc: Document, one: Line) -> str:
    return next(item.text for item in doc.items if item.start == one.start)


def _with_day(one: Line, desk: Desk) -> str:
    day = one.day if one.day != desk.now.date().isoformat() else ""
    return f"{one.words} ({day})" if day else one.words


def _labelled(words: str, english: str, chinese: str) -> str:
    from nacre.text.language import language_of

    return f"[{chinese if language_of(words) == 'zh' else english}] {words}"


def _finished(words: str) -> str:
    from nacre.text.language import language_of

    return f"[任务] 已完成：{words}" if language_of(words) == "zh" else f"[Task] Done: {words}"


def _dropped(words: str) -> str:
    from nacre.text.language import language_of

    return f"[任务] 已放弃：{words}" if language_of(words) == "zh" else f"[Task] Dropped: {words}"


def _cleared(words: str) -> str:
    from nacre.text.language import language_of

    return f"[任务] 阻塞已解除：{words}" if language_of(words) == "zh" else f"[Task] No longer blocked: {words}"


def _nothing(desk: Desk, name: str, line: str) -> Edit:
    return Edit(desk.document.path, desk.state.read, desk.document.data, name, _shown(line))


def _edit(desk: Desk, doc: Document, name: str, line: str, action: str, reason: str, log: Sequence[str] = ()) -> Edit:
    told, line = tuple(map(_shown, log)), _shown(line)
    steps = [Step(action, desk.shown, reason, line)]
    today = f"memory/{desk.now.date().isoformat()}.md"
    steps += [Step("log", today, say("leaves working memory", "移出工作记忆"), bullet) for bullet in told]
    return Edit(doc.path, desk.state.read, doc.data, name, line, told, Plan(tuple(steps)))
