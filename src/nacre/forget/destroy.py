"""Removes a workspace's memory for good, listed first."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from nacre.config.settings import Config
from nacre.errors import NacreError, cannot_write
from nacre.i18n import say
from nacre.model.workspace import Workspace
from nacre.vault import disk, rules
from nacre.vault.discover import trust_workspace
from nacre.vault.files import TIERS
from nacre.vault.lock import hold, lock
from nacre.vault.markdown import document

KEPT = "USER.md"  # searched as memory, but the user's own: it stays
_PLAIN = ("MEMORY.md", "SESSION-STATE.md", "refcount.json", "promote_report.md")


@dataclass(frozen=True)
class Removable:
    """A file or a folder that goes, with everything in it."""

    path: Path
    shown: str
    files: int
    bytes: int
    reason: str


@dataclass(frozen=True)
class DestroyPlan:
    """What goes, which file only loses our block, and which layers stay because nobody named them."""

    workspace: Workspace
    doomed: tuple[Removable, ...]
    agents: bytes | None  # what AGENTS.md will hold; None when it stays as it is
    kept_tiers: Path | None = None

    @property
    def files(self) -> int:
        return sum(item.files for item in self.doomed)

    @property
    def bytes(self) -> int:
        return sum(item.bytes for item in self.doomed)


def plan_destroy(workspace: Workspace, config: Config, *, tiers: bool = False) -> DestroyPlan:
    """What destroying the workspace would remove. Layers that lie elsewhere go only when they are named. Touches nothing."""
    root, layers = workspace.root, workspace.tiers(config.tiers.path)
    folders = [layers / tier for tier in TIERS]
    inside = root in Path(os.path.normpath(layers)).parents
    taken = inside or (tiers and not layers.is_symlink())
    paths = [*(root / name for name in _PLAIN), *sorted(workspace.projects.glob("*/MEMORY.md")), workspace.memory]
    if inside and os.path.normpath(layers) == os.path.normpath(workspace.tiers(None)):
        paths.append(layers)
    elif taken:  # in a folder that the user named there may be more than layers
        paths += folders
        paths += [] if inside else [workspace.refcount(config.tiers.path)]
    paths += [_cached_index(workspace), workspace.machine]
    doomed = tuple(_removable(workspace, path) for path in dict.fromkeys(paths) if _is_reached(root, path))
    kept = layers if not taken and any(folder.is_dir() for folder in folders) else None
    agents = root / "AGENTS.md"
    try:
        data = disk.read_bytes(agents)
        rest = rules.without_block(document(agents, data)) if data is not None else None
    except NacreError:
        data = rest = None  # not UTF-8: what we wrote is, so it is not ours any more
    return DestroyPlan(workspace, doomed, None if rest == data else rest, kept)


def _is_reached(root: Path, path: Path) -> bool:
    """Whether something stands there, and no link of the workspace leads to it: what lies behind one is somebody else's."""
    above = path.parents
    inside = above[: above.index(root)] if root in above else []
    return os.path.lexists(path) and not any(folder.is_symlink() for folder in inside)


def _removable(workspace: Workspace, path: Path) -> Removable:
    reasons = {
        "MEMORY.md": say("long-term memory", "长期记忆"),
        "memory": say("logs, digests, notes, ledger, backups", "日志、周报、笔记、账本、备份"),
        **dict.fromkeys(("memory_fs", *TIERS), say("checkpoints", "检查点")),
        "SESSION-STATE.md": say("working memory", "工作记忆"),
        "refcount.json": say("how often checkpoints were recalled", "检查点的调用次数"),
        "promote_report.md": say("what was to be promoted", "晋升建议"),
        ".nacre": say("settings, index, history, cursors", "设置、索引、历史、游标"),
    }
    reason = reasons.get(path.name, "")
    if path == workspace.longterm and os.path.lexists(workspace.root / KEPT):
        reason = say(f"long-term memory; {KEPT} is kept", f"长期记忆；{KEPT} 予以保留")
    if not _is_folder(path):
        return Removable(path, workspace.relative(path), 1, path.lstat().st_size, reason)
    sizes = [
        os.lstat(os.path.join(place, name)).st_size
        for place, folders, names in os.walk(path)
        for name in (*names, *(folder for folder in folders if os.path.islink(os.path.join(place, folder))))
    ]
    return Removable(path, workspace.relative(path) + "/", len(sizes), sum(sizes), reason)


def _cached_index(workspace: Workspace) -> Path:
    """Where the index lies when the workspace cannot be written to."""
    import platformdirs

    name = hashlib.sha256(str(workspace.index.resolve()).encode()).hexdigest()[:16]
    return Path(platformdirs.user_cache_dir("nacre", appauthor=False)) / "indexes" / name


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def apply_destroy(plan: DestroyPlan) -> None:
    """Remove it. What is left when this is interrupted, doing it again removes."""
    workspace = plan.workspace
    agents, projects = workspace.root / "AGENTS.md", workspace.projects
    with contextlib.ExitStack() as held:
        if workspace.machine.is_dir():  # nobody is to write what is being removed
            held.enter_context(hold(workspace.machine / "sync.lock"))
            held.enter_context(lock(workspace))
        if plan.agents is not None:
            disk.write(agents, plan.agents) if plan.agents.strip() else disk.remove(agents)  # it held only our rules
        for item in plan.doomed:
            if item.path != workspace.machine and _is_reached(workspace.root, item.path):
                _remove(item.path)
        _remove(workspace.machine)
    for folder in (*sorted(projects.glob("*")), projects) if _is_folder(projects) else ():
        if _is_folder(folder) and not any(folder.iterdir()):
            folder.rmdir()
    disk.clean_stale(workspace.root)
    trust_workspace(workspace.root, trust=False)


def _remove(path: Path) -> None:
    """A folder with everything in it, a file, or a link itself: never what a link leads to."""
    try:
        shutil.rmtree(path) if _is_folder(path) else path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
