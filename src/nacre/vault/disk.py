"""Bytes on disk: a whole file replaced atomically, lines appended in one write, a daily log edited in place, all of it safe against kill -9 at any call."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from nacre.errors import BadInput, Locked, NacreError, PathEscape, cannot_write
from nacre.i18n import say
from nacre.model.workspace import DAY_NAME, Workspace
from nacre.vault.files import LARGEST_LOG


def _stand_in(path: Path) -> Path:
    return path.with_name(path.name + ".held")


def take_lock_file(path: Path, deadline: float) -> str:
    """Make the stand-in ours and return the token that proves it; `Locked` when another holds it past the deadline."""
    stand_in = _stand_in(path)
    token = os.urandom(8).hex()
    mine = json.dumps({"pid": os.getpid(), "host": host_name(), "boot": boot_id(), "token": token}).encode()
    pause = 0.001
    while True:
        try:
            descriptor = os.open(stand_in, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            holder = _read_stand_in(stand_in)
            if _is_stale(holder) or (not holder and _is_old(stand_in)):
                _clear_stale(stand_in, holder, token)
                continue
            if time.monotonic() >= deadline:
                pid = holder.get("pid")
                raise locked_error(path, pid if isinstance(pid, int) else None) from None
            time.sleep(pause)
            pause = min(pause * 2, 0.05)
        except OSError as trouble:
            raise cannot_write(stand_in, trouble) from trouble
        else:
            os.write(descriptor, mine)
            os.close(descriptor)
            return token


def remove_lock_file(path: Path, token: str) -> None:
    """Remove the stand-in, if it is still ours."""
    stand_in = _stand_in(path)
    if _read_stand_in(stand_in).get("token") == token:
        stand_in.unlink(missing_ok=True)


def _read_stand_in(stand_in: Path) -> dict[str, object]:
    try:
        found = json.loads(stand_in.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_stale(holder: dict[str, object]) -> bool:
    """Only a process of this very machine can be known to be dead."""
    pid = holder.get("pid")
    if holder.get("host") != host_name() or not isinstance(pid, int):
        return False
    return holder.get("boot") != boot_id() or not is_alive(pid)


def _is_old(stand_in: Path) -> bool:
    """Its maker was killed between making and filling it."""
    try:
        return time.time() - stand_in.stat().st_mtime > 60
    except OSError:
        return False


def _clear_stale(stand_in: Path, holder: dict[str, object], token: str) -> None:
    aside = stand_in.with_name(f"{stand_in.name}-{token}")
    try:
        stand_in.rename(aside)
    except FileNotFoundError:
        return
    if _read_stand_in(aside).get("token") != holder.get("token"):  # another was quicker: give its file back
        with contextlib.suppress(OSError):
            os.link(aside, stand_in)
    aside.unlink(missing_ok=True)


def host_name() -> str:
    """The name of this machine."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def boot_id() -> str:
    """What tells this run of the machine from the one before; empty where nothing does."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    """Whether a process of this machine still runs; in doubt, yes."""
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def locked_error(path: Path, pid: int | None) -> Locked:
    """The sentence for a lock that another holds."""
    folder = path.parent.parent
    who, whose = (f" (process {pid})", f"(进程 {pid})") if pid else ("", "")
    return Locked(
        say(
            f"Another command{who} is writing to {folder}. Wait until it is done and run this one again.",
            f"另一个命令{whose}正在写入 {folder}。请等它完成后重试。",
        )
    )


# Replacing a whole file so that at every moment either the old or the new bytes stand there.

_TEMPORARY = re.compile(r"\.nacre-([0-9a-f]{8})-(\d+)-[0-9a-f]+\.tmp")
_A_DAY = 86400.0
PRIVATE = 0o600  # memory is its owner's alone: every file that we create
_PRIVATE_FOLDER = 0o700


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def real(path: Path) -> Path:
    """The path with every link followed as far as it goes; never raises."""
    return Path(os.path.realpath(path))


def read_bytes(path: Path) -> bytes | None:
    """The file's bytes; None when it does not exist."""
    try:
        # A pipe or a device in the place of a file would keep us waiting for ever.
        if not stat.S_ISREG(path.stat().st_mode):
            raise NacreError(
                say(f"{path} is not an ordinary file; move it away.", f"{path} 不是普通文件；请将其移走。")
            )
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        raise NacreError(
            say(
                f"{path} cannot be read: {reason}. Check its permissions.", f"{path} 无法读取：{reason}。请检查其权限。"
            )
        ) from trouble


def write(
    path: Path,
    data: bytes,
    *,
    root: Path | None = None,
    mode: int | None = None,
    still: Callable[[], None] | None = None,
) -> None:
    """Put the bytes into the file: temp file beside it, fsync, rename, fsync of the folder.

    A link is written through to its target, which must lie in `root` where one is given. An existing file keeps its mode
    and owner; a new one is its owner's alone, unless a `mode` is given. `still` is asked just before the rename and may raise.
    """
    target = real_target(path, root)
    try:
        make_folder(target.parent)
        if target.parent not in (_waiting.folders or ()):  # once is enough where many files are written
            clean_stale(target.parent)
        _replace(target, data, mode, still)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def keep_time(path: Path, modified: int) -> None:
    """Give a file the time at which its content was written elsewhere, in nanoseconds since 1970."""
    try:
        os.utime(path, ns=(modified, modified))
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def _replace(target: Path, data: bytes, mode: int | None, still: Callable[[], None] | None) -> None:
    try:
        before = target.stat()
    except FileNotFoundError:
        before = None
    if before is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", str(target))
    _put(_beside(target, data, mode, before), target, still)


def _beside(target: Path, data: bytes, mode: int | None, before: os.stat_result | None) -> Path:
    """A file with the bytes, safe on the disk, in the folder of the one whose name it is to get."""
    temporary = target.parent / f".nacre-{_host_hash()}-{os.getpid()}-{os.urandom(4).hex()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE if before else mode or PRIVATE)
    try:
        try:
            write_all(descriptor, data)
            if before is not None:
                _keep_owner_and_mode(descriptor, before)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    return temporary


def _put(temporary: Path, target: Path, still: Callable[[], None] | None) -> None:
    try:
        if still:
            still()
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(target.parent)


def stage(path: Path, data: bytes) -> Path:
    """Write the bytes of a file that is still to come, so that only a rename is left for later (`put_staged`)."""
    try:
        make_folder(path.parent)
        clean_stale(path.parent)
        return _beside(path, data, None, None)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def put_staged(staged: Path, path: Path, *, still: Callable[[], None]) -> None:
    """Give a staged file its name. `still` is asked just before and may raise."""
    try:
        _put(staged, path, still)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def _keep_owner_and_mode(descriptor: int, before: os.stat_result) -> None:
    if os.name == "nt":
        return
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with contextlib.suppress(OSError):  # only root may give files away
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def remove(path: Path) -> None:
    """Remove the file (a link itself, not its target) and make that last."""
    try:
        path.unlink()
        sync_folder(path.parent)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def rename(path: Path, to: Path) -> None:
    """Give a file another name, making the folder for it. The caller has seen that nothing stands there."""
    try:
        make_folder(to.parent)
        path.rename(to)
        sync_folder(to.parent)
        sync_folder(path.parent, after=to.parent)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def make_folder(folder: Path) -> None:
    """The folder with its parents, each known to the disk before anything is put in it."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
    _sync(folder.parent)


class _Waiting(threading.local):
    """Folders of this thread that are to be synced together, each with those that must come before it."""

    def __init__(self) -> None:
        self.folders: dict[Path, set[Path]] | None = None


_waiting = _Waiting()


@contextlib.contextmanager
def folders_once() -> Iterator[None]:
    """Make what is done to folders last at the end, each folder once: a thousand moves need two syncs, not two thousand.

    A folder that files went to comes before the one they left: after a power cut a file stands in both rather than in none.
    """
    if _waiting.folders is not None:
        yield
        return
    _waiting.folders = {}
    try:
        yield
    finally:
        folders, _waiting.folders = _waiting.folders, None
        for folder in _in_order(folders):
            try:
                _sync(folder)
            except OSError as trouble:
                raise cannot_write(folder, trouble) from trouble


def _in_order(folders: dict[Path, set[Path]]) -> list[Path]:
    from graphlib import CycleError, TopologicalSorter

    try:
        return list(TopologicalSorter(folders).static_order())
    except CycleError:  # files went both ways between two folders: the file system's own journal has to do
        return list(folders)


def sync_folder(folder: Path, *, after: Path | None = None) -> None:
    """Make what was done to the folder last; `after` names the one that has to be synced before it."""
    if _waiting.folders is None:
        _sync(folder)
        return
    before = _waiting.folders.setdefault(folder, set())
    if after is not None and after != folder:
        before.add(after)


def _sync(folder: Path) -> None:
    if os.name == "nt":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written but not read
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def real_target(path: Path, root: Path | None) -> Path:
    """Where a write to the path really goes; `PathEscape` when a link leads out of `root`."""
    target = real(path)
    if root is not None:
        inside = real(root)
        if target != inside and inside not in target.parents:
            raise PathEscape(
                say(
                    f"{path} is a link that leads out of the workspace; Nacre does not write through it.",
                    f"{path} 是指向工作区之外的链接；Nacre 不会通过它写入。",
                )
            )
    return target


def clean_stale(folder: Path) -> int:
    """Remove temp files that a killed process of ours left in the folder; returns how many."""
    removed = 0
    try:
        names = os.listdir(folder)
    except PermissionError:  # a folder that may be written but not read
        return 0
    for name in names:
        if (match := _TEMPORARY.fullmatch(name)) and _is_dead(folder / name, match):
            with contextlib.suppress(OSError):
                (folder / name).unlink()
                removed += 1
    return removed


def _is_dead(path: Path, match: re.Match[str]) -> bool:
    if match[1] == _host_hash():
        return int(match[2]) != os.getpid() and not is_alive(int(match[2]))
    try:
        return time.time() - path.lstat().st_mtime > _A_DAY
    except OSError:
        return False


def _host_hash() -> str:
    return hashlib.sha256(host_name().encode()).hexdigest()[:8]


# Files that others append to as well: whole lines in one write, edits in place, never a rename under an open hand.

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


def open_regular(path: Path, flags: int, mode: int = PRIVATE) -> int:
    """A descriptor for an ordinary file. A pipe in its place would keep us waiting for ever, a device would never end."""
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0), mode)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, say("it is not an ordinary file; move it away", "它不是普通文件；请将其移走"))


def tail_of(path: Path) -> Tail:
    """How to go on in the file; a file that does not exist gets plain newlines."""
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
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
        descriptor = open_regular(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
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


def edit_log(workspace: Workspace, path: Path, before: bytes, after: bytes, *, mode: int = PRIVATE) -> bool:
    """Change a daily log in place; False when it no longer begins with what was read. One that is empty then goes, unless others may
    still append to it.

    Whoever holds the file open goes on writing into it, and what they append meanwhile stays at its end. The journal holds both
    contents until the edit is complete: `repair` completes one that was killed.
    """
    target = real_target(path, None)
    try:
        make_folder(target.parent)
        created = not target.exists()
        descriptor = open_regular(target, os.O_RDWR | os.O_CREAT, mode)
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
        current = _read_descriptor(descriptor)
        if not current.startswith(before):
            return False
        before, after = current, after + current[len(before) :]
        told = {"log": name, "before": before.decode("latin-1"), "after": after.decode("latin-1")}
        write(journal, json.dumps(told).encode(), root=workspace.root, mode=0o600)
        if os.fstat(descriptor).st_size != len(before):
            continue  # something was appended while the journal was written
        try:
            complete = _overwrite(descriptor, before, after)
        except OSError:
            if _read_descriptor(descriptor).startswith(before):
                journal.unlink()
            raise
        before = after + before[len(after) :]
    os.fsync(descriptor)
    return True


def _conclude(workspace: Workspace, log: Path) -> None:
    if log.is_file() and not log.stat().st_size and not has_writer(log):
        remove(log)
    _journal(workspace).unlink(missing_ok=True)


def repair_log(workspace: Workspace) -> None:
    """Complete the edit of a log that was killed; called by whoever takes the lock of the workspace."""
    journal = _journal(workspace)
    try:
        if not os.path.lexists(journal):
            return
        ours = journal.is_file() and not journal.is_symlink()
        name, before, after = _read_journal(journal.read_bytes() if ours else b"")
        path = workspace.memory / name
        if DAY_NAME.fullmatch(name) and not path.is_symlink():
            current = read_bytes(path) or b""
            written = _common_length(current, after)
            if len(current) >= len(before) and current[written : len(before)] == before[written:]:
                edit_log(workspace, path, current[: max(written, len(before))], after)
            _conclude(workspace, path)
        journal.unlink(missing_ok=True)
    except OSError as trouble:
        raise cannot_write(journal, trouble) from trouble


def _read_journal(journal: bytes) -> tuple[str, bytes, bytes]:
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


def _read_descriptor(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        return file.read()


def _overwrite(descriptor: int, before: bytes, after: bytes) -> bool:
    """Write from the first byte that differs; False when something was appended before the rest could be cut off."""
    start = _common_length(before, after)
    os.lseek(descriptor, start, os.SEEK_SET)
    try:
        write_all(descriptor, after[start:])
    except OSError:  # no room for what is new: what was overwritten has its room
        os.lseek(descriptor, start, os.SEEK_SET)
        write_all(descriptor, before[start:])
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


# Archived logs as gzip: the same bytes give the same file, whenever and wherever they are packed.

COMPRESSED = ".gz"


def compress(data: bytes) -> bytes:
    import gzip

    return gzip.compress(data, mtime=0)


def read_log(path: str | Path, shown: str) -> bytes:
    """The bytes of a file of memory, those of a compressed log unpacked."""
    with open(path, "rb") as file:
        data = file.read()
    return decompress(data, shown) if str(path).endswith(COMPRESSED) else data


def decompress(data: bytes, shown: str) -> bytes:
    """The log as it was; `NacreError` when the file is damaged, or swells to more than any log is."""
    import gzip
    import io
    import zlib

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(LARGEST_LOG + 1)
    except (OSError, EOFError, zlib.error) as trouble:
        raise NacreError(
            say(
                f"{shown} is damaged and cannot be unpacked; it stays as it is.",
                f"{shown} 已损坏，无法解压，保持原样。",
            )
        ) from trouble
    if len(found) > LARGEST_LOG:
        raise NacreError(
            say(f"{shown} is too large for a log; it stays as it is.", f"{shown} 作为日志过大，保持原样。")
        )
    return found
