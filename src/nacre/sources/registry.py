"""Every agent whose transcripts can be read, where each keeps them, and which workspace and project they belong to."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from nacre.config.settings import Config
from nacre.guard.secrets import redact
from nacre.model.session import Kind, Session
from nacre.model.workspace import Workspace, slug_of
from nacre.sources.consent import folder, settings_of
from nacre.sources.reading import Places, Source, Transcript
from nacre.vault.discover import agent_workspaces, folder_name

GROUP = "group"
_AGENT = re.compile(r"\Aagent:[^:]*:")
_WITHIN = re.compile(r":(?:topic|thread):.*\Z", re.DOTALL)  # of one chat: the same people read it


def chat_hash(key: str) -> str:
    """A short hash for the chat of a session's key: the same for every agent and topic in it, and not its id."""
    chat = _WITHIN.sub("", _AGENT.sub("", key))
    return hashlib.blake2b(chat.encode("utf-8", "replace"), digest_size=3).hexdigest() if chat else ""


def group_stamp(group: str, chat: str) -> str:
    """What stands after `group:`. The name is for people: its members choose it, and two groups may have the same."""
    name = slug_of(redact(group or GROUP).text)
    return f"{name}-{chat}" if chat else name


# Whose a talk is: where each agent keeps its talks, which workspace takes them, which project they belong to.


def places_of(config: Config, env: Mapping[str, str] | None = None, home: Path | None = None) -> Places:
    env = os.environ if env is None else env
    names = ("openclaw", "claude-code", "codex", "cursor", "gemini", "opencode")
    paths = {name: path for name in names if (path := settings_of(config, name).path)}
    return Places(home or Path.home(), env, paths)


def belongs_to(workspace: Workspace, config: Config) -> Callable[[Transcript], bool]:
    """Whose talks a workspace takes: with several agents, each OpenClaw agent's go to its own, all else to the first."""
    places = {name: os.path.realpath(path) for name, path in agent_workspaces(config).items()}
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


# A module, and which of its sources where it has two.
MODULES = ("openclaw.classic", "openclaw.database", "claude", "codex", "cursor.cli", "cursor.ide", "gemini", "opencode")


def sources() -> tuple[Source, ...]:
    """The sources, in the order in which they are asked. Importing them all costs little: they hold only functions."""
    found: list[Source] = []
    for name in MODULES:
        module, _, which = name.partition(".")
        source = getattr(importlib.import_module(f"nacre.sources.{module}"), which.upper() or "SOURCE")
        assert isinstance(source, Source)
        found.append(source)
    return tuple(found)
