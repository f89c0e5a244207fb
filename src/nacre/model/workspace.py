"""Where each file of a workspace lies."""

from __future__ import annotations

import datetime as dt
import os
import re
from pathlib import Path

from nacre.errors import PathEscape

DAY_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-([^/]+))?\.md")
_SLUG = re.compile(r"[^\w-]+")


class Workspace:
    """The folders and files of one memory. Knows names, touches nothing."""

    def __init__(self, root: Path) -> None:
        self.root = root
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
        self.given = machine / "context.json"

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
        f"{relative} lies outside the workspace; name a file inside it.",
        f"{relative} 在工作区之外；请指定工作区内的文件。",
    )


def slug_of(name: str) -> str:
    """A folder name for a project: its own letters and digits, in any script, joined by "-"."""
    slug = _SLUG.sub("-", name.strip().lower()).strip("-_")
    if slug or not name.strip():
        return slug[:80] or "unnamed"
    import hashlib  # four milliseconds that hardly any name costs

    return f"unnamed-{hashlib.blake2b(name.encode(), digest_size=3).hexdigest()}"  # names of signs alone are names too
