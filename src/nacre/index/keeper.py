"""Keeps the index true to the files: before every search, and when a changed setting asks for a new generation."""

from __future__ import annotations

import threading

from nacre.config import Config
from nacre.index.store import Generation, Store, wanted_settings
from nacre.index.update import Progress, TextReport, update
from nacre.index.watch import ChangeFeed
from nacre.vault.files import memory_files
from nacre.vault.workspace import Workspace

_PROOF = "watching"


class Keeper:
    """Answers which generation to search, after making sure that it has missed no write."""

    def __init__(self, workspace: Workspace, config: Config, store: Store, *, for_group: bool = False) -> None:
        self.workspace = workspace
        self.for_group = for_group
        self.config = config
        self.store = store
        self._feed = ChangeFeed()
        self._lock = threading.Lock()
        self._scans = 0
        self._folders: set[str] = set()
        self._known: tuple[int, Generation | None] | None = None
        self.each_batch: Progress | None = (
            None  # told of every batch that a search has to read first; may raise to end that
        )

    @property
    def wanted(self) -> str:
        """What a generation must have been made with to fit the settings in force."""
        return wanted_settings(self.config)

    @property
    def folders(self) -> frozenset[str]:
        """The folders whose change could be one of memory, as the last scan saw them; none before the first."""
        return frozenset(self._folders)

    def current(self, progress: Progress | None = None) -> Generation:
        """The generation that answers, fresh: a search never misses a file that changed before it was asked.

        A group does not get answers from one that an older version made: what is whose may have been told otherwise then.
        """
        if self.for_group and self.outdated():
            self.finish()
        with self._lock:
            live = self.store.live()  # another process may have let a new generation take over
            known = (self.store.epoch, live)
            if live and known == self._known and self._feed.quiet():
                return live
            self._known = None  # if this fails, the next one looks again
            live = live or self.store.building(self.wanted)
            self._bring_up(live, progress or self.each_batch)
            self._known = (self.store.epoch, live)
            return live

    def outdated(self) -> bool:
        """Whether the settings have changed since the generation that answers was made."""
        live = self.store.live()
        return live is not None and live.settings != self.wanted

    def rebuild(self, progress: Progress | None = None, *, every_file: bool = False) -> TextReport:
        """Bring the text up to date with files and settings. A new generation is built beside the one that answers."""
        with self._lock:
            wanted = self.store.building(self.wanted)
            report = self._bring_up(wanted, progress, every_file=every_file)
            self._known = None
            return report

    def finish(self) -> None:
        """Let the generation that fits the settings take over, completed first if it was not."""
        with self._lock:
            wanted = self.store.building(self.wanted)
            if not wanted.live:
                self._bring_up(wanted, None)
                self.store.promote(wanted)
            self._known = None

    def _bring_up(self, generation: Generation, progress: Progress | None, *, every_file: bool = False) -> TextReport:
        self._scans += 1
        watching = False
        if self._scans > 2 and self._folders and self.store.on_disk:  # who searches again and again is worth a watch
            watching = self._feed.watch(self._folders, self.store.path.parent / _PROOF)
            self._feed.quiet()  # what was queued until now, the scan below sees
        folders: set[str] = set()
        found = memory_files(self.workspace, self.config, folders)
        report = update(self.store, generation, found, progress, every_file=every_file)
        if folders != self._folders and watching:
            self._feed.close()  # a new folder was not watched while it was scanned
        self._folders = folders
        return report

    def close(self) -> None:
        self._feed.close()
        self.store.close()
