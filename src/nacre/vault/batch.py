"""Many files changed as one: all are checked, one record tells of them, each folder is synced once.

Everything that holds for a single change holds here: it is recorded before its file is touched, and a change whose file is no
longer what was read is not made. One that fails does not keep the others from being made.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import Locked, NacreError
from nacre.vault import atomic
from nacre.vault.history import CREATE, DELETE, MOVE, REWRITE, Change, must_be_kept
from nacre.vault.operation import Operation
from nacre.vault.rewrite import changed, expect, guard_added

MOST = 1000  # changes of one record


@dataclass(frozen=True)
class _Wish:
    """A change that waits: `to` for a move, `data` for a write, neither for a removal. `staged` is where the data lie already;
    `beside` must still be as given."""

    who: int
    path: Path
    read: str | None
    to: Path | None = None
    data: bytes | None = None
    staged: Path | None = None
    beside: tuple[Path, str] | None = None

    @property
    def places(self) -> tuple[Path, ...]:
        return tuple(one for one in (self.path, self.to, self.beside and self.beside[0]) if one)


class Batch:
    """Changes that wait to be made together. `who` is whose change it is: after one that failed, its later ones are not made.

    A change of a file that another one in waiting touches lets those be made first, so that the order is always kept.
    """

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.failed: dict[int, NacreError] = {}
        self._wishes: list[_Wish] = []
        self._touched: set[Path] = set()
        self._ours: set[Path] = set()  # folders known to lie in the workspace or its layers

    def write(self, who: int, path: Path, data: bytes, *, read: str | None) -> None:
        """Put new bytes into a file that is still what was read (hash; None: it must not exist)."""
        self._add(_Wish(who, path, read, data=data))

    def create(self, who: int, path: Path, data: bytes, *, staged: Path) -> None:
        """Let a file come into being of which the bytes, guarded, were staged beside it."""
        self._add(_Wish(who, path, None, data=data, staged=staged))

    def move(self, who: int, path: Path, to: Path, *, read: str) -> None:
        """Move a file that is still what was read to a place where nothing stands."""
        self._add(_Wish(who, path, read, to))

    def remove(self, who: int, path: Path, *, read: str, beside: tuple[Path, str] | None = None) -> None:
        """Delete a file that is still what was read, and only while the one `beside` has the bytes of a hash."""
        self._add(_Wish(who, path, read, beside=beside))

    def _add(self, wish: _Wish) -> None:
        if len(self._wishes) >= MOST or not self._touched.isdisjoint(wish.places):
            self.carry_out()
        self._wishes.append(wish)
        self._touched.update(wish.places)

    def carry_out(self) -> None:
        """Make every change that waits, and make them last."""
        wishes, self._wishes, self._touched = self._wishes, [], set()
        ready: list[tuple[int, Callable[[], None]]] = []
        changes: list[Change] = []
        contents: list[bytes] = []
        for wish in wishes:
            if wish.who in self.failed:
                continue
            try:
                change, kept, work = self._ready(wish)
                must_be_kept([change] if self.op.config.history.enabled else [])
            except NacreError as trouble:
                self.failed[wish.who] = trouble
                continue
            ready.append((wish.who, work))
            changes.append(change)
            contents += kept
        if not ready:
            return
        self.op.record(changes, contents)
        with atomic.folders_once():
            for who, work in ready:
                self._make(who, work)

    def _make(self, who: int, work: Callable[[], None]) -> None:
        if who in self.failed:
            self.op.is_whole = False
            return
        try:
            work()
        except Locked:
            raise
        except NacreError as trouble:
            self.failed[who] = trouble
            self.op.is_whole = False

    def _ready(self, wish: _Wish) -> tuple[Change, list[bytes], Callable[[], None]]:
        """The record of a change, the contents that history needs for it, and the change itself."""
        op, path = self.op, wish.path
        shown = op.workspace.relative(path)
        self._must_be_ours(wish.places)
        before = expect(op.workspace, path, wish.read)
        if wish.to is not None:
            to = wish.to
            self._must_be_free(to)
            record = Change(shown, MOVE, wish.read, wish.read, to=op.workspace.relative(to))
            return record, [], lambda: self._move(path, to)
        if wish.data is not None and (staged := wish.staged):
            record = Change(shown, CREATE, None, atomic.digest(wish.data))
            return record, [wish.data], lambda: atomic.put_staged(staged, path, still=lambda: self._expect(wish))
        if wish.data is not None:
            safe = guard_added(before or b"", wish.data)
            record = Change(shown, REWRITE if before is not None else CREATE, wish.read, atomic.digest(safe))
            kept = [safe] if before is None else [before, safe]
            return record, kept, lambda: atomic.write(path, safe, still=lambda: self._expect(wish))
        self._expect(wish)
        mode = stat.S_IMODE(path.stat().st_mode)
        return Change(shown, DELETE, wish.read, None, mode=mode), [before or b""], lambda: self._remove(wish)

    # What was checked before the record is looked at again: others may have come while the files before it were changed.

    def _expect(self, wish: _Wish) -> None:
        expect(self.op.workspace, wish.path, wish.read)
        if wish.beside:
            expect(self.op.workspace, *wish.beside)

    def _must_be_ours(self, places: Iterable[Path]) -> None:
        for place in places:
            if os.path.islink(place):
                self.op.place(place)
            elif place.parent not in self._ours:
                self.op.place(place)
                self._ours.add(place.parent)

    def _must_be_free(self, place: Path) -> None:
        if os.path.lexists(place):
            raise changed(self.op.workspace.relative(place))

    def _move(self, path: Path, to: Path) -> None:
        self._must_be_free(to)
        atomic.rename(path, to)

    def _remove(self, wish: _Wish) -> None:
        self._expect(wish)
        atomic.remove(wish.path)
