"""Making a folder a workspace: planned first, safe to repeat, never over what the user has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import cannot_write
from nacre.i18n import say
from nacre.model.report import Plan, Step
from nacre.model.workspace import Workspace
from nacre.vault import disk, longterm, rules
from nacre.vault.discover import is_trusted, trust_workspace
from nacre.vault.history import operation, private_folder
from nacre.vault.markdown import document
from nacre.vault.writing import rewrite

IGNORED = (".nacre/", "memory/archive/*.md.bak-*")


@dataclass(frozen=True)
class Write:
    """A file to be made or changed, still as it was read."""

    path: Path
    read: str | None
    data: bytes


@dataclass(frozen=True)
class InitPlan:
    """Everything that is missing, and the steps to show."""

    workspace: Workspace
    folders: tuple[Path, ...]
    writes: tuple[Write, ...]
    trusts: bool
    plan: Plan


def plan_init(
    root: Path, *, language: str = "en", config: Config | None = None, trust_folder: Path | None = None
) -> InitPlan:
    """What has to be made so that the folder is a workspace; nothing when it is one."""
    workspace = Workspace(root)
    config = config or Config()
    folders = tuple(one for one in (root, workspace.memory, workspace.machine) if not one.is_dir())
    steps = [Step("create", f"{workspace.relative(one)}/", say("folder", "文件夹")) for one in folders]
    writes: list[Write] = []

    def wants(path: Path, before: bytes | None, after: bytes, reason: str) -> None:
        if before == after:
            return
        writes.append(Write(path, None if before is None else disk.digest(before), after))
        steps.append(Step("create" if before is None else "change", workspace.relative(path), reason))

    if disk.read_bytes(workspace.longterm) is None:
        fresh = longterm.template(config.memory).encode()
        wants(workspace.longterm, None, fresh, say("long-term memory", "长期记忆"))
    ignore, agents = root / ".gitignore", root / "AGENTS.md"
    before = disk.read_bytes(ignore)
    wants(ignore, before, _ignoring(before or b""), say("keeps our files out of git", "避免将内部文件提交到 git"))
    before = disk.read_bytes(agents)
    told = rules.with_block(document(agents, before or b""), language)
    wants(agents, before, told, say("rules for the agent", "给代理的规则"))
    trusts = not is_trusted(root, trust_folder)
    return InitPlan(workspace, folders, tuple(writes), trusts, Plan(tuple(steps)))


def apply_init(
    made: InitPlan, clock: Clock, config: Config | None = None, trust_folder: Path | None = None
) -> Workspace:
    """Make what the plan names and trust the place."""
    workspace = made.workspace
    try:
        for folder in made.folders:
            if folder == workspace.machine:
                private_folder(folder)
            else:
                disk.make_folder(folder)
    except OSError as trouble:
        raise cannot_write(workspace.root, trouble) from trouble
    if made.writes:
        with operation(workspace, clock, "init", config) as op:
            for one in made.writes:
                rewrite(op, one.path, one.data, read=one.read)
    if made.trusts:
        trust_workspace(workspace.root, trust_folder)
    return workspace


def init(
    root: Path,
    clock: Clock,
    *,
    language: str = "en",
    config: Config | None = None,
    trust_folder: Path | None = None,
) -> Workspace:
    """Make the folder a workspace, or complete it."""
    made = plan_init(root, language=language, config=config, trust_folder=trust_folder)
    return apply_init(made, clock, config, trust_folder)


def _ignoring(data: bytes) -> bytes:
    """The .gitignore with the lines of ours that it lacks."""
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    known = {line.strip().rstrip(b"/").lstrip(b"/") for line in data.split(b"\n")}
    missing = [line.encode() for line in IGNORED if line.encode().rstrip(b"/") not in known]
    if not missing:
        return data
    lead = newline if data and not data.endswith(b"\n") else b""
    return data + lead + b"".join(line + newline for line in missing)
