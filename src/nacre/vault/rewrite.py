"""Changing, removing and moving whole files: lock, still what was read, guard, preimage, atomic write."""

from __future__ import annotations

import os
import stat
from collections import Counter
from pathlib import Path

from nacre.errors import BadInput, ChangedOutside
from nacre.vault import atomic, limits, logfile
from nacre.vault.append import guarded
from nacre.vault.history import CREATE, DELETE, MOVE, REWRITE, Change
from nacre.vault.operation import Operation
from nacre.vault.workspace import DAY_NAME, Workspace
from nacre.words import say

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def rewrite(op: Operation, path: Path, data: bytes, *, read: str | None, log: bool = False) -> str:
    """Put new bytes into a file that is still what was read (hash; None: it must not exist). Returns the new hash.

    Only lines that were not in the file before are guarded: what the user wrote long ago does not block an edit elsewhere.
    A daily log is append-only; `log` is for the few commands whose work it is to take something out of one.
    """
    op.place(path)
    if not log and is_log(op.workspace, path):
        raise BadInput(
            say(
                f"{op.workspace.relative(path)} is a daily log: lines are only ever added to it.",
                f"{op.workspace.relative(path)} 是每日日志：只能追加内容。",
            )
        )
    before = expect(op.workspace, path, read)
    safe = guard_added(before or b"", data)
    limits.check(op.workspace, path, before, safe, op.config.memory)
    return put(op, path, before, safe)


def put(op: Operation, path: Path, before: bytes | None, data: bytes) -> str:
    """Record and write bytes that were guarded, or are the user's own in another form."""
    if data == before:
        return atomic.digest(data)
    old = None if before is None else atomic.digest(before)
    change = Change(op.workspace.relative(path), CREATE if before is None else REWRITE, old, atomic.digest(data))
    op.record([change], [data] if before is None else [before, data])
    write_over(op, path, before, data)
    return atomic.digest(data)


def write_over(op: Operation, path: Path, before: bytes | None, data: bytes, *, mode: int | None = None) -> None:
    """The write itself: a daily log is edited in place, any other file replaced. `mode` is for a new one."""

    def still() -> None:
        expect(op.workspace, path, None if before is None else atomic.digest(before))

    if not is_log(op.workspace, path):
        atomic.write(path, data, mode=mode, still=still)
    elif not logfile.edit(op.workspace, path, before or b"", data, mode=mode or atomic.PRIVATE):
        raise changed(op.workspace.relative(path))


def remove(op: Operation, path: Path, *, read: str) -> None:
    """Delete a file that is still what was read."""
    op.place(path)
    before = expect(op.workspace, path, read)
    assert before is not None
    mode = stat.S_IMODE(path.stat().st_mode)
    op.record([Change(op.workspace.relative(path), DELETE, read, None, mode=mode)], [before])
    take_away(op, path, before)


def take_away(op: Operation, path: Path, before: bytes) -> None:
    """The removal itself. A daily log is emptied, and stays while others may still append to it, or with what they appended."""
    if not is_log(op.workspace, path):
        atomic.remove(path)
    elif not logfile.edit(op.workspace, path, before, b""):
        raise changed(op.workspace.relative(path))


def move(op: Operation, path: Path, to: Path, *, read: str) -> None:
    """Move a file that is still what was read to a place where nothing stands."""
    op.place(path)
    op.place(to)
    expect(op.workspace, path, read)
    if os.path.lexists(to):
        raise changed(op.workspace.relative(to))
    op.record([Change(op.workspace.relative(path), MOVE, read, read, to=op.workspace.relative(to))], [])
    atomic.rename(path, to)


def expect(workspace: Workspace, path: Path, read: str | None) -> bytes | None:
    """The file's bytes, when they are what was read; else `ChangedOutside`."""
    now = atomic.read_bytes(path)
    if (None if now is None else atomic.digest(now)) != read:
        raise changed(workspace.relative(path))
    return now


def changed(shown: str) -> ChangedOutside:
    return ChangedOutside(
        say(
            f"{shown} was changed by someone else meanwhile; nothing was written. Run the command again.",
            f"{shown} 在此期间被他人修改；未写入任何内容。请重新运行命令。",
        )
    )


def is_log(workspace: Workspace, path: Path) -> bool:
    """Whether the path is a daily log that agents append to."""
    real = atomic.real(path)
    return real.parent == atomic.real(workspace.memory) and bool(DAY_NAME.fullmatch(real.name))


def guard_added(before: bytes, data: bytes) -> bytes:
    """The new bytes with every added line guarded; lines that stood there before pass untouched."""
    if data.startswith(BYTE_ORDER_MARK):
        return BYTE_ORDER_MARK + guard_added(before.removeprefix(BYTE_ORDER_MARK), data.removeprefix(BYTE_ORDER_MARK))
    known = Counter(line.rstrip(b"\r") for line in before.split(b"\n"))
    lines = data.split(b"\n")
    added: list[int] = []
    for position, line in enumerate(lines):
        bare = line.rstrip(b"\r")
        if known[bare]:
            known[bare] -= 1
        elif bare:
            added.append(position)
    if not added:
        return data
    bodies = [lines[position].rstrip(b"\r") for position in added]
    text = "\n".join(body.decode("utf-8", "replace") for body in bodies)
    guarded(text)
    for position, body in zip(added, bodies, strict=True):
        if body.isascii() and body.decode().isprintable():
            continue
        try:
            clean = _clean(body.decode("utf-8"))
        except UnicodeDecodeError:
            continue
        lines[position] = clean.encode() + lines[position][len(body) :]
    return b"\n".join(lines)


def _clean(line: str) -> str:
    from nacre.guard.sanitise import clean

    return clean(line)
