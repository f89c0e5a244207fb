"""Every MEMORY.md as a person looks at it: by section, how full it is, and of each entry what the ledger and the recalls tell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nacre.errors import NacreError
from nacre.guard.secrets import legible
from nacre.model import Context
from nacre.vault.entries import Item, entry_id, open_document
from nacre.vault.ledger import EntryState, LedgerStates
from nacre.vault.refcount import Recall, read_recalls
from nacre.vault.storage import list_longterm
from nacre.vault.writing import Size, size_of

_MOST_ENTRIES = 500


@dataclass(frozen=True)
class EntryOverview:
    """An entry as it stands in its file. One with lines nested in it (`is_whole` is false) is edited by hand alone."""

    id: str
    text: str
    section: str
    line: int
    end_line: int
    pinned: bool
    verdict: str | None  # the ledger's; none for a line that it does not know yet
    valid_from: str | None
    confidence: float | None
    said: str | None  # the day
    session: str | None
    used: str | None  # when it was last read
    uses: int

    @property
    def is_whole(self) -> bool:
        return self.line == self.end_line


@dataclass(frozen=True)
class FileOverview:
    """A MEMORY.md: its hash as it was read, its size and limits, its entries in the order of the file. `trouble` says why it cannot be read."""

    path: str
    project: str | None
    hash: str
    size: Size
    limits: Size
    entries: tuple[EntryOverview, ...] = ()
    left: int = 0  # entries that are not among them: no file within its limits has so many
    trouble: str | None = None


def read_overview(context: Context) -> list[FileOverview]:
    """The general MEMORY.md, then each project's."""
    workspace = context.workspace
    states, recalls = LedgerStates(workspace), read_recalls(workspace).recalls
    return [file for path in list_longterm(workspace) if (file := _read_file(context, path, states, recalls))]


def _read_file(context: Context, path: Path, states: LedgerStates, recalls: tuple[Recall, ...]) -> FileOverview | None:
    workspace, limits = context.workspace, context.config.memory
    shown, most = workspace.relative(path), Size(limits.max_lines, limits.max_bytes)
    project = None if path == workspace.longterm else path.parent.name
    try:
        doc = open_document(workspace, path)
        if doc is None:
            return None
        of_file = [recall for recall in recalls if recall.path == shown]
        entries = tuple(_entry(item, states.get(entry_id(item.words)), of_file) for item in doc.entries[:_MOST_ENTRIES])
    except NacreError as error:
        return FileOverview(shown, project, "", Size(0, 0), most, trouble=str(error))
    left = len(doc.entries) - len(entries)
    return FileOverview(shown, project, doc.hash, size_of(doc.data), most, entries, left)


def _entry(item: Item, state: EntryState | None, recalls: list[Recall]) -> EntryOverview:
    read = [recall.at for recall in recalls if recall.lines[0] <= item.start and item.end <= recall.lines[1]]
    source = state.source if state else {}
    return EntryOverview(
        entry_id(item.words),
        legible(item.words),
        legible(item.section),
        item.start,
        item.end,
        item.is_pinned or bool(state and state.pinned),
        state.verdict if state else None,
        state.valid_from if state else None,
        state.confidence if state else None,
        source.get("day"),
        source.get("session"),
        max(read, default=None),
        len(read),
    )
