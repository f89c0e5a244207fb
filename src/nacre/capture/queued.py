"""The talks that hooks queued, wherever their transcripts lie: each as its source would list it, captured once, then taken off the queue."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nacre.config import Config
from nacre.sources.consent import settings_of
from nacre.sources.transcript import Places, Source, Transcript, listed
from nacre.vault import inbox
from nacre.vault.inbox import Queued
from nacre.vault.workspace import Workspace

# Where each agent keeps its talks: in there its own source knows best which are to be read.
_ROOTS = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "cursor": (None, ".cursor"),
}


class Queue:
    """The queue of a workspace, as it stood when it was read."""

    def __init__(self, workspace: Workspace, config: Config, places: Places, sources: Sequence[Source]) -> None:
        self.waiting = inbox.waiting(str(workspace.root))
        self._config = config
        self._places = places
        self._readers = {
            source.agent: source for source in reversed(sources)
        }  # of two for one agent, the first reads files
        self._root = str(workspace.root)

    @property
    def wanted_now(self) -> frozenset[str]:
        """The transcripts of talks that ended, or are about to be forgotten by their agents."""
        return frozenset(one.transcript for one in self.waiting if one.now)

    def is_over(self, transcript: Transcript) -> bool:
        """Whether the agent of a talk said that it ended, or is about to be forgotten. A database holds many, known by their ids."""
        return any(
            one.now
            and (transcript.path.suffix == ".jsonl" or (one.session and one.session in transcript.key))
            and os.path.realpath(one.transcript) == os.path.realpath(transcript.path)
            for one in self.waiting
        )

    def outside(self, source: Source) -> Iterator[Transcript]:
        """The transcripts that a source would not find, because they lie where it does not look."""
        if self._readers.get(source.agent) is source:
            mine = (one for one in self.waiting if one.agent == source.agent and self._is_outside(one))
            yield from (one for queued in mine for one in _transcript(queued))

    def take_off(self, open_keys: Iterable[str], now: float) -> int:
        """Take off what a run has looked at. `open_keys` are transcripts of which something is still to be captured: what lies where
        no source looks stays on the queue for that long."""
        still = set(open_keys)
        gone = 0
        for one in self.waiting:
            stays = self._is_outside(one) and any(found.key in still for found in _transcript(one))
            gone += 0 if stays else inbox.done(one)
        return gone + inbox.clean(self._root, now)

    def _is_outside(self, one: Queued) -> bool:
        if one.agent not in _ROOTS or not settings_of(self._config, one.agent).enabled:
            return False
        variable, usual = _ROOTS[one.agent]
        root = os.path.realpath(self._places.root(one.agent, variable, usual))
        return not os.path.realpath(one.transcript).startswith(root + os.sep)


def _transcript(one: Queued) -> list[Transcript]:
    """The transcript as a source lists it; none when it is gone, or is of a sub-agent."""
    path = Path(one.transcript)
    if path.suffix != ".jsonl" or path.name.startswith("agent-") or "subagents" in path.parts:
        return []
    found = list(listed(one.agent, iter([path])))
    if one.agent == "codex" and len(path.parts) > 5 and path.parts[-5] == "sessions":
        return [
            replace(each, key=f"{path.parents[4]}#{path.name}") for each in found
        ]  # the key that it has in its own place
    return found
