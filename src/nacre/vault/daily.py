"""The daily log: lines are only ever added, one write at a time, beside agents that write without our lock."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from pathlib import Path

from nacre.disk import LARGEST_LOG
from nacre.errors import BadInput, CannotWrite
from nacre.model import TYPES, Context, Entry, Workspace
from nacre.text.blocks import HEADING, stamp_of, unclosed_fences
from nacre.vault.entries import Document, document
from nacre.vault.history import Operation, operation
from nacre.vault.storage import names, read, storage_of
from nacre.vault.writing import REDACT, append, guarded

LONGEST = 4000
_TYPE = re.compile(rf"\[({'|'.join(TYPES)})\]\s+")
_MARKER = re.compile(r"\A[-*+](?:\s+|$)")


def append_note(
    context: Context,
    text: str,
    type: str | None = None,  # noqa: A002 - the word users know
    *,
    project: str = "",
    by_agent: bool = False,
) -> Entry:
    """Write a line into today's log, unless it stands there already; an agent's note is none of the person's."""
    kind, words = checked_note(text, type)
    bullet, path = f"[{kind}] {words}" if kind else words, context.workspace.day(context.clock.today())
    with operation(context, "remember") as op:
        line = _line_of(_read(context.workspace, path), bullet, project, of_agents=by_agent)
        number = line or _write_notes(op, path, [bullet], project, by_agent=by_agent)[0]
    return Entry(words, context.workspace.relative(path), number, kind, already=bool(line), project=project)


def append_notes(
    context: Context, command: str, bullets: Sequence[str], *, project: str = "", by_agent: bool = False
) -> tuple[Entry, ...]:
    """Write several lines into today's log, their secrets redacted; those that stand there already are not written again."""
    workspace = context.workspace
    path = log_path(workspace, context.clock.today())
    with operation(context, command) as op:
        doc = _read(workspace, path)
        safe = dict.fromkeys(map(_safe, bullets))
        new = [bullet for bullet in safe if bullet and not _line_of(doc, bullet, project, of_agents=by_agent)]
        numbers = _write_notes(op, path, new, project, by_agent=by_agent) if new else []
    return _entries(workspace, path, new, numbers)


def append_section(
    context: Context, heading: str, bullets: Sequence[str], *, day: dt.date | None = None
) -> tuple[Entry, ...]:
    """Append a `## heading` with its bullets, their secrets redacted, to a day's log; the entries with their exact lines."""
    from nacre.guard.sanitise import one_line

    workspace, day = context.workspace, day or context.clock.today()
    path = log_path(workspace, day)
    safe = list(map(_safe, bullets))
    with operation(context, "sync") as op:
        lines = [f"## {one_line(heading).strip()}", *(f"- {bullet}" for bullet in safe)]
        numbers = _write(op, path, day, _read(workspace, path), lines)
    return _entries(workspace, path, safe, numbers[1:])


def checked_note(text: str, type: str | None) -> tuple[str | None, str]:  # noqa: A002
    """The type and the words of a note, on one line, or an error that says what is wrong with them."""
    from nacre.guard.sanitise import one_line

    size = len(text)
    if size <= 4 * LONGEST:  # nothing is read of what cannot be kept, whatever its spaces come to
        words = _MARKER.sub("", guarded(one_line(guarded(text))).strip(), count=1)
        kind = type.strip().strip("[]").upper() if type else None
        if (match := _TYPE.match(words)) and kind in (None, match[1]):
            kind, words = match[1], words[match.end() :]
        if kind and kind not in TYPES:
            raise BadInput(
                f'"{type}" is not a type; use one of {", ".join(TYPES)}.',
                f"“{type}”不是有效类型；可用：{'、'.join(TYPES)}。",
            )
        if not words:
            raise BadInput("There is nothing to remember: the text is empty.", "没有可记住的内容：文本为空。")
        if len(words) <= LONGEST:
            return kind, words
        size = len(words)
    raise BadInput(
        f"The text has {size} characters; the limit for a note is {LONGEST}. Shorten it, or put it in a file under memory/ and note its path.",
        f"文本有 {size} 个字符；一条笔记最多 {LONGEST} 个。请精简，或存为 memory/ 下的文件并记下路径。",
    )


def log_path(workspace: Workspace, day: dt.date) -> Path:
    """Where the log of a day lies: among the living ones, or where it was archived."""
    path = workspace.day(day)
    if storage_of(workspace).about(workspace.relative(path)):
        return path
    archived = names(workspace, workspace.archive, f"/{path.name}")
    return workspace.root / archived[0] if archived else path


def _read(workspace: Workspace, path: Path) -> Document:
    """A log that is not valid UTF-8 is read as far as it can be."""
    return document(path, (read(workspace, path) or b"").decode("utf-8", "replace").encode())


def _safe(bullet: str) -> str:
    from nacre.guard.sanitise import one_line

    return guarded(one_line(bullet), REDACT).strip()


def _entries(workspace: Workspace, path: Path, bullets: Sequence[str], numbers: Sequence[int]) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for bullet, number in zip(bullets, numbers, strict=True):
        label = _TYPE.match(bullet)
        words, kind = (bullet[label.end() :], label[1]) if label else (bullet, None)
        entries.append(Entry(words, workspace.relative(path), number, kind))
    return tuple(entries)


def _write_notes(op: Operation, path: Path, bullets: Sequence[str], project: str, *, by_agent: bool) -> list[int]:
    """Append bullets under a heading of this minute; returns the number of each one's line."""
    now, doc = op.clock.now(), _read(op.workspace, path)
    heading = f"{now:%H:%M} note" + " | agent" * by_agent + (f" | project:{project}" if project else "")
    lines = [f"- {bullet}" for bullet in bullets]
    if _last_heading(doc) != heading:
        lines.insert(0, f"## {heading}")
    return _write(op, path, now.date(), doc, lines)[-len(bullets) :]


def _write(op: Operation, path: Path, day: dt.date, doc: Document, lines: Sequence[str]) -> list[int]:
    """Append the lines, under the day's title in a new file; returns the number that each got."""
    if len(doc.data) > LARGEST_LOG:
        size = LARGEST_LOG // 1_000_000
        raise CannotWrite(
            f"{path} is over {size} MB, and anything added would not be searchable, so nothing was written. Move part of its content to another file.",
            f"{path} 超过 {size} MB，新增内容将无法搜索，因此未写入。请把部分内容移到其他文件。",
        )
    lead: list[str] = []
    if not doc.data.strip():
        lead = [f"# {day.isoformat()}", ""]
    elif lines[0].startswith("#") and not doc.data.endswith((b"\n\n", b"\n\r\n")):
        lead = [""] if doc.bare[-1].strip() else []
    offset, length = append(op, path, "\n".join([*lead, *lines]) + "\n", on_secret=REDACT)
    log = read(op.workspace, path) or b""
    last = log[: offset + length].count(b"\n")  # an agent may have written since the file was read
    return [last - len(lines) + 1 + position for position in range(len(lines))]


def _last_heading(doc: Document) -> str | None:
    """The title of the heading under which a line added now would stand; none inside a code fence that is never closed."""
    last = next((block for block in reversed(doc.blocks) if block.kind == HEADING), None)
    if last is None or last.level != 2 or last.start < max(unclosed_fences(list(doc.bare)), default=0):
        return None
    return last.text


def _line_of(doc: Document, bullet: str, project: str, *, of_agents: bool) -> int | None:
    """The line that says it, for all projects or for this one; not `of_agents`: outside what agents noted."""
    if bullet.encode() not in doc.data:
        return None
    for item in doc.items:
        stamp = stamp_of(item.section)
        is_ours = not stamp.group and stamp.project in (None, project) and (of_agents or not stamp.by_agent)
        if is_ours and bullet in (item.words, item.text.strip()):
            return item.start
    return None
