"""Whose a talk is: where each agent keeps its talks, which workspace takes them, which project they belong to."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from nacre.config import Config
from nacre.guard.secrets import redact
from nacre.model.session import Kind, Session
from nacre.sources.consent import folder, settings_of
from nacre.sources.transcript import Places, Transcript
from nacre.vault.agents import agents
from nacre.vault.workspace import Workspace

_OTHER_TREE = re.compile(r"gitdir:\s*(.+?)[/\\]\.git[/\\]worktrees[/\\]")


def places_of(config: Config, env: Mapping[str, str] | None = None, home: Path | None = None) -> Places:
    env = os.environ if env is None else env
    names = ("openclaw", "claude-code", "codex", "cursor", "gemini", "opencode")
    paths = {name: path for name in names if (path := settings_of(config, name).path)}
    return Places(home or Path.home(), env, paths)


def belongs_to(workspace: Workspace, config: Config) -> Callable[[Transcript], bool]:
    """Whose talks a workspace takes: with several agents, each OpenClaw agent's go to its own, all else to the first."""
    places = {name: os.path.realpath(path) for name, path in agents(config).items()}
    here = os.path.realpath(workspace.root)
    if len(set(places.values())) < 2 or here not in places.values():
        return lambda _: True
    first = next(iter(places.values()))

    def wanted(transcript: Transcript) -> bool:
        if transcript.agent != "openclaw":
            return here == first
        return places.get(_agent(transcript.path), first) == here

    return wanted


def _agent(path: Path) -> str:
    """The name of the agent in `<state>/agents/<name>/…/<file>`; a folder further up may be called "agents" too."""
    parts = path.parts[:-1]
    found = [name for above, name in itertools.pairwise(parts) if above == "agents"]
    return found[-1].lower() if found else ""


def project_name(session: Session, known: Callable[[str], str | None], workspace_root: str) -> str:
    """The project of a session: the one whose folder holds it, else the repository or folder it worked in.

    OpenClaw's agents live in their workspace: what is said there is about everything.
    """
    cwd = folder(session.cwd).rstrip("/\\")
    if session.agent == "openclaw" or not cwd or cwd == workspace_root:
        return ""
    return known(cwd) or _named(_repository(cwd))


def listed_as(session: Session, project: str) -> str:
    """What a session is listed under, and left out by: its group, its project, or neither."""
    if session.kind is Kind.GROUP:
        return redact(session.group).text or "group"
    return redact(project).text or "direct"


def _named(folder: str) -> str:
    """What a project is called by its folder; nothing for the home folder, where people talk about everything."""
    return "" if folder == os.path.expanduser("~") else os.path.basename(folder.replace("\\", "/"))


def _repository(folder: str) -> str:
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
