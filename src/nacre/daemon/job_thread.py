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
from collections.abc import Sequence
from typing import Any

from nacre.daemon.log import error_place
from nacre.errors import BadInput, Locked, NacreError
from nacre.i18n import say
from nacre.jobs.tick import ONLY_QUEUED
from nacre.memory import Memory

_AFTER_START = 10.0  # seconds: whoever started us wants an answer first
_AFTER_ERROR = 300.0
_AFTER_ANOTHER = 30.0  # where another runner was at it, whose work is mostly what was wanted
_LONGEST_WAIT = 900.0  # a machine that slept is noticed by then, whatever its clocks say
_END_WITHIN = 10.0
_BETWEEN_SESSIONS = 5.0  # seconds: an agent that ends talk after talk does not keep the machine at capturing


class JobThread(threading.Thread):
    """One job at a time, when it is due or when somebody asks for it. One that is not `timed` leaves the times of the jobs to others:
    it captures what hooks queued, and runs what is asked for."""

    def __init__(self, memory: Memory, log: logging.Logger, *, first: float = _AFTER_START, timed: bool = True) -> None:
        super().__init__(name="jobs", daemon=True)
        self.timed = timed
        self._memory = memory
        self._log = log
        self._wake = threading.Condition()
        self._ended = False
        self._asked: list[str] = []
        self._over: set[str] = set()
        self._told = False  # of a talk that ended, since the last look
        self._heeded: float | None = None  # when that was last looked at
        self._child: subprocess.Popen[bytes] | None = None
        self._wait = first
        self._next: dt.datetime | None = None
        self.active: dt.datetime | None = None  # when something was last asked
        self.runs = 0

    @property
    def at_work(self) -> bool:
        return self._child is not None or bool(self._asked)

    def status(self) -> dict[str, Any]:
        """How the jobs stand as seen from here; the journal knows the rest."""
        child = self._child
        following = self._next.isoformat(timespec="seconds") if self._next else None
        running = child.pid if child else None
        return {"running": running, "runs": self.runs, "nextLook": following, "timed": self.timed}

    def ask(self, job: str) -> str:
        """Run a job as soon as none runs."""
        from nacre.jobs.schedule import JOB_NAMES

        if job not in JOB_NAMES:
            raise BadInput(
                say(
                    f"There is no such job; there are: {', '.join(JOB_NAMES)}.",
                    f"没有这个任务；现有：{'、'.join(JOB_NAMES)}。",
                )
            )
        with self._wake:
            if job not in self._asked:
                self._asked.append(job)
            self._wake.notify_all()
        return job

    def is_over(self, transcript: str) -> None:
        """A talk's agent says that it has ended: it is captured at once, or seconds after the one before."""
        with self._wake:
            self._over.add(transcript)
            self._told = True
            self._wake.notify_all()

    def end(self) -> None:
        """Stop looking. A job at work is interrupted: what it has done is whole, and the next run does the rest."""
        with self._wake:
            self._ended = True
            self._wake.notify_all()
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
        while True:
            with self._wake:
                if not self._asked and not self._told and not self._ended:
                    self._wake.wait(self._wait)
                if self._told and not self._asked and (rest := self._rest()):
                    self._wake.wait_for(lambda: self._ended or bool(self._asked), rest)
                if self._ended:
                    return
                if self._told:
                    self._told, self._heeded = False, time.monotonic()
                asked, self._asked = self._asked, []
                over, self._over = self._over, set()
            try:
                for job in asked:
                    self._in_a_process(
                        ["-m", "nacre", "--workspace", str(self._memory.workspace.root), "jobs", "run", job]
                    )
                self._wait = self._look(over)
            except Exception as trouble:  # noqa: BLE001 - the next look is tried all the same
                expected = isinstance(trouble, NacreError)
                self._log.log(logging.WARNING if expected else logging.ERROR, "jobs: %s", error_place(trouble))
                self._wait = _AFTER_ERROR
                self._remember(over)

    def _rest(self) -> float:
        """For how many seconds a talk that ended still waits, because another has just been seen to."""
        return 0.0 if self._heeded is None else max(0.0, self._heeded + _BETWEEN_SESSIONS - time.monotonic())

    def _remember(self, over: set[str]) -> None:
        """Talks that ended and could not be captured yet: the next look names them again."""
        with self._wake:
            self._over |= over

    def _look(self, over: set[str]) -> float:
        """Run what is due; for how many seconds nothing is."""
        from nacre.jobs.tick import look

        memory = self._memory
        seen = look(memory, ended=over, active=self.active, timed=self.timed)
        if seen.wanted and not self._ended:
            how = [] if self.timed else [ONLY_QUEUED]
            failed = self._in_a_process(["-m", "nacre.jobs.tick", *how, str(memory.workspace.root), *sorted(over)])
            seen = look(memory, ended=over if failed else (), active=self.active, timed=self.timed)
            if failed:
                self._remember(over)
            # Still wanted: another runner holds the lock, or it broke off. When a failed one is tried again the journal says.
            if seen.wanted:
                return _AFTER_ANOTHER if failed in (0, Locked.exit_code) else _AFTER_ERROR
        self._next = memory.clock.local(seen.wake)
        return max(1.0, min((seen.wake - memory.clock.now()).total_seconds(), _LONGEST_WAIT))

    def _in_a_process(self, command: Sequence[str]) -> int:
        began = time.monotonic()
        environment = {**os.environ, "NACRE_NO_DAEMON": "1", "NACRE_HOOK": "1"}  # no agent it starts is answered
        self._child = subprocess.Popen(
            [sys.executable, "-P", *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # what a job has to say stands in the journal
            stderr=subprocess.DEVNULL,
        )
        try:
            code = self._child.wait()
        finally:
            self._child = None
        self.runs += 1
        self._log.info("jobs: ended with %d after %.1f s", code, time.monotonic() - began)
        return code
