"""Removes a workspace's memory for good, listed first, and searches for what is left."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nacre.config.loading import user_config_folder
from nacre.config.settings import Config
from nacre.errors import NacreError, cannot_write
from nacre.forget import traces
from nacre.forget.purge import Remaining, cannot_be_read, own_file
from nacre.forget.target import memory_lines
from nacre.forget.traces import Trace, Words
from nacre.i18n import say
from nacre.model.workspace import Workspace
from nacre.vault import disk, rules
from nacre.vault.discover import distrust_workspace
from nacre.vault.files import TIERS
from nacre.vault.lock import hold, lock
from nacre.vault.markdown import document

SAMPLE = 10_000  # lines whose words are looked for afterwards
_ATTEMPTS = 5
KEPT = "USER.md"  # searched as memory, but the user's own: it stays, and what it holds is nothing left over
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
        return sum(one.files for one in self.doomed)

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.doomed)


def plan_destroy(workspace: Workspace, config: Config, *, tiers: bool = False) -> DestroyPlan:
    """What destroying the workspace would remove. Layers that lie elsewhere go only when they are named. Touches nothing."""
    root = workspace.root
    found: list[Path] = [root / name for name in _PLAIN]
    found += sorted(workspace.projects.glob("*/MEMORY.md"))
    default = workspace.tiers(None)
    layers = workspace.tiers(config.tiers.path)
    inside = root in Path(os.path.normpath(layers)).parents
    found += [workspace.memory]
    if inside:
        # In a folder that the user named there may be more than layers.
        found += (
            [layers] if os.path.normpath(layers) == os.path.normpath(default) else [layers / tier for tier in TIERS]
        )
    elif tiers and not layers.is_symlink():
        found += [layers / tier for tier in TIERS]
        found.append(workspace.refcount(config.tiers.path))
    found += [_cached_index(workspace), workspace.machine]
    doomed = [_removable(workspace, path) for path in dict.fromkeys(found) if _is_reached(root, path)]
    kept = (
        layers
        if not inside and (not tiers or layers.is_symlink()) and any((layers / tier).is_dir() for tier in TIERS)
        else None
    )
    return DestroyPlan(workspace, tuple(doomed), _without_block(workspace), kept)


def _is_reached(root: Path, path: Path) -> bool:
    """Whether something stands there, and no link of the workspace leads to it: what lies behind one is somebody else's."""
    above = path.parents
    inside = above[: above.index(root)] if root in above else []
    return os.path.lexists(path) and not any(folder.is_symlink() for folder in inside)


def _removable(workspace: Workspace, path: Path) -> Removable:
    sizes = [one.lstat().st_size for one in _everything(path)]
    reason = _reasons().get(path.name, "")
    if path == workspace.longterm and os.path.lexists(workspace.root / KEPT):
        reason = say(f"long-term memory; {KEPT} is kept", f"长期记忆；{KEPT} 予以保留")
    shown = workspace.relative(path) + ("/" if _is_folder(path) else "")
    return Removable(path, shown, len(sizes), sum(sizes), reason)


def _reasons() -> dict[str, str]:
    return {
        "MEMORY.md": say("long-term memory", "长期记忆"),
        "memory": say("logs, digests, notes, ledger, backups", "日志、周报、笔记、账本、备份"),
        **dict.fromkeys(("memory_fs", *TIERS), say("checkpoints", "检查点")),
        "SESSION-STATE.md": say("working memory", "工作记忆"),
        "refcount.json": say("how often checkpoints were recalled", "检查点的调用次数"),
        "promote_report.md": say("what was to be promoted", "晋升建议"),
        ".nacre": say("settings, index, history, cursors", "设置、索引、历史、游标"),
    }


def _cached_index(workspace: Workspace) -> Path:
    """Where the index lies when the workspace cannot be written to."""
    import platformdirs

    name = hashlib.sha256(str(workspace.index.resolve()).encode()).hexdigest()[:16]
    return Path(platformdirs.user_cache_dir("nacre", appauthor=False)) / "indexes" / name


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _everything(path: Path) -> Iterator[Path]:
    """Every file and link of what goes; a link is counted itself, not what it leads to."""
    if not _is_folder(path):
        yield path
        return
    for place, folders, names in os.walk(path):
        yield from (Path(place, name) for name in (*names, *folders) if name in names or Path(place, name).is_symlink())


def _without_block(workspace: Workspace) -> bytes | None:
    """AGENTS.md without our rules; None when they do not stand there."""
    path = workspace.root / "AGENTS.md"
    try:
        data = disk.read_bytes(path)
        rest = rules.without_block(document(path, data)) if data is not None else None
    except NacreError:
        return None  # not UTF-8: what we wrote is, so it is not ours any more
    return None if rest == data else rest


def sample_words(workspace: Workspace, config: Config) -> tuple[str, ...]:
    """The words of the memory's lines, as many as can be looked for: those that could stand nowhere else by chance."""
    found = dict.fromkeys(
        line.words for line in memory_lines(workspace, config) if line.path != KEPT and _is_telling(line.words)
    )
    step = max(1, -(-len(found) // SAMPLE))
    return tuple(found)[::step]


def _is_telling(words: str) -> bool:
    return len(words.encode("utf-8", "replace")) >= 24 and sum(sign.isalnum() for sign in words) >= 8


def apply_destroy(made: DestroyPlan) -> None:
    """Remove it. What is left when this is interrupted, doing it again removes."""
    workspace = made.workspace
    with contextlib.ExitStack() as held:
        if workspace.machine.is_dir():  # nobody is to write what is being removed
            held.enter_context(hold(workspace.machine / "sync.lock"))
            held.enter_context(lock(workspace))
        if made.agents is not None:
            _write_agents(workspace.root / "AGENTS.md", made.agents)
        for one in made.doomed:
            if one.path != workspace.machine and _is_reached(workspace.root, one.path):
                _remove(one.path)
        _remove(workspace.machine)
    projects = workspace.projects
    for folder in (*sorted(projects.glob("*")), projects) if _is_folder(projects) else ():
        if _is_folder(folder) and not any(folder.iterdir()):
            folder.rmdir()
    disk.clean_stale(workspace.root)
    distrust_workspace(workspace.root)


def _write_agents(path: Path, rest: bytes) -> None:
    if rest.strip():
        disk.write(path, rest)
    else:
        disk.remove(path)  # it held nothing but our rules


def _remove(path: Path) -> None:
    """A folder with everything in it, a file, or a link itself: never what a link leads to."""
    for attempt in range(_ATTEMPTS):
        try:
            shutil.rmtree(path) if _is_folder(path) else path.unlink(missing_ok=True)
        except OSError as trouble:
            # Somebody may make a file in the folder, or take one away, while we are at it.
            if trouble.errno not in (errno.ENOTEMPTY, errno.ENOENT) or attempt == _ATTEMPTS - 1:
                raise cannot_write(path, trouble) from trouble
        else:
            return


def find_remaining(made: DestroyPlan, words: Iterable[str]) -> tuple[Remaining, ...]:
    """Every place where words of the memory still stand: in the workspace's folder, and where Nacre keeps its own state."""
    wanted = Words(words)
    if not wanted:
        return ()
    state = (user_config_folder(), _cached_index(made.workspace).parent)
    roots = [made.workspace.root, *(one for one in state if one.is_dir())]
    found = traces.scan(roots, wanted, skip=[made.kept_tiers] if made.kept_tiers else [])
    kept = made.workspace.root / KEPT
    places = (
        Remaining(made.workspace.relative(one.path), one.line, _why_left(one)) for one in found if one.path != kept
    )
    return tuple(dict.fromkeys(places))


def _why_left(trace: Trace) -> str:
    if trace.inside == traces.UNREADABLE:
        return cannot_be_read()
    return own_file()
