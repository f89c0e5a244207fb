"""What is to be captured: one small file for each talk that an agent's hook named. Paths and offsets, never a word that was said.

Written with little of the standard library while an agent waits; read by sync, which takes away what it has captured.
"""

from __future__ import annotations

import os
import stat

from nacre.vault import scratch

TYPE_CHECKING = False  # as in typing, without its cost
if TYPE_CHECKING:
    from typing import Any

VERSION = 1
OLDEST = 30 * 86_400.0  # seconds, after which nobody waits for a talk any more
MOST = 1000  # talks; hooks of that many sessions without one capture are a fault somewhere
_LONGEST = 4096  # characters of a path or an id
_FARTHEST = 1 << 53  # a number beyond it was not written by us
_AT_ONCE = b"true}"


class Queued:
    """A talk that waits: whose, which, where, how long its transcript was then, and whether it is wanted at once."""

    __slots__ = ("agent", "at", "now", "path", "session", "size", "stamp", "transcript")

    def __init__(
        self,
        path: str,
        stamp: tuple[int, int],
        agent: str,
        session: str,
        transcript: str,
        size: int,
        at: float,
        now: bool,
    ) -> None:
        self.path = path  # of the file in the inbox
        self.stamp = stamp  # of that file, as it was read
        self.agent = agent
        self.session = session
        self.transcript = transcript
        self.size = size
        self.at = at
        self.now = now


def folder(root: str) -> str:
    return os.path.join(root, ".nacre", "inbox")


def queue(root: str, agent: str, session: str, transcript: str, *, at: float, now: bool = False) -> bool:
    """Note that a talk went on, in the one file of its session. `now` asks for it to be captured soon: it ended, or its agent is about
    to forget the beginning. False where there is no transcript to read."""
    if not agent or not transcript or len(transcript) > _LONGEST or len(session) > _LONGEST:
        return False
    transcript = os.path.abspath(os.path.expanduser(transcript))
    session = session or os.path.basename(transcript)
    if "\0" in transcript or not all(map(_is_sound, (agent, session, transcript))):
        return False
    try:
        about = os.stat(transcript)
    except (OSError, ValueError):
        return False
    if not stat.S_ISREG(about.st_mode):
        return False
    name = f"{_name(agent, session)}.json"
    before = scratch.read(os.path.join(folder(root), name))
    at_once = now or (before is not None and before.endswith(_AT_ONCE))
    told = f'{{"version":{VERSION},"agent":{_quoted(agent)},"session":{_quoted(session)}'
    told += f',"transcript":{_quoted(transcript)},"size":{about.st_size},"at":{int(at)},"now":'
    scratch.put(folder(root), name, told.encode("ascii") + (_AT_ONCE if at_once else b"false}"))
    if before is None:  # once a session: where nothing is ever captured, nothing else would make room
        scratch.thin(folder(root), MOST)
    return True


def waiting(root: str) -> list[Queued]:
    """The talks that wait, the oldest first. What cannot be understood is passed over."""
    found: list[Queued] = []
    try:
        names = sorted(name for name in os.listdir(folder(root)) if name.endswith(".json"))
    except OSError:
        return []
    for name in names:
        if len(found) < MOST and (one := _read(os.path.join(folder(root), name))):
            found.append(one)
    return sorted(found, key=lambda one: (one.at, one.path))


def done(one: Queued) -> bool:
    """Take a talk away that was captured; False when its hook has written again meanwhile, or it cannot be taken away."""
    try:
        if _stamp(one.path) != one.stamp:
            return False
        os.unlink(one.path)
    except OSError:
        return False
    return True


def clean(root: str, now: float) -> int:
    """Take away what nobody waits for any more, what a killed hook left half written, and what can never be captured."""
    return _without_hopeless(root) + scratch.sweep(folder(root), older_than=OLDEST, most=MOST, now=now)


def _without_hopeless(root: str) -> int:
    """Take away files of this user's that cannot be understood; one of another version waits for that version."""
    gone = 0
    try:
        paths = [os.path.join(folder(root), name) for name in os.listdir(folder(root)) if name.endswith(".json")]
    except OSError:
        return 0
    for path in paths:
        try:
            about = os.lstat(path)
            if stat.S_ISREG(about.st_mode) and _is_of_user(about) and _read(path) is None and not _is_newer(path):
                os.unlink(path)
                gone += 1
        except OSError:
            continue
    return gone


def _read(path: str) -> Queued | None:
    """What a file tells; None for one that is not understood, or that another user could have written."""
    try:
        about = os.lstat(path)
    except OSError:
        return None
    if not _is_of_user(about):
        return None
    told: dict[str, Any] = scratch.read_json(path)
    words = [told.get(name) for name in ("agent", "session", "transcript")]
    numbers = [told.get(name) for name in ("size", "at")]
    if told.get("version") != VERSION or not all(isinstance(one, str) and _is_sound(one) for one in words):
        return None
    if not all(isinstance(one, int) and 0 <= one < _FARTHEST for one in numbers):
        return None
    agent, session, transcript = map(str, words)
    if not os.path.isabs(transcript) or "\0" in transcript:
        return None
    try:
        if not _is_of_user(os.stat(transcript)):
            return None
    except OSError:  # it is gone, which sync finds out
        pass
    size, at = (int(one or 0) for one in numbers)
    stamp = (about.st_ino, about.st_mtime_ns)
    return Queued(path, stamp, agent, session, transcript, size, at, told.get("now") is True)


def _is_sound(text: str) -> bool:
    """Whether a text can be written down: half a character cannot, nor a path of bytes that are no UTF-8."""
    return 0 < len(text) <= _LONGEST and not any("\ud800" <= sign <= "\udfff" for sign in text)


def _is_of_user(about: os.stat_result) -> bool:
    """Whether a file is this user's own, or root's: words that anybody else put there are not this user's talk."""
    return not hasattr(os, "geteuid") or about.st_uid in (os.geteuid(), 0)


def _is_newer(path: str) -> bool:
    version = scratch.read_json(path).get("version")
    return isinstance(version, int) and version > VERSION


def _stamp(path: str) -> tuple[int, int]:
    about = os.lstat(path)
    return about.st_ino, about.st_mtime_ns


def _name(agent: str, session: str) -> str:
    """A file name for a session: an id may hold anything."""
    from _blake2 import blake2b

    return blake2b(f"{agent}\0{session}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _quoted(text: str) -> str:
    try:
        from _json import encode_basestring_ascii  # the module itself takes ten milliseconds to import
    except ImportError:  # another Python than CPython
        import json

        return json.dumps(text)
    return encode_basestring_ascii(text)
