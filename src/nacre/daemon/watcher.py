"""Keeps the index near the files: a change is read soon after it was made, and its vectors are made before anybody asks.

A search does not depend on it: whatever changed before it was asked, it reads itself.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

from nacre.daemon.log import error_place
from nacre.errors import ModelUnusable, NacreError
from nacre.memory import Memory

SCAN_EVERY = 30.0  # seconds, where nobody tells us of changes
TRY_AGAIN, TRY_AT_MOST = 300.0, 3600.0  # seconds until it is tried again to be told: at first, and after many trials
_STEP = 150  # milliseconds without a further change that end a burst of them; also how often the system is asked
_VECTORS_AT_ONCE = 16
_GONE_WAIT = 1.0  # seconds between looks for a workspace that is gone; it may come back before the daemon ends
_OWN_SUFFIXES = (".jsonl", ".json", ".lock", ".tmp")  # what Nacre writes beside memory, with every reading of it


class Watcher(threading.Thread):
    """Watches the folders of memory, by the system's notes or else by looking every half minute until there are notes again."""

    def __init__(
        self,
        memory: Memory,
        log: logging.Logger,
        *,
        scan_every: float = SCAN_EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name="watch", daemon=True)
        self._memory = memory
        self._log = log
        self._scan_every = scan_every
        self._clock = clock
        self._trials = 0  # in vain, since the last watch
        self._again = 0.0  # when the next one is due, by the clock
        self._ended = threading.Event()
        self._wanted = threading.Event()
        self._folders: frozenset[str] = frozenset()
        self.mode = "starting"  # then "events" or "scanning"
        self.reason: str | None = None  # why it scans
        self.updates = 0
        self.seen = threading.Condition()  # told after every update
        self._places = (str(memory.workspace.root), str(memory.workspace.machine))
        if memory.workspace.machine.is_dir():
            memory.keeper.store.stay_in(memory.workspace.machine)  # a daemon ends when that goes
        self._stood = tuple(map(_folder_identity, self._places))

    def end(self) -> None:
        self._ended.set()
        self._wanted.set()

    def look(self) -> None:
        """Look now, whatever was or was not told."""
        self._wanted.set()

    @property
    def tries_again_in(self) -> float | None:
        """Seconds until watching is tried again; None while it works."""
        return max(0.0, self._again - self._clock()) if self.mode == "scanning" else None

    def run(self) -> None:
        while not self._ended.is_set():
            if not self._is_there():
                self._ended.wait(_GONE_WAIT)
                continue
            self._update()
            try:
                for _ in self._changes():
                    if not self._is_there() or not self._update():
                        break  # other folders than were watched
            except Exception as trouble:  # noqa: BLE001 - to watch worse is better than not at all
                self._fall_back(error_place(trouble))

    def _is_there(self) -> bool:
        """Whether the workspace is still where it was: one that was moved or deleted is not made anew by an index."""
        return all(known in (None, _folder_identity(one)) for one, known in zip(self._places, self._stood, strict=True))

    def _changes(self) -> Iterator[None]:
        """Yields whenever there may be something to read."""
        if (self.mode == "scanning" and not self._is_time_to_try()) or not self._can_be_watched():
            yield from self._scans()
            return
        import watchfiles

        if self.mode != "scanning":
            self.mode = "events"
        root = str(self._memory.workspace.root)
        settled = False
        try:
            for changed in watchfiles.watch(
                *(one for one in sorted(self._folders) if os.access(one, os.R_OK)),
                watch_filter=lambda _, path: _is_memory_path(path, root),
                debounce=max(self._memory.config.serve.watch_debounce_ms, _STEP),
                step=_STEP,
                stop_event=self._ended,
                rust_timeout=1000,
                yield_on_timeout=True,
                raise_interrupt=False,
                recursive=False,
                ignore_permission_denied=False,  # true would swallow every error, also that the watches are used up
                force_polling=False,
            ):
                if self.mode == "scanning":
                    self._log.warning("watching again")
                    self.mode, self.reason, self._trials = "events", None, 0
                # Once more after the watch was set: what was written between the last look and that, nobody told us of.
                if changed or not settled or self._wanted.is_set():
                    settled = True
                    yield
        except (OSError, RuntimeError) as trouble:  # the limit of watches, or a folder that went away
            if all(map(os.path.isdir, self._folders)):
                without_paths = str(trouble).partition(" about ")[0]  # the log holds none
                self._fall_back(without_paths.rstrip("."))

    def _is_time_to_try(self) -> bool:
        return self._clock() >= self._again

    def _scans(self) -> Iterator[None]:
        while not self._ended.is_set() and not self._is_time_to_try():
            self._wanted.wait(self._scan_every)
            if not self._ended.is_set():
                yield

    def _can_be_watched(self) -> bool:
        from nacre.index.freshness import all_on_local_disks

        if sys.platform.startswith("linux") and not all_on_local_disks(
            {os.path.realpath(one) for one in self._folders}
        ):
            self._fall_back("a file system that others may write to")
            return False
        return True

    def _fall_back(self, reason: str) -> None:
        """Scan from now on, and try to watch again after longer and longer: limits are raised, other programs end."""
        wait = min(TRY_AGAIN * 2 ** min(self._trials, 10), TRY_AT_MOST)
        if self.mode != "scanning":
            self._log.warning("scanning every %.0f s instead of watching: %s", self._scan_every, reason)
        else:
            self._log.info("still scanning after trial %d: %s; again in %.0f s", self._trials, reason, wait)
        self._again = self._clock() + wait
        self._trials += 1
        self.mode, self.reason = "scanning", reason

    def _update(self) -> bool:
        """Read what changed, then make its vectors; False when the folders of memory are others than before."""
        self._wanted.clear()
        began = time.monotonic()
        memory = self._memory
        try:
            memory.keeper.store.safely(memory.keeper.current)
            self.updates += 1
            with self.seen:
                self.seen.notify_all()
            made = self._fill()
            if memory.keeper.outdated():
                memory.embed()
            self._log.info("update %.1f ms, %d vectors", (time.monotonic() - began) * 1000, made)
        except NacreError as trouble:
            self._log.warning("update failed: %s", error_place(trouble))
        except Exception as trouble:  # noqa: BLE001 - the next change is tried again
            self._log.error("update failed: %s", error_place(trouble))
        before, self._folders = self._folders, self._seen_folders()
        return before == self._folders

    def _fill(self) -> int:
        """Vectors in small steps, so that whoever asks meanwhile is not kept waiting."""
        from nacre.index.embedding import fill

        try:
            embedder, _ = self._memory.embedder()
            store = self._memory.keeper.store
            made = 0
            while embedder and not self._ended.is_set() and self._is_there():
                done = store.safely(lambda: fill(store, embedder, most=_VECTORS_AT_ONCE))
                made += done
                if done < _VECTORS_AT_ONCE:
                    break
        except ModelUnusable as trouble:
            self._log.warning("no vectors: %s", error_place(trouble))
        return made

    def _seen_folders(self) -> frozenset[str]:
        if known := self._memory.keeper.folders:
            return known
        from nacre.vault.files import memory_files

        folders: set[str] = set()
        for _ in memory_files(self._memory.workspace, self._memory.config, folders):
            pass
        return frozenset(folders)


def _folder_identity(place: str) -> tuple[int, int] | None:
    try:
        about = os.stat(place)
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _is_memory_path(path: str, root: str) -> bool:
    """Whether a change may be one of memory: not what we write ourselves, nor anything hidden below the workspace."""
    name = os.path.basename(path)
    return (
        not name.startswith(".")
        and not name.endswith(_OWN_SUFFIXES)
        and not path.startswith(os.path.join(root, ".nacre"))
    )
