"""Small files that hooks write while an agent waits: the inbox of sessions to capture (paths and offsets, never a word that was said),
and scratch files that a power cut may take."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import stat
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from nacre.model import Workspace
from nacre.vault.entries import line_digest

_LARGEST = 4_000_000  # bytes; what is larger was not written by us
_A_DAY = 86_400.0
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def put(folder: str, name: str, data: bytes) -> None:
    """Put a file into a folder of ours, readable by its owner alone. A link in the place of the folder is refused."""
    own_folder(folder)
    temporary = os.path.join(folder, f".{name}-{os.getpid()}-{threading.get_ident()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINK, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, os.path.join(folder, name))
    except BaseException:
        os.unlink(temporary)
        raise


def put_json(folder: str, name: str, value: Any) -> None:
    put(folder, name, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def read(path: str) -> bytes | None:
    """The bytes of such a file; None when it is missing, a link, or no file of ours."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0))
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
    try:
        table = json.loads(read(path) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def add_line(folder: str, name: str, line: str, most: int) -> None:
    """Append a line to a log, which begins anew when it has become larger than so many bytes."""
    own_folder(folder)
    descriptor = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINK, 0o600)
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
    remaining: list[tuple[float, str]] = []
    removed = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                changed = entry.stat(follow_symlinks=False).st_mtime
                if now - changed > (_A_DAY if entry.name.endswith(".tmp") else older_than):
                    removed += _remove(entry.path)
                elif entry.name.endswith(".json"):
                    remaining.append((changed, entry.path))
    except OSError:
        return removed
    return removed + sum(_remove(path) for _, path in sorted(remaining)[: max(0, len(remaining) - most)])


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


# The inbox: one small file for each session that an agent's hook named.

_VERSION = 1
OLDEST_QUEUED = 30 * 86_400.0  # seconds, after which nobody waits for a session any more
MOST_QUEUED = 1000  # sessions; that many are only there if capturing fails


class Queued(NamedTuple):
    """A session that waits: whose, which, where, since when, and whether it is to be captured at once."""

    path: str  # of the file in the inbox
    stamp: tuple[int, int]  # of that file, as it was read
    agent: str
    session: str
    transcript: str
    at: float
    now: bool


def inbox_folder(root: str) -> str:
    return os.path.join(root, ".nacre", "inbox")


def queue(root: str, agent: str, session: str, transcript: str, *, at: float, now: bool = False) -> bool:
    """Write the file that queues a session for capture. `now` asks for it to be captured soon: it ended, or its agent is about
    to compact it. False where there is no transcript to read."""
    if not agent or not transcript:
        return False
    transcript = os.path.abspath(os.path.expanduser(transcript))
    session = session or os.path.basename(transcript)
    try:
        about = os.stat(transcript)
    except (OSError, ValueError):
        return False
    if not stat.S_ISREG(about.st_mode):
        return False
    # An id may hold anything, so the file is named by its hash.
    name = hashlib.blake2b(f"{agent}\0{session}".encode("utf-8", "replace"), digest_size=12).hexdigest() + ".json"
    folder = inbox_folder(root)
    before = read_json(os.path.join(folder, name))
    fields = {"version": _VERSION, "agent": agent, "session": session, "transcript": transcript, "size": about.st_size}
    fields |= {"at": int(at), "now": now or before.get("now") is True}
    put(folder, name, json.dumps(fields).encode())
    if not before:  # once a session: where nothing is ever captured, nothing else would make room
        clean_inbox(root, at)
    return True


def waiting(root: str) -> list[Queued]:
    """The sessions that wait, the oldest first. What cannot be understood is passed over."""
    folder = inbox_folder(root)
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []
    queued = [session for name in names if (session := _read_queued(os.path.join(folder, name)))]
    return sorted(queued[:MOST_QUEUED], key=lambda session: (session.at, session.path))


def remove_queued(queued: Queued) -> bool:
    """Take a session away that was captured; False when its hook has written again meanwhile, or it cannot be taken away."""
    try:
        about = os.lstat(queued.path)
    except OSError:
        return False
    return (about.st_ino, about.st_mtime_ns) == queued.stamp and _remove(queued.path)


def clean_inbox(root: str, now: float) -> int:
    """Take away what nobody waits for any more, and what a killed hook left half written; how many went."""
    return sweep(inbox_folder(root), older_than=OLDEST_QUEUED, most=MOST_QUEUED, now=now)


def _read_queued(path: str) -> Queued | None:
    """What a file tells; None for one that is not understood, whose transcript is gone, or that another user could have written."""
    fields: dict[str, Any] = read_json(path)
    try:
        is_known = fields["version"] == _VERSION and isinstance(fields["at"], int)
        is_named = isinstance(fields["agent"], str) and isinstance(fields["session"], str)
        if not is_known or not is_named or not os.path.isabs(fields["transcript"]):
            return None
        about = os.lstat(path)
        ours = _is_of_user(about) and _is_of_user(os.stat(fields["transcript"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    values = {name: fields[name] for name in ("agent", "session", "transcript", "at")}
    return Queued(path, (about.st_ino, about.st_mtime_ns), **values, now=fields.get("now") is True) if ours else None


def _is_of_user(about: os.stat_result) -> bool:
    """Whether a file is this user's own, or root's: words that anybody else put there are not this user's session."""
    return not hasattr(os, "geteuid") or about.st_uid in (os.geteuid(), 0)


# Which lines of memory the hooks gave a session, by digests, so that no line is given twice or captured as new.


def _session_file(workspace: Workspace, session: str) -> tuple[str, str]:
    """The folder and the name of the file in which a session's hooks note, by digests, which lines they gave it."""
    name = hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return str(workspace.machine / "hooks"), f"{name}.json"


MOST_LINES = 2000  # digests of a session; the oldest are forgotten first
MOST_SESSIONS = 200
MOST_GIVEN = 100  # times that a session was given something
OLDEST = 14 * 86_400.0  # seconds, after which a session that comes back is told everything anew


class Delivered(NamedTuple):
    """When a session was last given its context, digests of the lines that it knows; its id as kept, when it was given how many tokens."""

    at: float = 0.0
    lines: tuple[str, ...] = ()
    session: str = ""
    given: tuple[tuple[float, int], ...] = ()

    def knows(self, lines: Iterable[str]) -> list[bool]:
        digests = set(self.lines)
        return [line_digest(line) in digests for line in lines]

    def with_lines(self, text: str, at: float | None = None) -> Delivered:
        """This and the lines of a text."""
        lines = tuple(dict.fromkeys((*self.lines, *filter(None, map(line_digest, text.splitlines())))))[-MOST_LINES:]
        return self._replace(at=self.at if at is None else at, lines=lines)

    def with_given(self, session: str, at: float, tokens: int) -> Delivered:
        return self._replace(session=session, given=(*self.given, (at, tokens))[-MOST_GIVEN:])


def load_delivered(workspace: Workspace, session: str) -> Delivered:
    """What a session was given; nothing where that is not known."""
    return _read_delivered(os.path.join(*_session_file(workspace, session))) if session else Delivered()


def _read_delivered(path: str) -> Delivered:
    row = read_json(path)
    try:
        times = tuple((float(at), int(tokens)) for at, tokens in row.get("given", ()))
        lines = tuple(line for line in row["lines"] if isinstance(line, str))[-MOST_LINES:]
        return Delivered(float(row["at"]), lines, str(row.get("session", "")), times)
    except (KeyError, TypeError, ValueError):
        return Delivered()


def latest_delivered(workspace: Workspace, most: int) -> list[Delivered]:
    """What the sessions were given to which something was given last, the latest first."""
    folder = str(workspace.machine / "hooks")
    try:
        with os.scandir(folder) as entries:
            files = [(entry.stat().st_mtime, entry.path) for entry in entries if entry.name.endswith(".json")]
    except OSError:
        return []
    newest = (_read_delivered(path) for _, path in sorted(files, reverse=True)[:most])
    return [delivered for delivered in newest if delivered.given]


def save_delivered(workspace: Workspace, session: str, delivered: Delivered, now: float) -> None:
    """Write down what a session was given, and remove old files. Where nothing can be written, the session is given it again."""
    if not session:
        return
    folder, name = _session_file(workspace, session)
    with contextlib.suppress(OSError):
        new = not os.path.exists(os.path.join(folder, name))
        put_json(folder, name, delivered._asdict())
        if new or delivered.at == now:  # once a session, not with every prompt
            sweep(folder, older_than=OLDEST, most=MOST_SESSIONS, now=now)


def lines_given_to(workspace: Workspace, session: str, texts: Callable[[], Iterable[str]]) -> list[str]:
    """Those lines of some texts that a session was given by its hooks."""
    given = set(load_delivered(workspace, session).lines)
    return [line for text in texts() for line in text.splitlines() if line_digest(line) in given] if given else []


def forget_delivered(workspace: Workspace) -> None:
    """Remove the digests of lines, by which a line could still be recognised; when something was given to a session is kept."""
    given = latest_delivered(workspace, MOST_SESSIONS)
    sweep(str(workspace.machine / "hooks"), older_than=0, most=0, now=math.inf)
    for delivered in given:
        with contextlib.suppress(OSError):
            put_json(*_session_file(workspace, delivered.session), delivered._replace(at=0.0, lines=())._asdict())
