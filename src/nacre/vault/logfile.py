"""Files that others append to as well: whole lines in one write, edits in place, never a rename under an open hand."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import NamedTuple

from nacre.errors import BadInput, cannot_write
from nacre.vault import atomic
from nacre.vault.atomic import PRIVATE, make_folder, real_target, sync_folder
from nacre.vault.workspace import DAY_NAME, Workspace
from nacre.words import say

_HEAD = 65536


class Appended(NamedTuple):
    """What was written: its bytes begin at `offset`."""

    offset: int
    length: int


class Tail(NamedTuple):
    """How the file's lines end, and whether its last line was left unfinished."""

    newline: bytes
    torn: bool
    size: int


def opened(path: Path, flags: int, mode: int = PRIVATE) -> int:
    """A descriptor for an ordinary file. A pipe in its place would keep us waiting for ever, a device would never end."""
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0), mode)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, say("it is not an ordinary file; move it away", "它不是普通文件；请将其移走"))


def tail_of(path: Path) -> Tail:
    """How to go on in the file; a file that does not exist gets plain newlines."""
    try:
        with os.fdopen(opened(path, os.O_RDONLY), "rb") as file:
            head = file.read(_HEAD)
            size = file.seek(0, os.SEEK_END)
            last = b"\n"
            if size:
                file.seek(size - 1)
                last = file.read(1) or b"\n"
    except FileNotFoundError:
        return Tail(b"\n", torn=False, size=0)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadInput(
            say(
                f"{path} is stored as UTF-16; save it as UTF-8, then Nacre can write to it.",
                f"{path} 以 UTF-16 保存；请另存为 UTF-8,之后 Nacre 才能写入。",
            )
        )
    first = head.find(b"\n")
    return Tail(b"\r\n" if first > 0 and head[first - 1] == 0x0D else b"\n", last != b"\n", size)


def lines_for(tail: Tail, text: str) -> bytes:
    """The bytes that carry the text on in the file: its line ends, and a line end first where the last line has none."""
    body = text if text.endswith("\n") else text + "\n"
    data = body.replace("\r\n", "\n").encode("utf-8", "replace")
    if tail.newline != b"\n":
        data = data.replace(b"\n", tail.newline)
    return tail.newline + data if tail.torn else data


def append_bytes(path: Path, data: bytes, *, root: Path | None = None, durable: bool = True) -> Appended:
    """One `O_APPEND` write, then fsync. One that did not fit or is not safe on the disk is taken back if nobody wrote after it."""
    target = real_target(path, root)
    try:
        make_folder(target.parent)
        created = not target.exists()
        descriptor = opened(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        end = written = 0
        try:
            written = os.write(descriptor, data)
            end = os.lseek(descriptor, 0, os.SEEK_CUR)
            if written < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if durable:
                os.fsync(descriptor)
                if created:
                    sync_folder(target.parent)
        except OSError:
            # Else the same command, run again, would write the lines twice.
            if os.fstat(descriptor).st_size == end:
                os.ftruncate(descriptor, end - written)
            if created and os.fstat(descriptor).st_size == 0:
                target.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble
    return Appended(end - written, written)


def edit(workspace: Workspace, path: Path, before: bytes, after: bytes, *, mode: int = PRIVATE) -> bool:
    """Change a daily log in place; False when it no longer begins with what was read. One that is empty then goes, unless others may
    still append to it.

    Whoever holds the file open goes on writing into it, and what they append meanwhile stays at its end. The journal holds both
    contents until the edit is complete: `repair` completes one that was killed.
    """
    target = real_target(path, None)
    try:
        make_folder(target.parent)
        created = not target.exists()
        descriptor = opened(target, os.O_RDWR | os.O_CREAT, mode)
        try:
            changed = _edit(descriptor, workspace, target.name, before, after)
        except BaseException:
            if created and os.fstat(descriptor).st_size == 0:
                target.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)
        if created:
            sync_folder(target.parent)
        _conclude(workspace, target)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble
    return changed


def _edit(descriptor: int, workspace: Workspace, name: str, before: bytes, after: bytes) -> bool:
    journal = _journal(workspace)
    complete = False
    while not complete:
        current = _content(descriptor)
        if not current.startswith(before):
            return False
        before, after = current, after + current[len(before) :]
        told = {"log": name, "before": before.decode("latin-1"), "after": after.decode("latin-1")}
        atomic.write(journal, json.dumps(told).encode(), root=workspace.root, mode=0o600)
        if os.fstat(descriptor).st_size != len(before):
            continue  # something was appended while the journal was written
        try:
            complete = _overwrite(descriptor, before, after)
        except OSError:
            if _content(descriptor).startswith(before):
                journal.unlink()
            raise
        before = after + before[len(after) :]
    os.fsync(descriptor)
    return True


def _conclude(workspace: Workspace, log: Path) -> None:
    if log.is_file() and not log.stat().st_size and not has_writer(log):
        atomic.remove(log)
    _journal(workspace).unlink(missing_ok=True)


def repair(workspace: Workspace) -> None:
    """Complete the edit of a log that was killed; called by whoever takes the lock of the workspace."""
    journal = _journal(workspace)
    try:
        if not os.path.lexists(journal):
            return
        ours = journal.is_file() and not journal.is_symlink()
        name, before, after = _told(journal.read_bytes() if ours else b"")
        path = workspace.memory / name
        if DAY_NAME.fullmatch(name) and not path.is_symlink():
            current = atomic.read_bytes(path) or b""
            written = _common_length(current, after)
            if len(current) >= len(before) and current[written : len(before)] == before[written:]:
                edit(workspace, path, current[: max(written, len(before))], after)
            _conclude(workspace, path)
        journal.unlink(missing_ok=True)
    except OSError as trouble:
        raise cannot_write(journal, trouble) from trouble


def _told(journal: bytes) -> tuple[str, bytes, bytes]:
    """The log, what it was and what it is to be; nothing when the journal is none of ours."""
    try:
        told = json.loads(journal)
        return str(told["log"]), told["before"].encode("latin-1"), told["after"].encode("latin-1")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "", b"", b""


def has_writer(path: Path) -> bool:
    """Whether a program has the file open for writing, as far as the system tells; True where it does not."""
    try:
        import fcntl
        import signal

        descriptor = os.open(path, os.O_RDONLY)
        try:
            # A lease for reading is refused while anybody could write; a signal that is ignored tells of one who comes.
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        finally:
            os.close(descriptor)
    except (ImportError, AttributeError, OSError):
        return True
    return False


def _journal(workspace: Workspace) -> Path:
    return workspace.machine / "edit.json"


def _content(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        return file.read()


def _overwrite(descriptor: int, before: bytes, after: bytes) -> bool:
    """Write from the first byte that differs; False when something was appended before the rest could be cut off."""
    start = _common_length(before, after)
    os.lseek(descriptor, start, os.SEEK_SET)
    try:
        atomic.write_all(descriptor, after[start:])
    except OSError:  # no room for what is new: what was overwritten has its room
        os.lseek(descriptor, start, os.SEEK_SET)
        atomic.write_all(descriptor, before[start:])
        os.ftruncate(descriptor, len(before))
        raise
    if len(after) < len(before):
        if os.fstat(descriptor).st_size != len(before):
            return False
        os.ftruncate(descriptor, len(after))
    return True


def _common_length(first: bytes, second: bytes) -> int:
    """How many bytes both begin with."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
