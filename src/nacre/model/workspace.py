"""Where each file of a workspace lies."""

from __future__ import annotations

import datetime as dt
import os
import re
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import PathEscape

DAY_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-([^/]+))?\.md")
_SLUG = re.compile(r"[^\w-]+")


@dataclass(frozen=True)
class Workspace:
    """The folders and files of one memory. Knows names, touches nothing."""

    root: Path

    @property
    def longterm(self) -> Path:
        return self.root / "MEMORY.md"

    @property
    def state(self) -> Path:
        return self.root / "SESSION-STATE.md"

    @property
    def memory(self) -> Path:
        return self.root / "memory"

    @property
    def weekly(self) -> Path:
        return self.memory / "weekly"

    @property
    def archive(self) -> Path:
        return self.memory / "archive"

    @property
    def ledger(self) -> Path:
        return self.memory / "ledger.jsonl"

    @property
    def recalls(self) -> Path:
        return self.memory / "recalls.jsonl"

    @property
    def trail(self) -> Path:
        return self.memory / "trail.jsonl"

    @property
    def review(self) -> Path:
        return self.memory / "review.md"

    @property
    def projects(self) -> Path:
        return self.root / "projects"

    @property
    def machine(self) -> Path:
        """Everything of ours that is not memory: settings, index, history."""
        return self.root / ".nacre"

    @property
    def settings(self) -> Path:
        return self.machine / "config.toml"

    @property
    def index(self) -> Path:
        return self.machine / "index"

    @property
    def history(self) -> Path:
        return self.machine / "history"

    @property
    def lock(self) -> Path:
        return self.machine / "lock"

    @property
    def cursors(self) -> Path:
        return self.machine / "cursors.json"

    @property
    def pauses(self) -> Path:
        return self.machine / "pauses.json"

    @property
    def given(self) -> Path:
        return self.machine / "context.json"

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
        real, inside = (
            Path(os.path.realpath(path)),
            Path(os.path.realpath(self.root)),
        )  # unlike resolve, no error for a loop
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
