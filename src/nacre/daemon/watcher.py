"""Keeps the index up to date: a changed file is read soon after the change, and its vectors are made before the next search.

A search does not depend on it: it reads by itself whatever changed before.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time

from nacre.errors import ModelUnusable, NacreError, error_place
from nacre.index.freshness import all_on_local_disks
from nacre.memory import Memory

SCAN_EVERY = 30.0  # seconds, where the system does not tell of changes
_STEP = 150  # milliseconds without a further change that end a burst of them; also how often the system is asked
_VECTORS_AT_ONCE = 16
_GONE_WAIT = 1.0  # seconds between looks for a workspace that is gone; it may come back before the daemon ends
_OWN_SUFFIXES = (".jsonl", ".json", ".lock", ".tmp")  # what Nacre writes beside memory, with every reading of it


class Watcher(threading.Thread):
    """Watches the folders of memory by the system's events; where there are none, scans them periodically until there are."""

    def __init__(self, memory: Memory, log: logging.Logger, *, scan_every: float = SCAN_EVERY) -> None:
        super().__init__(name="watch", daemon=True)
        self._memory = memory
        self._log = log
        self._scan_every = scan_every
        self._stopping = threading.Event()
        self._folders: frozenset[str] = frozenset()
        self.mode = "starting"  # then "events" or "scanning"
        self.reason: str | None = None  # why it scans
        self.updates = 0
        if memory.workspace.machine.is_dir():
            memory.keeper.store.stay_in(memory.workspace.machine)  # where that goes, no index makes it anew

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        while not self._stopping.is_set():
            self._update()
            try:
                if sys.platform.startswith("linux") and not all_on_local_disks(
                    set(map(os.path.realpath, self._folders))
                ):
                    raise OSError("the file system may be changed by other machines")
                self._watch()
            except (OSError, RuntimeError) as error:  # the limit of watches, or a folder that went away
                if not all(map(os.path.isdir, self._folders)):
                    self._stopping.wait(_GONE_WAIT)
                    continue
                self.reason = str(error).partition(" about ")[0].rstrip(".")  # the log holds no paths
                if self.mode != "scanning":
                    self._log.warning("scanning every %.0f s instead of watching: %s", self._scan_every, self.reason)
                self.mode = "scanning"
                self._stopping.wait(self._scan_every)

    def _watch(self) -> None:
        """Read what changes as the system tells of it, until other folders are to be watched."""
        import watchfiles

        machine_folder = os.path.join(self._memory.workspace.root, ".nacre")

        def is_memory(_change: object, path: str) -> bool:
            name = os.path.basename(path)
            return not name.startswith(".") and not name.endswith(_OWN_SUFFIXES) and not path.startswith(machine_folder)

        is_first = True
        for changed in watchfiles.watch(
            *(folder for folder in sorted(self._folders) if os.access(folder, os.R_OK)),
            watch_filter=is_memory,
            debounce=max(self._memory.config.serve.watch_debounce_ms, _STEP),
            step=_STEP,
            stop_event=self._stopping,
            rust_timeout=1000,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=False,
            ignore_permission_denied=False,  # true would swallow every error, also that the watches are used up
            force_polling=False,
        ):
            if self.mode == "scanning":
                self._log.warning("watching again")
            self.mode, self.reason = "events", None
            # Once more after the watch was set: what was written between the last look and that, nobody told us of.
            if (changed or is_first) and not self._update():
                return
            is_first = False

    def _update(self) -> bool:
        """Read what changed, then make its vectors; False when the folders of memory are others than before."""
        began = time.monotonic()
        memory = self._memory
        try:
            memory.keeper.store.safely(memory.keeper.current)
            self.updates += 1
            embedded = self._embed()
            if memory.keeper.outdated():
                memory.embed()
            self._log.info("update %.1f ms, %d vectors", (time.monotonic() - began) * 1000, embedded)
        except Exception as error:  # noqa: BLE001 - the next change is tried again
            level = logging.WARNING if isinstance(error, NacreError) else logging.ERROR
            self._log.log(level, "update failed: %s", error_place(error))
        before, self._folders = self._folders, memory.keeper.folders or frozenset({str(memory.workspace.root)})
        return before == self._folders

    def _embed(self) -> int:
        """Make vectors in small steps, so that whoever asks meanwhile is not kept waiting; how many."""
        count = 0
        try:
            corpus, meaning = self._memory.indexes.memory
            while not self._stopping.is_set():
                done = corpus.store.safely(lambda: meaning.fill(most=_VECTORS_AT_ONCE))
                count += done
                if done < _VECTORS_AT_ONCE:
                    break
        except ModelUnusable as error:
            self._log.warning("no vectors: %s", error_place(error))
        return count
