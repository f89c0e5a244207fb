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
    return True


def waiting(root: str) -> list[Queued]:
    """The talks that wait, the oldest first. What cannot be understood is passed over."""
    found: list[Queued] = []
    try:
        names = sorted(os.listdir(folder(root)))[:MOST]
    except OSError:
        return []
    for name in names:
        path = os.path.join(folder(root), name)
        if name.endswith(".json") and (one := _read(path)):
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
    """Take away what nobody waits for any more, and what a killed hook left half written."""
    return scratch.sweep(folder(root), older_than=OLDEST, most=MOST, now=now)


def _read(path: str) -> Queued | None:
    try:
        stamp = _stamp(path)
    except OSError:
        return None
    told: dict[str, Any] = scratch.read_json(path)
    words = [told.get(name) for name in ("agent", "session", "transcript")]
    numbers = [told.get(name) for name in ("size", "at")]
    if told.get("version") != VERSION or not all(isinstance(one, str) and one for one in words):
        return None
    if not all(isinstance(one, int) and one >= 0 for one in numbers) or not os.path.isabs(str(words[2])):
        return None
    agent, session, transcript = map(str, words)
    size, at = (int(one or 0) for one in numbers)
    return Queued(path, stamp, agent, session, transcript, size, at, told.get("now") is True)


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
