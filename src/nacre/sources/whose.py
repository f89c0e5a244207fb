"""Whose a talk is: where each agent keeps its talks, which workspace takes them, which project they belong to."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from nacre.config import Config
from nacre.guard.secrets import redact
from nacre.model.session import Kind, Session
from nacre.sources.consent import folder, settings_of
from nacre.sources.transcript import Places, Transcript
from nacre.vault.agents import agents
from nacre.vault.projects import folder_name
from nacre.vault.workspace import Workspace


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
    return known(cwd) or folder_name(cwd)


def listed_as(session: Session, project: str) -> str:
    """What a session is listed under, and left out by: its group, its project, or neither."""
    if session.kind is Kind.GROUP:
        return redact(session.group).text or "group"
    return redact(project).text or "direct"
