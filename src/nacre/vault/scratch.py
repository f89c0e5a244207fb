"""Small files of our own that a power cut may take: replaced in one go, without waiting for the disk.

Nothing but the standard library, and little of that: hooks write them while an agent waits.
"""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False  # as in typing, without its cost
if TYPE_CHECKING:
    from typing import Any

_LARGEST = 4_000_000  # bytes; what is larger was not written by us
_A_DAY = 86_400.0


def put(folder: str, name: str, data: bytes) -> None:
    """Put a file into a folder of ours, readable by its owner alone. A link in the place of the folder is refused."""
    own_folder(folder)
    from _thread import get_ident

    temporary = os.path.join(folder, f".{name}-{os.getpid()}-{get_ident()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _no_link(), 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, os.path.join(folder, name))
    except BaseException:
        os.unlink(temporary)
        raise


def put_json(folder: str, name: str, value: Any) -> None:
    import json

    put(folder, name, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def read(path: str) -> bytes | None:
    """The bytes of such a file; None when it is missing, a link, or no file of ours."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _no_link() | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        return file.read(_LARGEST)


def read_json(path: str) -> dict[str, Any]:
    """The table in such a file; an empty one when it cannot be understood."""
    import json

    try:
        told = json.loads(read(path) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def add_line(folder: str, name: str, line: str, most: int) -> None:
    """Append a line to a log, which begins anew when it has become larger than so many bytes."""
    own_folder(folder)
    path = os.path.join(folder, name)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _no_link(), 0o600)
    try:
        if os.fstat(descriptor).st_size > most:
            os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{line}\n".encode("utf-8", "replace"))
    finally:
        os.close(descriptor)


def own_folder(folder: str) -> None:
    """Make a folder of ours where it is missing; an error when a link or something else stands there."""
    above = os.path.dirname(folder)
    for place in (above, folder) if os.path.basename(above) == ".nacre" else (folder,):
        try:
            mode = os.lstat(place).st_mode
        except FileNotFoundError:
            os.mkdir(place, 0o700)
            continue
        if not stat.S_ISDIR(mode):
            raise NotADirectoryError(20, "a link or a special file", place)


def sweep(folder: str, *, older_than: float, most: int, now: float) -> int:
    """Take away files that nobody touched for so many seconds, and the oldest above a number; how many went."""
    found: list[tuple[float, str]] = []
    gone = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                changed = entry.stat(follow_symlinks=False).st_mtime
                limit = _A_DAY if entry.name.endswith(".tmp") else older_than
                if now - changed > limit:
                    gone += _removed(entry.path)
                elif entry.name.endswith(".json"):
                    found.append((changed, entry.path))
    except OSError:
        return gone
    for _, path in sorted(found)[: max(0, len(found) - most)]:
        gone += _removed(path)
    return gone


def thin(folder: str, most: int) -> int:
    """Take away the oldest files above a number, however young they are; how many went."""
    try:
        if len(os.listdir(folder)) <= most:
            return 0
    except OSError:
        return 0
    return sweep(folder, older_than=0.0, most=most, now=0.0)  # at the beginning of time no file is old


def _removed(path: str) -> int:
    try:
        os.unlink(path)
    except OSError:
        return 0
    return 1


def _no_link() -> int:
    return getattr(os, "O_NOFOLLOW", 0) | (getattr(os, "O_BINARY", 0) if sys.platform == "win32" else 0)
