"""Every agent whose transcripts can be read, where each keeps them, and which workspace and project they belong to."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path

from nacre.config.settings import Config
from nacre.guard.secrets import redact
from nacre.model.session import Kind, Session
from nacre.model.workspace import Workspace, slug_of
from nacre.sources.consent import folder, settings_of
from nacre.sources.transcript import Places, Source, Transcript
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


# Where each agent keeps its sessions, which workspace takes them, which project they belong to.


def places_of(config: Config) -> Places:
    names = ("openclaw", "claude-code", "codex", "cursor", "gemini", "opencode")
    paths = {name: path for name in names if (path := settings_of(config, name).path)}
    return Places(Path.home(), os.environ, paths)


def belongs_to(workspace: Workspace, config: Config) -> Callable[[Transcript], bool]:
    """Whose sessions a workspace takes: with several agents, each OpenClaw agent's go to its own, all else to the first."""
    places = {name: os.path.realpath(path) for name, path in agent_workspaces(config).items()}
    here = os.path.realpath(workspace.root)
    if len(set(places.values())) < 2 or here not in places.values():
        return lambda _: True
    first = next(iter(places.values()))

    def is_taken(transcript: Transcript) -> bool:
        # The agent of `<state>/agents/<name>/…/<file>`; a folder further up may be called "agents" too.
        folders = itertools.pairwise(transcript.path.parts[:-1]) if transcript.agent == "openclaw" else ()
        names = ["", *(name.lower() for above, name in folders if above == "agents")]
        return places.get(names[-1], first) == here

    return is_taken


def project_name(session: Session, project_of: Callable[[str], str | None], workspace_root: str) -> str:
    """The project whose folder holds a session, else the repository or folder it worked in; none for OpenClaw's agents."""
    cwd = folder(session.cwd).rstrip("/\\")
    if session.agent == "openclaw" or not cwd or cwd == workspace_root:
        return ""
    return project_of(cwd) or folder_name(cwd)


def listed_as(session: Session, project: str) -> str:
    """What a session is listed under, and left out by: its group, its project, or neither."""
    if session.kind is Kind.GROUP:
        return redact(session.group).text or "group"
    return redact(project).text or "direct"


# A module, and which of its sources where it has two; in the order in which they are asked.
MODULES = ("openclaw.classic", "openclaw.database", "claude", "codex", "cursor.cli", "cursor.ide", "gemini", "opencode")


def sources() -> tuple[Source, ...]:
    names = (name.partition(".") for name in MODULES)
    modules = ((importlib.import_module(f"nacre.sources.{module}"), source) for module, _, source in names)
    return tuple(getattr(module, source.upper() or "SOURCE") for module, source in modules)
