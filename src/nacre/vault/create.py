"""Making a folder a workspace: planned first, safe to repeat, never over what the user has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nacre import disk
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.i18n import say
from nacre.model import Context, Plan, Step, Workspace
from nacre.vault import longterm, rules
from nacre.vault.discover import trust_workspace
from nacre.vault.entries import document
from nacre.vault.history import operation
from nacre.vault.storage import read
from nacre.vault.writing import rewrite

_IGNORED = (".nacre/", "memory/archive/*.md.bak-*")


@dataclass(frozen=True)
class InitPlan:
    """Folders that are missing, files with their bytes before and after, and the steps to show."""

    workspace: Workspace
    folders: tuple[Path, ...]
    writes: tuple[tuple[Path, bytes | None, bytes], ...]
    plan: Plan


def init(
    root: Path, clock: Clock, *, language: str = "en", config: Config | None = None, trust: bool = True
) -> Workspace:
    """Make the folder a workspace; unless `trust` is false, the user's settings remember it as trusted."""
    return apply_init(plan_init(root, language=language, config=config), clock, config, trust=trust)


def plan_init(root: Path, *, language: str = "en", config: Config | None = None) -> InitPlan:
    """What has to be made so that the folder is a workspace; nothing when it is one."""
    workspace = Workspace(root)
    ignore, agents = root / ".gitignore", root / "AGENTS.md"
    memory, ignored, rules_before = (read(workspace, path) for path in (workspace.longterm, ignore, agents))
    template = longterm.template((config or Config()).memory).encode()
    block = rules.with_block(document(agents, rules_before or b""), language)
    files = (
        (workspace.longterm, memory, template if memory is None else memory, say("long-term memory", "长期记忆")),
        (
            ignore,
            ignored,
            _ignoring(ignored or b""),
            say("keeps Nacre's own files out of git", "避免把 Nacre 的内部文件提交到 git"),
        ),
        (agents, rules_before, block, say("rules for the agent", "给智能体的规则")),
    )
    folders = tuple(folder for folder in (root, workspace.memory, workspace.machine) if not folder.is_dir())
    steps = [Step("create", f"{workspace.relative(folder)}/", say("folder", "文件夹")) for folder in folders]
    writes: list[tuple[Path, bytes | None, bytes]] = []
    for path, before, after, reason in files:
        if before != after:
            writes.append((path, before, after))
            steps.append(Step("create" if before is None else "change", workspace.relative(path), reason))
    return InitPlan(workspace, folders, tuple(writes), Plan(tuple(steps)))


def apply_init(init_plan: InitPlan, clock: Clock, config: Config | None = None, *, trust: bool = True) -> Workspace:
    workspace = init_plan.workspace
    with disk.writing_to(workspace.root):
        for folder in init_plan.folders:
            disk.private_folder(folder)
    if init_plan.writes:
        with operation(Context(workspace, config or Config(), clock), "init") as op:
            for path, before, after in init_plan.writes:
                rewrite(op, path, after, read=disk.hash_of(before))
    if trust:
        trust_workspace(workspace.root)
    return workspace


def _ignoring(data: bytes) -> bytes:
    """The .gitignore with the lines of ours that it lacks."""
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    ignored = {line.strip().rstrip(b"/").lstrip(b"/") for line in data.split(b"\n")}
    missing = [line.encode() for line in _IGNORED if line.encode().rstrip(b"/") not in ignored]
    if not missing:
        return data
    lead = newline if data and not data.endswith(b"\n") else b""
    return data + lead + b"".join(line + newline for line in missing)
