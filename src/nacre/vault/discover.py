"""Finding the workspace and the project of a folder, which workspaces the user has trusted, and the workspaces of OpenClaw's agents."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.config.settings import Config
from nacre.errors import NoWorkspace, PathEscape, raise_unless_absent
from nacre.i18n import say
from nacre.model.report import Problem
from nacre.model.workspace import Workspace

_FOLDERS = ("", "history", "history/blobs", "index", "inbox", "hooks")
_FILES = (
    "config.toml",
    "key",
    "distil.json",
    "lock",
    "history/operations.jsonl",
    "index/index.sqlite",
    "index/statements.npz",
    "index/looked.json",
    "context.json",
    "cursors.json",
    "imports.json",
    "pauses.json",
    "flush.json",
    "flush.lock",
    "sync.lock",
    "service.json",
    "jobs.jsonl",
    "jobs.lock",
    "hooks.log",
)


def check_own_files(workspace: Workspace) -> None:
    """Refuse a workspace whose machine files lead elsewhere: what we write there, and what we read, must be ours."""
    root = str(workspace.machine)
    for names, right in ((_FOLDERS, stat.S_ISDIR), (_FILES, stat.S_ISREG)):
        for name in names:
            path = os.path.join(root, name) if name else root
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                continue  # not there yet
            if not right(mode):
                raise PathEscape(
                    f"{path} is a link or a special file; Nacre keeps only its own files there. Remove it.",
                    f"{path} 是链接或特殊文件；那里只应有 Nacre 自己的文件。请将其移除。",
                )


# Which workspaces the user has trusted: a folder that came with a clone must not speak through our hooks.


def is_trusted(path: Path, folder: Path | None = None) -> bool:
    """Whether this very folder was trusted once; one inside a trusted folder is not."""
    return _real(path) in _read_trusted(_trust_file(folder))


def trust_workspace(path: Path, folder: Path | None = None) -> None:
    """Remember the folder in the user's settings."""
    _change_trust(path, folder, wanted=True)


def distrust_workspace(path: Path, folder: Path | None = None) -> None:
    _change_trust(path, folder, wanted=False)


def trusted_workspaces(folder: Path | None = None) -> tuple[str, ...]:
    """Every trusted folder, by its real path."""
    return tuple(_read_trusted(_trust_file(folder)))


def _change_trust(path: Path, folder: Path | None, *, wanted: bool) -> None:
    file = _trust_file(folder)
    real = _real(path)
    if (real in _read_trusted(file)) == wanted:
        return
    from nacre.vault import disk
    from nacre.vault.lock import hold

    with hold(file.with_name("trusted.lock")):
        known = _read_trusted(file)
        known = [one for one in known if one != real and os.path.isdir(one)]  # what is gone need not be trusted
        known = sorted({*known, real}) if wanted else known
        data = json.dumps({"trusted": known}, ensure_ascii=False, indent=2) + "\n"
        disk.write(file, data.encode("utf-8", "surrogateescape"))


def _read_trusted(file: Path) -> list[str]:
    """What cannot be read trusts nobody."""
    try:
        found = json.loads(file.read_bytes().decode("utf-8", "surrogateescape"))
    except (OSError, ValueError):
        return []
    known = found.get("trusted") if isinstance(found, dict) else None
    return [one for one in known if isinstance(one, str)] if isinstance(known, list) else []


def _trust_file(folder: Path | None) -> Path:
    if folder is None:
        from nacre.config.loading import user_config_folder

        folder = user_config_folder()
    return folder / "trusted.json"


def _real(path: Path) -> str:
    return os.path.realpath(path)


# A small tolerant reader of JSON5, enough for another program's settings: comments, trailing commas, bare keys.

_TOKEN = re.compile(
    r"""
      (?P<space> \s+ | //[^\n]* | /\*.*?\*/ )
    | (?P<text> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
    | (?P<mark> [{}\[\]:,] )
    | (?P<word> [^\s{}\[\]:,"'/]+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_WORDS = {"true": True, "false": False, "null": None, "undefined": None}


def parse_json5(text: str) -> Any:
    """The value that the text holds; `ValueError` when it is none."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    tokens = _tokens(text.removeprefix("\ufeff"))
    try:
        value, at = _json5_value(tokens, 0)
    except (IndexError, RecursionError) as trouble:
        raise ValueError("unexpected end") from trouble
    if at != len(tokens):
        raise ValueError("text behind the value")
    return value


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match or not match.lastgroup:
            raise ValueError(f"unexpected character at {at}")
        if match.lastgroup != "space":
            found.append((match.lastgroup, match[0]))
        at = match.end()
    return found


def _json5_value(tokens: list[tuple[str, str]], at: int) -> tuple[Any, int]:
    kind, piece = tokens[at]
    if piece == "{" and kind == "mark":
        return _json5_object(tokens, at + 1)
    if piece == "[" and kind == "mark":
        return _json5_array(tokens, at + 1)
    if kind == "text":
        return _unquote(piece), at + 1
    if kind == "word":
        return _word(piece), at + 1
    raise ValueError(f"unexpected {piece}")


def _json5_object(tokens: list[tuple[str, str]], at: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while tokens[at] != ("mark", "}"):
        kind, piece = tokens[at]
        if kind == "mark" or tokens[at + 1] != ("mark", ":"):
            raise ValueError(f"unexpected {piece}")
        key = _unquote(piece) if kind == "text" else piece
        found[key], at = _json5_value(tokens, at + 2)
        at = _after_comma(tokens, at, "}")
    return found, at + 1


def _json5_array(tokens: list[tuple[str, str]], at: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while tokens[at] != ("mark", "]"):
        value, at = _json5_value(tokens, at)
        found.append(value)
        at = _after_comma(tokens, at, "]")
    return found, at + 1


def _after_comma(tokens: list[tuple[str, str]], at: int, closing: str) -> int:
    if tokens[at] == ("mark", ","):
        return at + 1
    if tokens[at] != ("mark", closing):
        raise ValueError(f"unexpected {tokens[at][1]}")
    return at


def _unquote(token: str) -> str:
    def plain(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) > 1 and escape[0] in "ux":
            return chr(int(escape[1:], 16))
        return _PLAIN.get(escape, escape)

    text = _ESCAPE.sub(plain, token[1:-1])
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _word(token: str) -> Any:
    if token in _WORDS:
        return _WORDS[token]
    try:
        return int(token, 0)
    except ValueError:
        return float(token)


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
    trust_folder: Path | None = None,
) -> Discovered:
    """The workspace to work on; `NoWorkspace` when the chosen place is none."""
    env = os.environ if env is None else env
    home = home or Path.home()
    wanted = (("flag", named), *((name, env.get(name)) for name in ("NACRE_WORKSPACE", "OPENCLAW_WORKSPACE")))
    for origin, place in wanted:
        if place:
            return _existing(expand(str(place), home, cwd), origin, ())
    problems: list[Problem] = []
    if above := _trusted_parent(cwd, home, trust_folder, problems):
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
    return any((root / name).exists() for name in (".nacre", "MEMORY.md", "memory", "AGENTS.md"))


def expand(place: str, home: Path, cwd: Path | None = None) -> Path:
    """A path as the user wrote it: `~` is the home folder, a relative one begins at the current folder."""
    if place == "~" or place.startswith(("~/", "~\\")):
        return Path(os.path.normpath(home / place[2:]))
    return Path(os.path.normpath((cwd or Path.cwd()) / place)) if not Path(place).is_absolute() else Path(place)


def _existing(root: Path, origin: str, problems: tuple[Problem, ...]) -> Discovered:
    if root.is_dir() and is_workspace(root):
        return Discovered(Workspace(root), origin, problems)
    command = "nacre init" if origin == "default" else f"nacre init {root}"
    notes = "".join(f" {one.message} ({one.remedy})" for one in problems)
    raise NoWorkspace(
        say(f'There is no workspace at {root}. Make one with "{command}".', f"{root} 没有工作区。可用“{command}”创建。")
        + notes
    )


def _trusted_parent(cwd: Path | None, home: Path, trust_folder: Path | None, problems: list[Problem]) -> Path | None:
    try:
        here = Path(os.path.abspath(cwd or Path.cwd()))
    except FileNotFoundError:  # the current folder is gone
        return None
    for folder in (here, *here.parents):
        if not _has_marker(folder):
            continue
        if is_trusted(folder, trust_folder):
            return folder
        if not _is_home(folder, home):
            problems.append(_untrusted(folder))
    return None


def _has_marker(folder: Path) -> bool:
    try:
        return (folder / ".nacre").is_dir()
    except OSError:
        return False


def _is_home(folder: Path, home: Path) -> bool:
    """`~/.nacre` holds the user's own default workspace; it makes no workspace of the home folder."""
    return os.path.realpath(folder) == os.path.realpath(home)


def _untrusted(folder: Path) -> Problem:
    return Problem(
        "not trusted",
        say(
            f"{folder} holds a workspace that you have not trusted; it was neither read nor written.",
            f"{folder} 中有一个您尚未信任的工作区；未读取也未写入。",
        ),
        str(folder),
        remedy=f"nacre trust {folder}",
    )


# Several agents, each with a workspace of its own: from our settings and from OpenClaw's.

_VARIABLE = re.compile(r"\$\{(\w+)\}")


def agent_workspaces(
    config: Config | None = None, env: Mapping[str, str] | None = None, home: Path | None = None
) -> dict[str, Path]:
    """Each agent's workspace by the agent's id, OpenClaw's default agent first; our own settings win over OpenClaw's."""
    env = os.environ if env is None else env
    home = home or Path.home()
    found = _openclaw(env, home)
    for name, place in (config.agents if config else {}).items():
        found[name] = expand(place, home)
    return found


def openclaw_workspace(config: Config | None, env: Mapping[str, str], home: Path) -> Path | None:
    """The workspace of OpenClaw's default agent, where that exists."""
    name = next(iter(_openclaw(env, home)), None)
    place = agent_workspaces(config, env, home)[name] if name else None
    return place if place and place.is_dir() else None


def openclaw_state(env: Mapping[str, str], home: Path) -> Path:
    """Where OpenClaw keeps its things."""
    named = env.get("OPENCLAW_STATE_DIR")
    return expand(named, home) if named else home / ".openclaw"


def _openclaw(env: Mapping[str, str], home: Path) -> dict[str, Path]:
    state = openclaw_state(env, home)
    named = env.get("OPENCLAW_CONFIG_PATH")
    settings = _read_openclaw(expand(named, home) if named else state / "openclaw.json")
    if settings is None:
        usual = state / "workspace"
        return {"main": usual} if usual.is_dir() else {}
    section = _table(settings.get("agents"))
    listed = [one for one in _list(section.get("list")) if isinstance(one, dict) and isinstance(one.get("id"), str)]
    if isinstance(entries := section.get("entries"), dict):  # in current versions, by id
        listed = [{**one, "id": name} for name, one in entries.items() if isinstance(one, dict)]
    default = next((one["id"] for one in listed if one.get("default")), listed[0]["id"] if listed else "main")
    shared = _path(_table(section.get("defaults")).get("workspace"), env, home)
    found: dict[str, Path] = {}
    for one in sorted(listed, key=lambda one: bool(one["id"] != default)) or [{"id": "main"}]:
        known = one["id"].strip().lower()
        own = _path(one.get("workspace"), env, home)
        if known == default.strip().lower() or known == "main":
            usual = shared or state / _usual_name(env)
        else:
            usual = shared / known if shared else state / f"workspace-{known}"
        found[known] = own or usual
    return found


def _usual_name(env: Mapping[str, str]) -> str:
    profile = env.get("OPENCLAW_PROFILE", "").strip()
    return f"workspace-{profile}" if profile and profile.lower() != "default" else "workspace"


def _read_openclaw(path: Path) -> dict[str, Any] | None:
    """OpenClaw's settings; none when they are missing or beyond us."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None

    try:
        found = parse_json5(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _path(value: Any, env: Mapping[str, str], home: Path) -> Path | None:
    if not isinstance(value, str) or not value.strip():
        return None
    return expand(_VARIABLE.sub(lambda match: env.get(match[1], match[0]), value.strip()), home)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# Which project a folder belongs to: each project's MEMORY.md names its path in its first lines.

_OTHER_TREE = re.compile(r"gitdir:\s*(.+?)[/\\]\.git[/\\]worktrees[/\\]")
_PLACE = re.compile(r"^>?\s*(?:Project|项目)[:：]\s*(.+?)\s*$", re.MULTILINE)


def project_places(workspace: Workspace) -> dict[str, str]:
    """Every project's folder, by its slug."""
    places: dict[str, str] = {}
    try:
        with os.scandir(workspace.projects) as entries:
            slugs = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError as error:
        raise_unless_absent(workspace.projects, error)
        return {}
    for slug in slugs:
        try:
            with (workspace.projects / slug / "MEMORY.md").open("rb") as file:
                head = file.read(1000).decode("utf-8", errors="replace")
        except OSError:
            continue
        if found := _PLACE.search(head):
            places[slug] = os.path.expanduser(found[1])
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
    """With which project a coding agent's talk in a folder is stamped; none in the workspace, where all is talked about."""
    if os.path.realpath(folder) == os.path.realpath(workspace.root):
        return ""
    return project_of(workspace, Path(folder)) or folder_name(folder.rstrip("/\\"))


def folder_name(folder: str) -> str:
    """What a project is called that nobody named: by its repository or folder; nothing for the home folder, where people
    talk about everything."""
    place = repository_root(folder)
    return "" if place == os.path.expanduser("~") else os.path.basename(place.replace("\\", "/"))


def repository_root(folder: str) -> str:
    """The root of the repository that holds a folder, where it exists on this machine; else the folder."""
    place, home = folder, os.path.expanduser("~")
    while os.path.isabs(place) and place not in (os.path.dirname(place), home):
        sign = os.path.join(place, ".git")
        if os.path.exists(sign):
            return _main_tree(sign) or place
        place = os.path.dirname(place)
    return folder


def _main_tree(sign: str) -> str | None:
    """The main working tree of a repository, where `.git` is a file that says: this is but another tree of it."""
    try:
        with open(sign, encoding="utf-8", errors="replace") as file:
            told = file.read(4096)
    except OSError:  # a folder: the repository itself
        return None
    found = _OTHER_TREE.match(told)
    return found[1] if found and os.path.isabs(found[1]) else None
