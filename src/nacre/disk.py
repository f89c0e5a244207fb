"""Bytes and paths: a whole file replaced atomically, lines appended in one write, a log edited in place, safe against kill -9 at any call;
and the lock of one writer at a time."""

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

from nacre.errors import BadInput, Locked, NacreError, NoWorkspace, PathEscape, cannot_write, raise_unless_absent
from nacre.i18n import say
from nacre.model import DAY_NAME, LINKED, Stored, Workspace

LARGEST_LOG = 50_000_000  # bytes; what we wrote into the log of a day is searched, however much it is, up to this
PRIVATE = 0o600  # memory is its owner's alone: every file that we create
_PRIVATE_FOLDER = 0o700
_TEMPORARY = re.compile(r"\.nacre-(\d+)-[0-9a-f]+\.tmp")
_HEAD = 65536
_A_DAY = 86400.0


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def hash_of(data: bytes | None) -> str | None:
    """The hash of a file's bytes; None for a file that does not exist."""
    return None if data is None else digest(data)


def real(path: Path) -> Path:
    """The path with every link followed as far as it goes; never raises."""
    return Path(os.path.realpath(path))


def real_target(path: Path, root: Path | None) -> Path:
    """Where a write to the path really goes; `PathEscape` when a link leads out of `root`."""
    target = real(path)
    if root is not None and target != (inside := real(root)) and inside not in target.parents:
        raise PathEscape(
            f"{path} is a link that points outside the workspace; Nacre does not follow it.",
            f"{path} 是指向工作区之外的链接；Nacre 不会访问它。",
        )
    return target


@contextlib.contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Turn an `OSError` into `CannotWrite` with a sentence about the path."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from error


# Processes of this machine.


def host_name() -> str:
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


# Reading.


def read_bytes(path: Path, most: int = -1) -> bytes | None:
    """The file's bytes, or the first so many; None when it does not exist. `CannotRead` where the file system failed."""
    try:
        # A pipe or a device in the place of a file would keep us waiting for ever.
        if not stat.S_ISREG(path.stat().st_mode):
            raise NacreError(f"{path} is not a regular file; move it away.", f"{path} 不是普通文件；请将其移走。")
        with open(path, "rb") as file:
            return file.read(most)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise_unless_absent(path, error)
        reason = error.strerror or str(error)
        raise NacreError(
            f"{path} could not be read: {reason}. Check its permissions.", f"无法读取 {path}：{reason}。请检查其权限。"
        ) from error


def open_regular(path: Path, flags: int) -> int:
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0), PRIVATE)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, say("it is not a regular file; move it away", "它不是普通文件；请将其移走"))


def walk(
    root: str, folder: str, shown: str, endings: tuple[str, ...], watched: set[str], depth: int = 99
) -> Iterator[Stored]:
    """What lies below a folder, named with `shown` before it; about four microseconds a file.

    Hidden things are left out, linked folders not entered, and nothing is there where the folder leads out of its root. A folder
    at the greatest depth is told as what it is: no file.
    """
    waiting = [(folder, shown, depth)]
    if folder != root and (os.path.islink(folder) or os.path.islink(os.path.dirname(folder))):
        watched.add(LINKED)
        waiting = waiting if is_within(root, folder) else []
    while waiting:
        place, prefix, depth = waiting.pop()
        try:
            with os.scandir(place) as listing:
                entries = [entry for entry in listing if entry.name[0] != "."]
        except OSError as error:  # missing, or not for us to read: doctor says so
            raise_unless_absent(place, error)
            while not os.path.isdir(place) and place != os.path.dirname(place):
                place = os.path.dirname(place)
            watched.add(place)  # where it would appear
            continue
        watched.add(place)
        for entry in entries:
            name = prefix + entry.name
            if depth > 1 and entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, f"{name}/", depth - 1))
            elif name.endswith(endings) and (stored := stored_at(root, entry.path, name, watched)):
                yield stored


def stored_at(root: str, full: str, name: str, watched: set[str]) -> Stored | None:
    """What stands at a path; of a link that stays in its root, what it leads to."""
    try:
        about = os.lstat(full)
    except OSError as error:
        raise_unless_absent(full, error)
        return None
    if is_link := stat.S_ISLNK(about.st_mode):
        watched.add(LINKED)
        with contextlib.suppress(OSError):
            about = os.stat(full) if is_within(root, full) else about
    is_plain = stat.S_ISREG(about.st_mode)
    if is_plain and about.st_nlink > 1:
        watched.add(full)  # it may be written through its other name
    return Stored(name, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino, is_plain, is_link)


def is_within(root: str, full: str) -> bool:
    """Whether a path, its links followed, lies in a folder."""
    real_root = os.path.realpath(root)
    return os.path.commonpath([real_root, os.path.realpath(full)]) == real_root


# Replacing, moving and removing whole files: at every moment either the old or the new bytes stand there.


def write(path: Path, data: bytes, *, root: Path | None = None, mode: int = PRIVATE) -> None:
    """Put the bytes into the file: temp file beside it, fsync, rename, fsync of the folder.

    A link is written through to its target, which must lie in `root` where one is given. An existing file keeps its mode
    and owner; a new one is its owner's alone, unless a `mode` is given.
    """
    _replace(path, real_target(path, root), data, mode)


def replace(path: Path, data: bytes, before: bytes | None) -> bool:
    """Write as `write` does, if just before the rename the file is still `before` (None: does not exist); else False."""
    return _replace(path, real(path), data, PRIVATE, lambda: read_bytes(path) == before)


def _replace(path: Path, target: Path, data: bytes, mode: int, is_as_read: Callable[[], bool] | None = None) -> bool:
    with writing_to(path):
        make_folder(target.parent)
        if target.parent not in _waiting.get(threading.get_ident(), ()):  # once is enough where many files are written
            clean_stale(target.parent)
        before = target.stat() if target.exists() else None
        if before and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        temporary = target.parent / f".nacre-{os.getpid()}-{os.urandom(4).hex()}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE if before else mode)
        try:
            try:
                write_all(descriptor, data)
                if before and os.name != "nt":
                    with contextlib.suppress(OSError):  # only root may give files away
                        os.fchown(descriptor, before.st_uid, before.st_gid)
                    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if is_as_read and not is_as_read():
                temporary.unlink()
                return False
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)
    return True


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def remove(path: Path) -> None:
    """Remove the file (a link itself, not its target) and make that last."""
    with writing_to(path):
        path.unlink()
        sync_folder(path.parent)


def rename(path: Path, to: Path) -> None:
    """Give a file another name, making the folder for it. The caller has seen that nothing stands there."""
    with writing_to(path):
        make_folder(to.parent)
        path.rename(to)
        sync_folder(to.parent)
        sync_folder(path.parent)


def keep_time(path: Path, modified: int) -> None:
    """Give a file the time at which its content was written elsewhere, in nanoseconds since 1970."""
    with writing_to(path):
        os.utime(path, ns=(modified, modified))


def clean_stale(folder: Path) -> None:
    """Remove temp files that a killed process of ours left in the folder."""
    try:
        names = os.listdir(folder)
    except PermissionError:  # a folder that may be written but not read
        return
    for match in filter(None, map(_TEMPORARY.fullmatch, names)):
        with contextlib.suppress(OSError):
            # Its number may belong to another process now, or it was one of another machine.
            if not is_alive(int(match[1])) or time.time() - (folder / match[0]).lstat().st_mtime > _A_DAY:
                (folder / match[0]).unlink()


# Folders: what is done to one lasts when it has been synced.


def make_folder(folder: Path) -> None:
    """The folder with its parents, each known to the disk before anything is put in it."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
    _sync(folder.parent)


def private_folder(folder: Path) -> None:
    if not folder.is_dir():
        make_folder(folder)
    elif os.name != "nt" and folder.stat().st_mode & 0o077:
        folder.chmod(_PRIVATE_FOLDER)


_waiting: dict[int, set[Path]] = {}  # by thread: folders that are to be synced together


@contextlib.contextmanager
def folders_once() -> Iterator[None]:
    """Sync folders at the end, each once: a thousand moves need two syncs, not two thousand."""
    thread = threading.get_ident()
    if thread in _waiting:
        yield
        return
    _waiting[thread] = set()
    try:
        yield
    finally:
        for folder in _waiting.pop(thread):
            with writing_to(folder):
                _sync(folder)


def sync_folder(folder: Path) -> None:
    if (waiting := _waiting.get(threading.get_ident())) is None:
        _sync(folder)
    else:
        waiting.add(folder)


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


# Appending: whole lines in one write.


def lines_for(path: Path, text: str) -> bytes:
    """The bytes that carry the text on in the file."""
    head = last = b""
    with (
        writing_to(path),
        contextlib.suppress(FileNotFoundError),
        os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file,
    ):
        head = file.read(_HEAD)
        if size := file.seek(0, os.SEEK_END):
            file.seek(size - 1)
            last = file.read(1)
    return lines_after(head, last, text, path)


def lines_after(head: bytes, last: bytes, text: str, path: Path) -> bytes:
    """The bytes that carry on a file that begins and ends so: its line ends, and a line end first where its last line has none."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadInput(
            f"{path} is encoded as UTF-16; save it as UTF-8 so that Nacre can write to it.",
            f"{path} 的编码是 UTF-16；请另存为 UTF-8，Nacre 才能写入。",
        )
    first = head.find(b"\n")
    newline = b"\r\n" if first > 0 and head[first - 1] == 0x0D else b"\n"
    body = text if text.endswith("\n") else text + "\n"
    data = body.replace("\r\n", "\n").encode("utf-8", "replace").replace(b"\n", newline)
    return data if last in (b"", b"\n") else newline + data


def append_bytes(path: Path, data: bytes, *, root: Path | None = None, durable: bool = True) -> int:
    """One `O_APPEND` write, then fsync; returns the offset of the bytes.

    A write that did not fit or is not safe on the disk is taken back if nobody wrote after it.
    """
    target = real_target(path, root)
    with writing_to(path):
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
    return end - written


# Editing a daily log in place, because others append to it: never a rename under an open file.


def edit_log(workspace: Workspace, path: Path, before: bytes, after: bytes) -> bool:
    """Change a daily log in place; False when it no longer begins with `before`. One that is empty then is removed.

    Whoever holds the file open goes on writing into it, and what they append meanwhile stays at its end. The journal holds both
    contents until the edit is complete: `repair_log` completes one that was killed.
    """
    target = real(path)
    with writing_to(path):
        make_folder(target.parent)
        created = not target.exists()
        descriptor = open_regular(target, os.O_RDWR | os.O_CREAT)
        try:
            changed = _edit(descriptor, _journal(workspace), target.name, before, after)
        except BaseException:
            if created and os.fstat(descriptor).st_size == 0:
                target.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)
        if created:
            sync_folder(target.parent)
        _remove_empty(target)
        _journal(workspace).unlink(missing_ok=True)
    return changed


def _edit(descriptor: int, journal: Path, name: str, before: bytes, after: bytes) -> bool:
    while True:
        with open(descriptor, "rb", closefd=False) as file:
            file.seek(0)
            current = file.read()
        if not current.startswith(before):
            return False
        before, after = current, after + current[len(before) :]
        contents = {"log": name, "before": before.decode("latin-1"), "after": after.decode("latin-1")}
        write(journal, json.dumps(contents).encode(), root=journal.parent)
        if os.fstat(descriptor).st_size != len(before):
            continue  # something was appended while the journal was written
        start = _common_length(before, after)
        os.lseek(descriptor, start, os.SEEK_SET)
        try:
            write_all(descriptor, after[start:])
        except OSError:  # no room for what is new: what was overwritten has its room
            os.lseek(descriptor, start, os.SEEK_SET)
            write_all(descriptor, before[start:])
            os.ftruncate(descriptor, len(before))
            journal.unlink()
            raise
        if len(after) < len(before):
            if os.fstat(descriptor).st_size != len(before):  # something was appended before the rest could be cut off
                before = after + before[len(after) :]
                continue
            os.ftruncate(descriptor, len(after))
        os.fsync(descriptor)
        return True


def _remove_empty(log: Path) -> None:
    """Remove a log that is empty; what is appended to it in this moment is kept."""
    with log.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            remove(log)
            if appended := file.read():
                append_bytes(log, appended)


def repair_log(workspace: Workspace) -> None:
    """Complete the edit of a log that was killed; called by whoever takes the lock of the workspace."""
    journal = _journal(workspace)
    with writing_to(journal):
        if not os.path.lexists(journal):
            return
        try:
            contents = json.loads(b"" if journal.is_symlink() else journal.read_bytes())
            name = str(contents["log"])
            before, after = (contents[key].encode("latin-1") for key in ("before", "after"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            name, before, after = "", b"", b""  # not written by us
        path = workspace.memory / name
        if DAY_NAME.fullmatch(name) and not path.is_symlink():
            current = read_bytes(path) or b""
            written = _common_length(current, after)
            if len(current) >= len(before) and current[written : len(before)] == before[written:]:
                edit_log(workspace, path, current[: max(written, len(before))], after)
            elif path.is_file():
                _remove_empty(path)
        journal.unlink(missing_ok=True)


def _journal(workspace: Workspace) -> Path:
    return workspace.machine / "edit.json"


def _common_length(first: bytes, second: bytes) -> int:
    return len(os.path.commonprefix([first, second]))  # noqa: RUF071 - bytes, not paths


# Archived logs as gzip: the same bytes give the same file, whenever and wherever they are packed.

COMPRESSED = ".gz"


def compress(data: bytes) -> bytes:
    import gzip

    return gzip.compress(data, mtime=0)


def decompress(data: bytes, shown: str) -> bytes:
    """The log as it was; `NacreError` when the file is damaged, or swells to more than any log is."""
    import gzip
    import io
    import zlib

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(LARGEST_LOG + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise NacreError(
            f"{shown} is damaged and cannot be decompressed; it was left unchanged.",
            f"{shown} 已损坏，无法解压，未作改动。",
        ) from error
    if len(unpacked) > LARGEST_LOG:
        raise NacreError(
            f"{shown} is too large for a log and was left unchanged.", f"{shown} 超过日志的大小上限，未作改动。"
        )
    return unpacked


# One writer at a time, of all processes and threads: by a lock on an open file. Re-entrant within a thread.

TIMEOUT = 30.0
# Process, thread and lock file: a forked child does not hold the lock of its parent.
_held: set[tuple[int, int, str]] = set()


@contextlib.contextmanager
def lock(workspace: Workspace, *, timeout: float = TIMEOUT) -> Iterator[None]:
    """Hold the workspace for writing; `Locked` when another holds it for longer than the timeout."""
    if not workspace.root.is_dir():
        raise NoWorkspace(
            f'{workspace.root} is not a workspace. Create one with "nacre init {workspace.root}".',
            f"{workspace.root} 不是工作区。可用“nacre init {workspace.root}”创建。",
        )
    with hold(workspace.lock, timeout=timeout):
        repair_log(workspace)
        yield


@contextlib.contextmanager
def hold(path: Path, *, timeout: float = TIMEOUT) -> Iterator[None]:
    with writing_to(path.parent):
        make_folder(path.parent)
    key = (os.getpid(), threading.get_ident(), os.path.realpath(path))
    if key in _held:
        yield
        return
    descriptor = _take(path, time.monotonic() + timeout)
    _held.add(key)
    try:
        yield
    finally:
        _held.discard(key)
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
        os.close(descriptor)


def _take(path: Path, deadline: float) -> int:
    """The descriptor of the lock file, locked."""
    while True:
        with writing_to(path):
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
            try:
                descriptor = os.open(path, flags, 0o600)
            except FileNotFoundError:  # the folder was removed in this moment
                make_folder(path.parent)
                descriptor = os.open(path, flags, 0o600)
            try:
                taken = system_lock(descriptor)
            except OSError:
                os.close(descriptor)
                raise
        with contextlib.suppress(FileNotFoundError):
            # Somebody may have removed `.nacre` meanwhile: the locked file must be the one that others will open.
            if taken and os.path.samestat(os.fstat(descriptor), path.stat()):
                with contextlib.suppress(OSError):  # only for the message that others see
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, f"{os.getpid()}\n".encode())
                return descriptor
        os.close(descriptor)
        if not taken:
            if time.monotonic() >= deadline:
                holder = read_bytes(path) or b""
                pid = holder.decode("ascii", "replace").strip()
                who, who_chinese = (f" (process {pid})", f"（进程 {pid}）") if pid else ("", "")
                folder = path.parent.parent
                raise Locked(
                    f"Another command{who} is writing to {folder}. Wait until it has finished, then run this one again.",
                    f"另一个命令{who_chinese}正在写入 {folder}。请等它完成后重新运行。",
                )
            # Short and uneven: who has waited long must not lose to who has just come.
            time.sleep(0.0005 + os.urandom(1)[0] / 60_000)


def system_lock(descriptor: int) -> bool:
    """Take the operating system's lock on an open file without waiting; False when another holds it."""
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # far behind the holder's pid, which others must be able to read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True
