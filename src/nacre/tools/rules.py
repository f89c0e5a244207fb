"""The rules of recall and writing for an agent that has the tools: one text for MCP, plugins, hooks and skills."""

from __future__ import annotations

from collections.abc import Mapping

from nacre.vault import rulewords
from nacre.vault.rulewords import TOOLS, reading, working, writing
from nacre.words import language

__all__ = ["TOOLS", "instructions", "reading", "section", "working", "writing"]


def instructions(tongue: str | None = None, *, group: bool = False) -> str:
    """What a client tells its model about this server. A group reads, and is told nothing of writing."""
    return section(tongue, group=group).partition("\n\n")[2]


def section(tongue: str | None = None, *, group: bool = False, names: Mapping[str, str] = TOOLS) -> str:
    """The same with its heading, as a section of a prompt. `names` says how each deed is called there."""
    return rulewords.section(tongue or language(), names, writes=not group)
