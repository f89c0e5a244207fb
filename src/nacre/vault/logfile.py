"""The end of a file that others append to as well: whole lines in one write, never a rename."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import NamedTuple

from nacre.errors import BadInput, cannot_write
from nacre.vault.atomic import PRIVATE, make_folder, real_target, sync_folder
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


def opened(path: Path, flags: int) -> int:
    """A descriptor for an ordinary file. A pipe in its place would keep us waiting for ever, a device would never end."""
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0), PRIVATE)
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
