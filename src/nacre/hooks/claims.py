"""One of two: a hook that is registered twice fires twice at the same moment, and what it gives is given once.

Whoever makes a small file first answers. Nothing but the standard library: an agent waits.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from typing import TYPE_CHECKING

from nacre.vault import scratch

if TYPE_CHECKING:
    from nacre.hooks.events import Fired
    from nacre.memory import Memory

HELD = 5.0  # seconds in which the same event of the same session is the same
_OLD = 60.0
_PREFIX = ".claim-"


class Claim:
    """The right to answer one event; it is given back where the answer fails."""

    def __init__(self, memory: Memory, agent: str, fired: Fired) -> None:
        self._folder = str(memory.workspace.machine / "hooks")
        told = repr((agent, fired.session, fired.kind, fired.prompt, fired.source))
        name = hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=12).hexdigest()
        self._path = os.path.join(self._folder, f"{_PREFIX}{name}.tmp") if fired.session else ""
        # A moment that was set stands still: what is asked twice in it is no accident of two processes.
        self._now = time.time() if memory.clock.fixed is None else None

    def take(self) -> bool:
        """Whether it is ours. Where nothing can be written, everybody answers: giving is what counts."""
        if not self._path or self._now is None:
            return True
        try:
            for _ in range(3):  # the other hook may make the same folders at the same moment
                with contextlib.suppress(FileExistsError):
                    scratch.own_folder(self._folder)
                    break
            self._clean(self._now)
            return self._made() or (self._took_over(self._now) and self._made())
        except OSError:
            return True

    def give_back(self) -> None:
        if self._path and self._now is not None:
            _remove(self._path)

    def _made(self) -> bool:
        try:
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return False
        return True

    def _took_over(self, now: float) -> bool:
        """Put an old claim out of the way; one that somebody else made meanwhile in its place is put back."""
        if _is_held(self._path, now):
            return False
        aside = f"{self._path[:-4]}-{os.getpid()}-{time.monotonic_ns()}.tmp"
        try:
            os.rename(self._path, aside)
        except FileNotFoundError:
            return True
        held = _is_held(aside, now)
        if held:
            os.rename(aside, self._path)
        else:
            _remove(aside)
        return not held

    def _clean(self, now: float) -> None:
        with os.scandir(self._folder) as entries:
            old = [one.path for one in entries if one.name.startswith(_PREFIX) and not _is_held(one.path, now, _OLD)]
        for path in old:
            _remove(path)


def _is_held(path: str, now: float, within: float = HELD) -> bool:
    try:
        return abs(now - os.lstat(path).st_mtime) < within
    except FileNotFoundError:
        return False


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
