"""Our rules in the workspace's own AGENTS.md, which every agent that works there reads: written, and taken out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import NacreError
from nacre.jobs.service.common import diff
from nacre.vault import atomic, rules
from nacre.vault.markdown import document
from nacre.vault.operation import operation
from nacre.vault.rewrite import remove, rewrite
from nacre.vault.workspace import Workspace


@dataclass(frozen=True)
class RulesPlan:
    """AGENTS.md as it is and as it is to be."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def diff(self) -> str:
        return diff(str(self.path), self.before, self.after)


def plan(workspace: Workspace, language: str, *, out: bool = False) -> RulesPlan | None:
    """What has to change so that the rules stand there, up to date, or (out) not at all; None where nothing has to."""
    path = workspace.root / "AGENTS.md"
    try:
        before = atomic.read_bytes(path)
        doc = document(path, before or b"")
        after: bytes | None = rules.without_block(doc) if out else rules.with_block(doc, language)
    except NacreError:  # a file that cannot be read is left alone; doctor names it
        return None
    if out and not (after or b"").strip():
        after = None
    return RulesPlan(path, before, after) if (before or b"") != (after or b"") else None


def apply(made: RulesPlan, workspace: Workspace, clock: Clock, config: Config) -> None:
    """Write it as one change of the workspace, which "nacre undo" takes back."""
    read = None if made.before is None else atomic.digest(made.before)
    with operation(workspace, clock, "connect", config) as op:
        if made.after is None:
            assert read is not None
            remove(op, made.path, read=read)
        else:
            rewrite(op, made.path, made.after, read=read)
