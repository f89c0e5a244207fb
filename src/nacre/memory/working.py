"""Working memory of one workspace: what is being done now, on disk before the agent answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.clock import Clock
from nacre.config import Config
from nacre.vault.workspace import Workspace

if TYPE_CHECKING:
    from nacre.model.problem import Problem
    from nacre.vault.snapshots import Kept, Snapshot
    from nacre.vault.wal import Edit, Planner
    from nacre.vault.working import State


class Working:
    """SESSION-STATE.md. Every change is fsynced before its method returns, and can be undone."""

    def __init__(self, workspace: Workspace, config: Config, clock: Clock) -> None:
        self.workspace = workspace
        self.config = config
        self.clock = clock
        self.problems: tuple[Problem, ...] = ()

    @classmethod
    def open(cls, path: str | Path | None = None, *, now: str | None = None, agent: str | None = None) -> Working:
        """Open it alone, without what search needs: an agent waits for every write."""
        from nacre.memory.opening import found

        place = found(path, now, agent)
        opened = cls(place.workspace, place.config, place.clock)
        opened.problems = place.problems
        return opened

    def task(self, text: str, *, dry_run: bool = False) -> Edit:
        """Say what is being done now."""
        from nacre.vault import wal

        return self._change("task", lambda desk: wal.task(desk, text), dry_run=dry_run)

    def drop(self, *, dry_run: bool = False) -> Edit:
        """Let the current task go unfinished."""
        from nacre.vault import wal

        return self._change("task", wal.drop, dry_run=dry_run)

    def decide(self, text: str, *, dry_run: bool = False) -> Edit:
        """Write a decision down with its time; the oldest move to today's log when there are too many."""
        from nacre.vault import wal

        return self._change("decide", lambda desk: wal.decide(desk, text), dry_run=dry_run)

    def context(self, key: str, value: str, *, dry_run: bool = False) -> Edit:
        """Keep a value by its key, in the place of the one that it had."""
        from nacre.vault import wal

        return self._change("context", lambda desk: wal.context(desk, key, value), dry_run=dry_run)

    def pending(self, text: str, *, dry_run: bool = False) -> Edit:
        """Write down what is still to be done."""
        from nacre.vault import wal

        return self._change("pending", lambda desk: wal.pending(desk, text), dry_run=dry_run)

    def done(self, which: str | int | None = None, *, dry_run: bool = False) -> Edit:
        """Finish something pending by its number or words, or the current task; today's log says so."""
        from nacre.vault import atomic, wal

        wanted = None if which is None else str(which)
        today = atomic.read_bytes(self.workspace.day(self.clock.today())) if wanted else None
        log = (today or b"").decode("utf-8", "replace")
        return self._change("done", lambda desk: wal.done(desk, wanted, log=log), dry_run=dry_run)

    def blocker(self, text: str, *, dry_run: bool = False) -> Edit:
        """Write down what stands in the way."""
        from nacre.vault import wal

        return self._change("blocker", lambda desk: wal.blocker(desk, text), dry_run=dry_run)

    def clear(self, which: str | int, *, dry_run: bool = False) -> Edit:
        """Take out a blocker by its number or words; today's log says so."""
        from nacre.vault import wal

        return self._change("blocker", lambda desk: wal.clear(desk, str(which)), dry_run=dry_run)

    def read(self) -> State:
        """The file as it stands."""
        from nacre.vault import working

        return working.read(self.workspace, self.clock)

    def shown(self) -> State:
        """The file as it may be shown: without the secrets that somebody wrote into it, and without what the eye cannot see."""
        from nacre.guard.showing import safe
        from nacre.vault.markdown import document

        state = self.read()
        text = "".join(f"{line}\n" for _, line in safe(list(enumerate(state.document.bare, start=1))))
        return state._replace(document=document(state.document.path, text.encode()))

    def get(self) -> dict[str, Any]:
        """Everything that it says, without secrets: task, context, decisions, pending, blockers."""
        from nacre.vault import working

        return working.as_plain(self.shown())

    def snapshots(self) -> tuple[Snapshot, ...]:
        """The copies that are kept, newest first."""
        from nacre.vault.snapshots import snapshots

        return snapshots(self.workspace)

    def snapshot(self, name: str | None = None, *, dry_run: bool = False) -> Kept:
        """Keep a copy of it as it is now."""
        from nacre.vault.snapshots import plan_take, take

        if dry_run:
            return plan_take(self.workspace, self.clock, name)
        return take(self.workspace, self.clock, self.config, name)

    def restore(self, name: str | None = None, *, dry_run: bool = False) -> Kept:
        """Bring a copy back, the newest when none is named."""
        from nacre.vault.snapshots import plan_restore, restore

        if dry_run:
            return plan_restore(self.workspace, name)
        return restore(self.workspace, self.clock, self.config, name)

    def _change(self, verb: str, make: Planner, *, dry_run: bool) -> Edit:
        from nacre.vault.wal import change

        return change(self.workspace, self.clock, self.config, verb, make, dry_run=dry_run)
