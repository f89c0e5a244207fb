"""A workspace: where each of its files lies, what a storage of them does, and one that was opened, as a value that is passed on whole."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nacre.errors import BadInput, PathEscape

if TYPE_CHECKING:
    from nacre.clock import Clock
    from nacre.config.settings import Config


DAY_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-([^/]+))?\.md")
_SLUG = re.compile(r"[^\w-]+")
LINKED = ""  # in the place of a folder to watch: only another walk can tell what changed


class Stored(NamedTuple):
    """What stands under a name. Two equal ones mean that nothing was written in between."""

    name: str
    size: int
    modified: int  # nanoseconds since 1970
    changed: int = 0
    inode: int = 0
    is_plain: bool = True  # an ordinary file, or a link to one of the same workspace
    is_link: bool = False


class Storage(Protocol):
    """Memory as named byte strings, and the record of what was done to them.

    A name is a path as users see it: relative to the workspace, with "/"; in full for layers that lie elsewhere. `vault/storage.py`
    keeps the strings as files, `tests/storage.py` in a dictionary."""

    def walk(
        self, folder: str, endings: tuple[str, ...] = ("",), watched: set[str] | None = None, depth: int = 99
    ) -> Iterator[Stored]:
        """What stands below a folder, so many folders deep, in any order; what is hidden is left out. `watched` is given every
        place on the disk whose change could change that, and `LINKED` where only another walk can tell."""

    def about(self, name: str) -> Stored | None:
        """What stands there, also a folder or what cannot be read; None when there is nothing."""

    def real(self, name: str) -> str:
        """The name that it really goes by, where a link leads elsewhere."""

    def read(self, name: str, most: int = -1) -> bytes | None:
        """The bytes, or the first so many; None when there are none."""

    def end(self, name: str, size: int) -> bytes:
        """The last bytes, at most so many; none where nothing can be read."""

    def append(self, name: str, data: bytes, *, durable: bool = True) -> int:
        """Add whole lines in one write; returns where they begin."""

    def replace(self, name: str, data: bytes, before: bytes | None) -> bool:
        """Put new bytes in the place of `before` (None: of nothing); False when something else stands there. To a daily log
        others may have appended since: that stays at its end."""

    def remove(self, name: str, before: bytes) -> bool:
        """The same for taking it away."""

    def move(self, name: str, to: str) -> None:
        """Give it another name. The caller has seen that nothing stands there."""

    def hold(self, timeout: float = ...) -> AbstractContextManager[None]:
        """One writer at a time; `Locked` when another one does not come to an end."""

    def together(self) -> AbstractContextManager[None]:
        """Many changes, which need to last only when all are made."""

    def keep(self, data: bytes) -> None:
        """Keep a content under its hash, so that a change can be shown and taken back."""

    def content(self, digest: str) -> bytes:
        """A content that was kept; `NotFound` when it is gone."""

    def record(self, row: dict[str, Any], *, durable: bool = True) -> None:
        """Add a row to the record of operations."""

    def records(self) -> Iterator[dict[str, Any]]:
        """The rows, the last first; broken ones are skipped. Reads no more of them than is asked for."""


class Workspace:
    """The folders and files of one memory. Knows names, touches nothing; without a `storage` it lies on the disk."""

    def __init__(self, root: Path, storage: Storage | None = None) -> None:
        self.root = root
        self.storage = storage
        self.longterm = root / "MEMORY.md"
        self.state = root / "SESSION-STATE.md"
        self.projects = root / "projects"
        self.memory = memory = root / "memory"
        self.weekly = memory / "weekly"
        self.archive = memory / "archive"
        self.ledger = memory / "ledger.jsonl"
        self.recalls = memory / "recalls.jsonl"
        self.trail = memory / "trail.jsonl"
        self.review = memory / "review.md"
        self.machine = machine = root / ".nacre"  # everything of ours that is not memory
        self.settings = machine / "config.toml"
        self.index = machine / "index"
        self.history = machine / "history"
        self.lock = machine / "lock"
        self.cursors = machine / "cursors.json"
        self.pauses = machine / "pauses.json"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workspace) and self.root == other.root

    def __hash__(self) -> int:
        return hash(self.root)

    def day(self, date: dt.date) -> Path:
        return self.memory / f"{date.isoformat()}.md"

    def project(self, slug: str) -> Path:
        return self.projects / slug_of(slug) / "MEMORY.md"

    def tiers(self, setting: str | None) -> Path:
        """The layers. Where they lie outside, in full: one name by which everybody finds them, and every file in them."""
        given = Path(setting or "memory_fs").expanduser()
        if given.is_absolute() or ".." not in given.parts:
            return self.root / given
        root = os.path.realpath(self.root)  # what lies above a link is not what lies above the folder it leads to
        full = Path(os.path.normpath(os.path.join(root, given)))
        return self.root / full.relative_to(root) if Path(root) in full.parents else full

    def refcount(self, setting: str | None) -> Path:
        """How often each checkpoint was recalled: in the workspace, or beside layers that lie elsewhere."""
        layers = Path(os.path.normpath(self.tiers(setting)))
        return (self.root if self.root in layers.parents else layers.parent) / "refcount.json"

    def relative(self, path: Path) -> str:
        """The path as users see it: relative to the workspace, with "/"; an outside one in full."""
        try:
            return path.relative_to(self.root).as_posix()
        except ValueError:
            return path.as_posix()

    def inside(self, relative: str) -> Path:
        """The file that a relative path names, or an error when it leads out of the workspace, also through a link."""
        if "\0" in relative:
            raise _escape(relative.replace("\0", "\\0"))
        path = Path(os.path.normpath(self.root / relative))
        # Unlike resolve, realpath raises nothing for a loop.
        real, inside = Path(os.path.realpath(path)), Path(os.path.realpath(self.root))
        for candidate, root in ((path, self.root), (real, inside)):
            if candidate != root and root not in candidate.parents:
                raise _escape(relative)
        return path


def _escape(relative: str) -> PathEscape:
    return PathEscape(
        f"{relative} is outside the workspace; choose a file inside it.",
        f"{relative} 在工作区之外；请指定工作区内的文件。",
    )


def slug_of(name: str) -> str:
    """A folder name for a project: its own letters and digits, in any script, joined by "-"."""
    slug = _SLUG.sub("-", name.strip().lower()).strip("-_")
    if slug or not name.strip():
        return slug[:80] or "unnamed"
    import hashlib  # four milliseconds that hardly any name costs

    return f"unnamed-{hashlib.blake2b(name.encode(), digest_size=3).hexdigest()}"  # names of signs alone are names too


class Scope(NamedTuple):
    """Who listens: the owner alone, or a group, for which only its own sections and public files exist."""

    group: str | None = None

    @property
    def name(self) -> str:
        """As `parse` reads it."""
        return "main" if self.group is None else f"group:{self.group}"

    @classmethod
    def parse(cls, text: str) -> Scope:
        if text == "main":
            return cls()
        kind, _, name = text.partition(":")
        if kind == "group" and name.strip():
            return cls(name.strip())
        raise BadInput(
            f'"{text}" is not a scope; use main or group:NAME.', f"“{text}”不是有效范围；请用 main 或 group:名称。"
        )


@dataclass(frozen=True)
class Context:
    """An opened workspace: passed on whole instead of in parts."""

    workspace: Workspace
    config: Config
    clock: Clock
    scope: Scope = field(default_factory=Scope)
