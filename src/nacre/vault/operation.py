"""A group of changes that belong together: under one lock, recorded before each file is touched, undone as one."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import NacreError, NotFound, PathEscape, cannot_write
from nacre.vault import atomic, blobs, jsonl
from nacre.vault.history import Change, content_now, last_id, must_be_kept, operations_file, unfinished
from nacre.vault.lock import TIMEOUT, lock
from nacre.vault.logfile import append_bytes, lines_for, tail_of
from nacre.vault.workspace import Workspace
from nacre.words import say


class Operation:
    """One command at work. Its number is taken when the first change is recorded."""

    def __init__(
        self,
        workspace: Workspace,
        clock: Clock,
        command: str,
        config: Config,
        undoes: tuple[int, ...],
        number: int | None,
    ) -> None:
        self.workspace = workspace
        self.clock = clock
        self.command = command
        self.config = config
        self.undoes = undoes
        self.id = number
        self.is_whole = True  # False when something that was recorded was not done after all

    def record(self, changes: Sequence[Change], contents: Iterable[bytes]) -> None:
        """Put on disk what is about to change, and every content needed to show it or take it back."""
        if not self.config.history.enabled:
            return
        must_be_kept(changes)
        keep(self.workspace, self.config, contents)
        try:
            if self.id is None:
                self.id = last_id(self.workspace) + 1
        except OSError as trouble:
            raise cannot_write(self.workspace.history, trouble) from trouble
        line: dict[str, Any] = {"id": self.id, "at": self.clock.now().isoformat(timespec="seconds")}
        line |= {"command": self.command, "changes": [change.as_json() for change in changes]}
        if self.undoes:
            line["undoes"] = list(self.undoes)
        self._append(line, durable=True)

    def finish(self) -> None:
        """Say that it went through: evidence for the rare case that the hashes of the files no longer tell."""
        if self.id is not None and self.is_whole:
            with contextlib.suppress(NacreError):
                self._append({"id": self.id, "done": True}, durable=False)

    def _append(self, line: dict[str, Any], *, durable: bool) -> None:
        path = operations_file(self.workspace)
        append_bytes(path, lines_for(tail_of(path), jsonl.dump(line)), durable=durable)

    @cached_property
    def _roots(self) -> frozenset[Path]:
        tiers = self.workspace.tiers(self.config.tiers.path)
        return frozenset((atomic.real(self.workspace.root), atomic.real(tiers)))

    def place(self, path: Path) -> Path:
        """The file that a path really names; `PathEscape` when it is none of the workspace or its checkpoint layers."""
        real = atomic.real(path)
        if not self._roots.isdisjoint(real.parents):
            return real
        counts = self.workspace.refcount(self.config.tiers.path)
        if real == atomic.real(counts.parent) / counts.name:  # a link in its place is not followed
            return real
        raise PathEscape(
            say(
                f"{path} leads out of the workspace; Nacre does not write there.",
                f"{path} 指向工作区之外；Nacre 不会写入。",
            )
        )


def keep(workspace: Workspace, config: Config, contents: Iterable[bytes]) -> None:
    """Let history have contents, on disk. Needs no lock: what is about to be written may be kept before one is taken."""
    if not config.history.enabled:
        return
    try:
        blobs.private_folder(workspace.machine)
        blobs.private_folder(workspace.history)
        with atomic.folders_once():
            for content in contents:
                blobs.store(workspace.history, content)
    except OSError as trouble:
        raise cannot_write(workspace.history, trouble) from trouble


def _complete_torn_append(workspace: Workspace) -> None:
    """A crash in the middle of an append leaves half a line at the end of the file: the rest, which history has, is written.

    A record may have come with a clone, so only the files that are appended to are completed. What ends with a whole line is left
    as it is: somebody may have taken the lines after it out by hand.
    """
    change = unfinished(workspace)
    if change is None or change.bytes is None or not _is_appended_to(change.path):
        return
    path = workspace.root / change.path
    written = (content_now(workspace, change.path) or b"")[change.offset :]
    try:
        wanted = blobs.load(workspace.history, change.bytes) if written else b""
    except NotFound:
        return
    if len(written) < len(wanted) and wanted.startswith(written) and not written.endswith(b"\n"):
        append_bytes(path, wanted[len(written) :], root=workspace.root)


def _is_appended_to(path: str) -> bool:
    """Whether a path is that of a log, the ledger, provenance or recalls."""
    folder, *rest = path.split("/")
    return folder == "memory" and path.endswith((".md", ".jsonl")) and not any(part[:1] in ("", ".") for part in rest)


class _Current(threading.local):
    def __init__(self) -> None:
        self.operations: dict[tuple[int, str], Operation] = {}


_current = _Current()


@contextlib.contextmanager
def operation(
    workspace: Workspace,
    clock: Clock,
    command: str,
    config: Config | None = None,
    *,
    undoes: tuple[int, ...] = (),
    number: int | None = None,
    timeout: float = TIMEOUT,
) -> Iterator[Operation]:
    """Hold the workspace and collect changes. Inside another operation of this thread, its changes join that one.

    `number` is that of an operation which was stopped and goes on.
    """
    key = (os.getpid(), os.path.realpath(workspace.root))
    if outer := _current.operations.get(key):
        yield outer
        return
    with lock(workspace, timeout=timeout):
        _complete_torn_append(workspace)
        begun = Operation(workspace, clock, command, config or Config(), undoes, number)
        _current.operations[key] = begun
        try:
            yield begun
            begun.finish()
        finally:
            del _current.operations[key]
