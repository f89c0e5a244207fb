"""Finding the workspace and the project of a folder, which workspaces the user has trusted, and the workspaces of OpenClaw's agents."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre import disk
from nacre.config.settings import Config, user_config_folder
from nacre.errors import NacreError, NoWorkspace, PathEscape
from nacre.model import Problem, Workspace, problem
from nacre.vault.storage import list_longterm, read


def check_own_files(workspace: Workspace) -> None:
    """Refuse a workspace whose machine files are links: what we write there, and what we read, must be ours."""
    root = str(workspace.machine)
    links = [root] if os.path.islink(root) else []
    for folder in (root, os.path.join(root, "history"), os.path.join(root, "index")):
        if not links:
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                links += [entry.path for entry in entries if entry.is_symlink()]
    if links:
        raise PathEscape(
            f"{links[0]} is a link, but only Nacre's own files belong there. Remove it.",
            f"{links[0]} 是链接；那里只应有 Nacre 自己的文件。请将其移除。",
        )


# Which workspaces the user has trusted: a folder that came with a clone must not speak through our hooks.


def is_trusted(path: Path) -> bool:
    """Whether this very folder was trusted once; one inside a trusted folder is not."""
    return os.path.realpath(path) in trusted_workspaces()


def trusted_workspaces() -> tuple[str, ...]:
    """Every trusted folder, by its real path; none when the list cannot be read."""
    try:
        content = json.loads(_trust_file().read_bytes().decode("utf-8", "surrogateescape"))
        return tuple(path for path in content["trusted"] if isinstance(path, str))
    except (OSError, ValueError, TypeError, KeyError):
        return ()


def trust_workspace(path: Path, *, trust: bool = True) -> None:
    """Remember the folder in the user's settings, or forget it."""
    real = os.path.realpath(path)
    if (real in trusted_workspaces()) == trust:
        return
    file = _trust_file()
    with disk.hold(file.with_name("trusted.lock")):
        # What is gone need not be trusted.
        trusted = {other for other in trusted_workspaces() if other != real and os.path.isdir(other)}
        data = json.dumps({"trusted": sorted(trusted | ({real} if trust else set()))}, ensure_ascii=False, indent=2)
        disk.write(file, f"{data}\n".encode("utf-8", "surrogateescape"))


def _trust_file() -> Path:
    return user_config_folder() / "trusted.json"


# Finding the workspace: named, or the nearest trusted one above the current folder, or the user's own.


@dataclass(frozen=True)
class Discovered:
    """The workspace, what led to it, and notes for the user about places that were passed over."""

    workspace: Workspace
    origin: str  # "flag", "NACRE_WORKSPACE", "OPENCLAW_WORKSPACE", "parent", "settings", "openclaw", "default"
    problems: tuple[Problem, ...] = ()


def find_workspace(
    named: str | Path | None = None,
    *,
    config: Config | None = None,
    env: Mapping[str, str] | None = None,
    home: Path | None = None,
    cwd: Path | None = None,
) -> Discovered:
    """The workspace to work on; `NoWorkspace` when the chosen place is none."""
    env = os.environ if env is None else env
    home = home or Path.home()
    given = {"flag": named} | {name: env.get(name) for name in ("NACRE_WORKSPACE", "OPENCLAW_WORKSPACE")}
    for origin, place in given.items():
        if place:
            return _existing(expand(str(place), home, cwd), origin, ())
    problems: list[Problem] = []
    if above := _trusted_parent(cwd, home, problems):
        return Discovered(Workspace(above), "parent", tuple(problems))
    if config and config.workspace:
        return _existing(expand(config.workspace, home, cwd), "settings", tuple(problems))
    if openclaw := openclaw_workspace(config, env, home):
        return Discovered(Workspace(openclaw), "openclaw", tuple(problems))
    usual = home / ".nacre" / "workspace"
    places = () if is_workspace(usual) else agent_workspaces(config, env, home).values()
    if other := next((place for place in places if place.is_dir() and is_workspace(place)), None):
        return Discovered(Workspace(other), "settings", tuple(problems))  # agents without a default workspace
    return _existing(usual, "default", tuple(problems))


def is_workspace(root: Path) -> bool:
    """Whether a folder holds memory: ours, or an agent's."""
    return is_marked(root) or any((root / name).exists() for name in ("MEMORY.md", "memory", "AGENTS.md"))


def is_marked(root: Path) -> bool:
    """Whether a folder's `.nacre` makes it a workspace. The one in the home folder holds the user's own workspace, and no files of ours
    unless the home folder was made a workspace too."""
    machine = root / ".nacre"
    return machine.is_dir() and (
        not (machine / "workspace").is_dir() or any((machine / name).exists() for name in ("lock", "history", "index"))
    )


def expand(place: str, home: Path, cwd: Path | None = None) -> Path:
    """A path as the user wrote it: `~` is the home folder, a relative one begins at the current folder."""
    if place == "~" or place.startswith(("~/", "~\\")):
        return Path(os.path.normpath(home / place[2:]))
    return Path(os.path.normpath((cwd or Path.cwd()) / place)) if not Path(place).is_absolute() else Path(place)


def _existing(root: Path, origin: str, problems: tuple[Problem, ...]) -> Discovered:
    if root.is_dir() and is_workspace(root):
        return Discovered(Workspace(root), origin, problems)
    command = "nacre up" if origin == "default" else f"nacre init {root}"
    notes = "".join(f" {problem.message} ({problem.remedy})" for problem in problems)
    raise NoWorkspace(
        f'There is no workspace at {root}. Create one with "{command}".{notes}',
        f"{root} 没有工作区。可用“{command}”创建。{notes}",
    )


def _trusted_parent(cwd: Path | None, home: Path, problems: list[Problem]) -> Path | None:
    """The nearest workspace above the current folder that was trusted; a problem for each nearer one that was not."""
    try:
        here = Path(os.path.abspath(cwd or Path.cwd()))
    except FileNotFoundError:  # the current folder is gone
        return None
    for folder in (here, *here.parents):
        if not is_marked(folder):
            continue
        if is_trusted(folder):
            return folder
        if os.path.realpath(folder) != os.path.realpath(home):
            english = f"{folder} contains a workspace that you have not trusted; it was neither read nor written."
            chinese = f"{folder} 中有一个你尚未信任的工作区；未读取也未写入。"
            problems.append(problem("not trusted", english, chinese, str(folder), remedy=f"nacre trust {folder}"))
    return None


# Several agents, each with a workspace of its own: from our settings and from OpenClaw's.

_VARIABLE = r"\$\{(\w+)\}"


def agent_workspaces(
    config: Config | None = None, env: Mapping[str, str] | None = None, home: Path | None = None
) -> dict[str, Path]:
    """Each agent's workspace by the agent's id, OpenClaw's default agent first; our own settings win over OpenClaw's."""
    env = os.environ if env is None else env
    home = home or Path.home()
    own = {name: expand(place, home) for name, place in (config.agents if config else {}).items()}
    return _openclaw(env, home) | own


def openclaw_workspace(config: Config | None, env: Mapping[str, str], home: Path) -> Path | None:
    """The workspace of OpenClaw's default agent, where that exists."""
    name = next(iter(_openclaw(env, home)), None)
    place = agent_workspaces(config, env, home)[name] if name else None
    return place if place and place.is_dir() else None


def openclaw_state(env: Mapping[str, str], home: Path) -> Path:
    named = env.get("OPENCLAW_STATE_DIR")
    return expand(named, home) if named else home / ".openclaw"


def _openclaw(env: Mapping[str, str], home: Path) -> dict[str, Path]:
    state = openclaw_state(env, home)
    file = env.get("OPENCLAW_CONFIG_PATH")
    try:
        text = (expand(file, home) if file else state / "openclaw.json").read_text(encoding="utf-8")
        from nacre.text import json5  # only who has OpenClaw pays for it

        settings = json5.loads(text)
    except (OSError, ValueError):
        settings = None
    if not isinstance(settings, dict):
        usual = state / "workspace"
        return {"main": usual} if usual.is_dir() else {}

    def path_of(value: Any) -> Path | None:
        if not isinstance(value, str) or not value.strip():
            return None
        return expand(re.sub(_VARIABLE, lambda match: env.get(match[1], match[0]), value.strip()), home)

    section = _table(settings.get("agents"))
    listed, entries = section.get("list"), section.get("entries")
    agents = [agent for agent in listed if isinstance(_table(agent).get("id"), str)] if isinstance(listed, list) else []
    if isinstance(entries, dict):  # in current versions, by id
        agents = [{**agent, "id": name} for name, agent in entries.items() if isinstance(agent, dict)]
    default = next((agent["id"] for agent in agents if agent.get("default")), agents[0]["id"] if agents else "main")
    shared = path_of(_table(section.get("defaults")).get("workspace"))
    profile = env.get("OPENCLAW_PROFILE", "").strip()
    own_name = f"workspace-{profile}" if profile and profile.lower() != "default" else "workspace"
    workspaces: dict[str, Path] = {}
    for agent in sorted(agents, key=lambda agent: bool(agent["id"] != default)) or [{"id": "main"}]:
        name = agent["id"].strip().lower()
        usual = shared / name if shared else state / f"workspace-{name}"
        if name in (default.strip().lower(), "main"):
            usual = shared or state / own_name
        workspaces[name] = path_of(agent.get("workspace")) or usual
    return workspaces


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# Which project a folder belongs to: each project's MEMORY.md names its path in its first lines.

_OTHER_TREE = r"gitdir:\s*(.+?)[/\\]\.git[/\\]worktrees[/\\]"
_PLACE = r"(?m)^>?\s*(?:Project|项目)[:：]\s*(.+?)\s*$"


def project_places(workspace: Workspace) -> dict[str, str]:
    places: dict[str, str] = {}
    for path in list_longterm(workspace)[1:]:
        with contextlib.suppress(NacreError):  # doctor says that it cannot be read
            head = (read(workspace, path) or b"")[:1000]
            if match := re.search(_PLACE, head.decode("utf-8", "replace")):
                places[path.parent.name] = os.path.expanduser(match[1])
    return places


def project_of(workspace: Workspace, folder: Path) -> str | None:
    """The project whose folder holds this one; the innermost when several do."""
    here = os.path.realpath(folder)
    fitting = [
        (len(real), slug)
        for slug, place in project_places(workspace).items()
        if here == (real := os.path.realpath(place)) or here.startswith(real.rstrip(os.sep) + os.sep)
    ]
    return max(fitting)[1] if fitting else None


def project_at(workspace: Workspace, folder: str) -> str:
    """With which project a coding agent's session in a folder is stamped; none in the workspace, where all is talked about."""
    if os.path.realpath(folder) == os.path.realpath(workspace.root):
        return ""
    return project_of(workspace, Path(folder)) or folder_name(folder.rstrip("/\\"))


def folder_name(folder: str) -> str:
    """What a project is called that nobody named: by its repository or folder; nothing for the home folder, where people
    talk about everything."""
    place = repository_root(folder)
    return "" if place == os.path.expanduser("~") else os.path.basename(place.replace("\\", "/"))


def repository_root(folder: str) -> str:
    """The root of the repository that holds a folder, where it exists on this machine; else the folder.

    For another working tree of a repository, where `.git` is a file that says so, it is the main one.
    """
    place, home = folder, os.path.expanduser("~")
    while os.path.isabs(place) and place not in (os.path.dirname(place), home):
        sign = os.path.join(place, ".git")
        if os.path.exists(sign):
            try:
                with open(sign, encoding="utf-8", errors="replace") as file:
                    match = re.match(_OTHER_TREE, file.read(4096))
            except OSError:  # a folder: the repository itself
                return place
            return match[1] if match and os.path.isabs(match[1]) else place
        place = os.path.dirname(place)
    return folder
