"""The thread of the daemon that runs due jobs, each in a process of its own."""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from nacre.errors import Locked, NacreError, error_place
from nacre.jobs.run import ONLY_QUEUED, look
from nacre.memory import Memory

_AFTER_START = 10.0  # seconds: whoever started us wants an answer first
_AFTER_ERROR = 300.0
_AFTER_ANOTHER = 30.0  # where another runner was at it, whose work is mostly what was wanted
_LONGEST_WAIT = 900.0  # a machine that slept is noticed by then, whatever its clocks say
_END_WITHIN = 10.0
_BETWEEN_SESSIONS = 5.0  # an agent that ends session after session does not keep the machine at capturing


class JobThread(threading.Thread):
    """One job at a time, when it is due. One that is not `timed` leaves the times of the jobs to others, and captures what hooks queued."""

    def __init__(self, memory: Memory, log: logging.Logger, *, first: float = _AFTER_START, timed: bool = True) -> None:
        super().__init__(name="jobs", daemon=True)
        self.timed = timed
        self._memory = memory
        self._log = log
        self._changed = threading.Condition()
        self._stopping = False
        self._sessions: set[str] = set()  # transcripts whose agents say that they ended
        self._news = False  # whether a session ended since the last look
        self._child: subprocess.Popen[bytes] | None = None
        self._wait = first
        self._next: dt.datetime | None = None
        self.runs = 0

    @property
    def at_work(self) -> bool:
        return self._child is not None

    def status(self) -> dict[str, Any]:
        child, following = self._child, self._next
        return {
            "running": child.pid if child else None,
            "runs": self.runs,
            "nextLook": following.isoformat(timespec="seconds") if following else None,
            "timed": self.timed,
        }

    def session_ended(self, transcript: str) -> None:
        """Capture a session whose agent says that it ended: at once, or seconds after the one before."""
        with self._changed:
            self._sessions.add(transcript)
            self._news = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Stop looking. A job at work is interrupted: what it has done is whole, and the next run does the rest."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if child := self._child:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(OSError):
                    child.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(_END_WITHIN)
                    break
        if self.is_alive():
            self.join(_END_WITHIN)

    def run(self) -> None:
        captured = -_BETWEEN_SESSIONS  # when ended sessions were last looked at
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or self._news, self._wait)
                if self._news:
                    self._changed.wait_for(lambda: self._stopping, captured + _BETWEEN_SESSIONS - time.monotonic())
                    self._news, captured = False, time.monotonic()
                if self._stopping:
                    return
                sessions, self._sessions = self._sessions, set()
            try:
                self._wait = self._look(sessions)
            except Exception as error:  # noqa: BLE001 - the next look is tried all the same
                level = logging.WARNING if isinstance(error, NacreError) else logging.ERROR
                self._log.log(level, "jobs: %s", error_place(error))
                self._wait = _AFTER_ERROR
                with self._changed:
                    self._sessions |= sessions

    def _look(self, sessions: set[str]) -> float:
        """Run what is due; the seconds in which nothing is."""
        memory = self._memory
        wanted, wake = look(memory, ended=sessions, timed=self.timed)
        if wanted and not self._stopping:
            options = [] if self.timed else [ONLY_QUEUED]
            code = self._run_process(*options, str(memory.workspace.root), *sorted(sessions))
            wanted, wake = look(memory, ended=sessions if code else (), timed=self.timed)
            if code:
                with self._changed:
                    self._sessions |= sessions
            # Still wanted: another runner holds the lock, or it broke off. When a failed one is tried again the journal says.
            if wanted:
                return _AFTER_ANOTHER if code in (0, Locked.exit_code) else _AFTER_ERROR
        self._next = memory.clock.local(wake)
        return max(1.0, min((wake - memory.clock.now()).total_seconds(), _LONGEST_WAIT))

    def _run_process(self, *arguments: str) -> int:
        """Run due jobs in a process; its exit code. What a job has to say stands in the journal."""
        began = time.monotonic()
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", "nacre.jobs.run", *arguments],
            env={**os.environ, "NACRE_NO_DAEMON": "1", "NACRE_HOOK": "1"},  # no agent it starts is answered
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            code = self._child.wait()
        finally:
            self._child = None
        self.runs += 1
        self._log.info("jobs: ended with %d after %.1f s", code, time.monotonic() - began)
        return code
