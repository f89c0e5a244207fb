"""The daily log: lines are only ever added, one write at a time, beside agents that write without our lock."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from pathlib import Path

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, CannotWrite
from nacre.i18n import say
from nacre.model.entry import TYPES, Entry
from nacre.model.workspace import Workspace
from nacre.text.blocks import HEADING, unclosed_fences
from nacre.text.stamps import stamp_of
from nacre.vault import disk
from nacre.vault.files import LARGEST_LOG
from nacre.vault.history import Operation, operation
from nacre.vault.markdown import Document, document
from nacre.vault.writing import REDACT, REFUSE, OnSecret, append, guarded

LONGEST = 4000
_INTRICATE = (
    b"```",
    b"~~~",
    b"\n---",
    b"\n===",
    b"<!--",
    b"\r",
    b"\n ##",
)  # what makes a "#" mean something else, or less
_TYPE = re.compile(rf"\[({'|'.join(TYPES)})\]\s+")
_MARKER = re.compile(r"\A[-*+](?:\s+|$)")


def append_note(
    workspace: Workspace,
    clock: Clock,
    text: str,
    type: str | None = None,  # noqa: A002 - the word users know
    *,
    project: str = "",
    by_agent: bool = False,
    config: Config | None = None,
) -> Entry:
    """Write a line into today's log at once, stamped with a project or for all of them. What already stands there today, and is
    given where this would be, is not written again; but what an agent noted is, when the person says it."""
    kind, words = checked_note(text, type)
    bullet = f"[{kind}] {words}" if kind else words
    now = clock.now()
    path = workspace.day(now.date())
    shown = workspace.relative(path)
    with operation(workspace, clock, "remember", config) as op:
        doc = document(path, disk.read_bytes(path) or b"")
        if line := _line_of(doc, bullet, project, of_agents=by_agent):
            return Entry(words, shown, line, kind, already=True, project=project)
        heading = _note_heading(now, project, by_agent=by_agent)
        lines = [f"- {bullet}"] if _last_heading(doc) == heading else [f"## {heading}", f"- {bullet}"]
        (line,) = _write(op, path, now.date(), doc, lines, REFUSE)[-1:]
    return Entry(words, shown, line, kind, project=project)


def append_notes(
    workspace: Workspace,
    clock: Clock,
    command: str,
    bullets: Sequence[str],
    *,
    project: str = "",
    by_agent: bool = False,
    config: Config | None = None,
) -> tuple[Entry, ...]:
    """Write several lines into today's log, their secrets blacked out; those that stand there already are not written again."""
    from nacre.guard.sanitise import one_line

    now = clock.now()
    path = log_path(workspace, now.date())
    with operation(workspace, clock, command, config) as op:
        doc = document(path, disk.read_bytes(path) or b"")
        safe = dict.fromkeys(guarded(one_line(bullet), REDACT).strip() for bullet in bullets)
        new = [bullet for bullet in safe if bullet and not _line_of(doc, bullet, project, of_agents=by_agent)]
        if not new:
            return ()
        lines = [f"- {bullet}" for bullet in new]
        if _last_heading(doc) != (heading := _note_heading(now, project, by_agent=by_agent)):
            lines.insert(0, f"## {heading}")
        numbers = _write(op, path, now.date(), doc, lines, REDACT)[-len(new) :]
    shown = workspace.relative(path)
    return tuple(_entry(bullet, shown, number) for bullet, number in zip(new, numbers, strict=True))


def checked_note(text: str, type: str | None) -> tuple[str | None, str]:  # noqa: A002
    """The type and the words of a note, on one line, or an error that says what is wrong with them."""
    from nacre.guard.sanitise import one_line

    if len(text) > 4 * LONGEST:  # nothing is read of what cannot be kept, whatever its spaces come to
        raise _too_long(len(text))
    words = _MARKER.sub("", guarded(one_line(guarded(text))).strip(), count=1)
    kind = type.strip().strip("[]").upper() if type else None
    if (match := _TYPE.match(words)) and kind in (None, match[1]):
        kind, words = match[1], words[match.end() :]
    if kind and kind not in TYPES:
        raise BadInput(
            say(
                f'"{type}" is not a type; use one of {", ".join(TYPES)}.',
                f"“{type}”不是有效类型；可用：{'、'.join(TYPES)}。",
            )
        )
    if not words:
        raise BadInput(say("There is nothing to remember: the text is empty.", "没有可记住的内容：文本为空。"))
    if len(words) > LONGEST:
        raise _too_long(len(words))
    return kind, words


def _too_long(size: int) -> BadInput:
    return BadInput(
        say(
            f"The text has {size} characters; a note may have {LONGEST}. Say it in fewer words, or put it into a "
            "file under memory/ and note where it lies.",
            f"文本有 {size} 个字符；一条笔记最多 {LONGEST} 个。请精简，或将其存为 memory/ 下的文件并记下位置。",
        )
    )


def log_path(workspace: Workspace, day: dt.date) -> Path:
    """Where the log of a day lies: among the living ones, or where it was archived."""
    path = workspace.day(day)
    if path.exists():
        return path
    archived = sorted(workspace.archive.glob(f"*/{path.name}")) if workspace.archive.is_dir() else []
    return archived[0] if archived else path


def append_section(
    workspace: Workspace,
    clock: Clock,
    heading: str,
    bullets: Sequence[str],
    *,
    day: dt.date | None = None,
    on_secret: OnSecret = REFUSE,
    config: Config | None = None,
) -> tuple[Entry, ...]:
    """Append a `## heading` with its bullets to a day's log in one write; the entries with their exact lines."""
    from nacre.guard.sanitise import one_line

    day = day or clock.today()
    path = log_path(workspace, day)
    safe = [guarded(one_line(bullet), on_secret).strip() for bullet in bullets]
    lines = [f"## {one_line(heading).strip()}", *(f"- {bullet}" for bullet in safe)]
    with operation(workspace, clock, "sync", config) as op:
        doc = document(path, disk.read_bytes(path) or b"")
        numbers = _write(op, path, day, doc, lines, on_secret)
    shown = workspace.relative(path)
    return tuple(_entry(bullet, shown, number) for bullet, number in zip(safe, numbers[1:], strict=True))


def _entry(bullet: str, shown: str, line: int) -> Entry:
    match = _TYPE.match(bullet)
    return Entry(bullet[match.end() :] if match else bullet, shown, line, match[1] if match else None)


def _write(
    op: Operation, path: Path, day: dt.date, doc: Document, lines: Sequence[str], on_secret: OnSecret
) -> list[int]:
    """Append the lines, under the day's title in a new file; returns the number that each got."""
    if len(doc.data) > LARGEST_LOG:
        size = LARGEST_LOG // 1_000_000
        raise CannotWrite(
            say(
                f"{path} is over {size} MB, and what is added would not be searched, so nothing was written. See what fills it, and "
                "move that elsewhere.",
                f"{path} 超过 {size} MB，新增内容将无法搜索，因此未写入。请检查其内容，并将其移到别处。",
            )
        )
    lead: list[str] = []
    if not doc.data.strip():
        lead = [f"# {day.isoformat()}", ""]
    elif lines[0].startswith("#") and _last_line(doc.data).strip():
        lead = [""]
    offset, length = append(op, path, "\n".join([*lead, *lines]) + "\n", on_secret=on_secret)
    with path.open("rb") as file:
        before = file.read(offset)
        data = file.read(length)
    first = before.count(b"\n") + 1 + data.count(b"\n") - len(lines)
    return [first + position for position in range(len(lines))]


def _last_line(data: bytes) -> bytes:
    return data.rstrip(b"\n").rpartition(b"\n")[2] if not data.endswith((b"\n\n", b"\n\r\n")) else b""


def _last_heading(doc: Document) -> str | None:
    """The title of the heading under which a line added now would stand; none inside a code fence that is never closed.

    A log that is not valid UTF-8 is read as far as it can be.
    """
    if not any(sign in doc.data for sign in _INTRICATE):  # the usual log: no need to parse thousands of lines for one
        start = max(doc.data.rfind(b"\n#"), 0)
        line = doc.data[start:].lstrip(b"\n").split(b"\n", 1)[0].decode("utf-8", "replace").strip()
        return line[3:].strip() if line.startswith("## ") else None
    readable = _readable(doc)
    headings = [block for block in readable.blocks if block.kind == HEADING]
    if (
        not headings
        or headings[-1].level != 2
        or headings[-1].start < max(unclosed_fences(list(readable.bare)), default=0)
    ):
        return None
    return headings[-1].text


def _note_heading(now: dt.datetime, project: str, *, by_agent: bool = False) -> str:
    return f"{now:%H:%M} note" + " | agent" * by_agent + (f" | project:{project}" if project else "")


def _line_of(doc: Document, bullet: str, project: str, *, of_agents: bool = True) -> int | None:
    """The line that says it, for all projects or for this one; not `of_agents`: outside what agents noted."""
    if bullet.encode() not in doc.data:
        return None
    for item in _readable(doc).items:
        stamp = stamp_of(item.section)
        if stamp.group or stamp.project not in (None, project) or bullet not in (item.words, item.text.strip()):
            continue
        if of_agents or not stamp.by_agent:
            return item.start
    return None


def _readable(doc: Document) -> Document:
    try:
        doc.data.decode("utf-8")
    except UnicodeDecodeError:
        return document(doc.path, doc.data.decode("utf-8", "replace").encode())
    return doc
