"""A workspace on a real disk, an index of it, and everything the index holds in a form that can be compared."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.index.freshness import MemoryIndex, TextReport, update
from nacre.index.store import Store, index_file
from nacre.model import Context, Workspace
from nacre.vault.storage import memory_files


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    (root / ".nacre").mkdir(mode=0o700)
    return Workspace(root)


def memory_index(workspace: Workspace, config: Config, store: Store) -> MemoryIndex:
    return MemoryIndex(Context(workspace, config, Clock()), store)


class Indexed:
    """A workspace with its index open."""

    def __init__(self, workspace: Workspace, config: Config | None = None, path: Path | None = None) -> None:
        self.workspace = workspace
        self.config = config or Config()
        self.context = Context(workspace, self.config, Clock())
        self.store = Store(path or index_file(workspace.index))

    def update(self, **more: Any) -> TextReport:
        return update(self.store, self.context, memory_files(self.workspace, self.config), **more)

    def write(self, path: str, text: str) -> Path:
        full = self.workspace.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8")
        return full

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self.store.db.execute(query, values).fetchall()

    def texts(self) -> list[str]:
        query = "select c.text from chunks c join files f on f.id = c.file order by f.path, c.position"
        return [row[0] for row in self.rows(query)]

    def dump(self) -> dict[str, object]:
        """Everything in the index but numbers and times that may differ from one run to the next."""
        self.store.db.execute("insert into words(words) values('integrity-check')")
        assert self.rows("pragma integrity_check") == [("ok",)]
        place = "from chunks c join files f on f.id = c.file"
        return {
            "files": self.rows("select path, layer, made_with, size, mtime, inode, hash from files order by path"),
            "chunks": self.rows(
                "select f.path, c.position, c.first, c.last, c.heading, c.context, c.text, c.key, c.layer, c.date, c.time, c.session,"
                f" c.project, c.audience, c.label, c.tags {place} order by f.path, c.position",
            ),
            "words": self.rows(
                "select f.path, c.position, w.body, w.heading from words w left join chunks c on c.id = w.rowid"
                " left join files f on f.id = c.file order by f.path, c.position"
            ),
            "terms": self.rows("select * from words_terms"),
            "passages": self.rows(
                "select f.path, c.position, p.position, p.hash from passages p left join chunks c on c.id = p.chunk"
                " left join files f on f.id = c.file order by f.path, c.position, p.position"
            ),
        }


@pytest.fixture
def indexed(workspace: Workspace) -> Any:
    opened: list[Indexed] = []

    def make(config: Config | None = None, path: Path | None = None) -> Indexed:
        opened.append(Indexed(workspace, config, path))
        return opened[-1]

    yield make
    for one in opened:
        one.store.close()


def run_in_child(work: Callable[[], None]) -> int:
    """The exit status of a forked child that did the work, negative when a signal ended it; 99 after an error."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            work()
            status = 0
        except BaseException:  # noqa: BLE001 - a child reports whatever it was and ends
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.fixture
def in_child() -> Callable[[Callable[[], None]], int]:
    return run_in_child
