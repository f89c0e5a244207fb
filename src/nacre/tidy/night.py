"""What a night of tidying did to long-term memory, in one line: of a run, or of the last one that history knows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from nacre.errors import NotFound
from nacre.i18n import say
from nacre.model.workspace import Workspace
from nacre.vault import history, ledger
from nacre.vault.ledger import Record
from nacre.vault.storage import parse_rows, storage_of

_LATEST = 500  # operations among which the last night is looked for


class Night(NamedTuple):
    """How many entries were added, how many were replaced by newer ones, and how many questions were put."""

    added: int = 0
    replaced: int = 0
    questions: int = 0

    @property
    def line(self) -> str:
        parts = [
            (self.added, f"+{self.added}", f"新增 {self.added} 条"),
            (self.replaced, f"{self.replaced} replaced", f"替换 {self.replaced} 条"),
            (self.questions, f"{self.questions} question{'s' * (self.questions > 1)}", f"待确认 {self.questions} 条"),
        ]
        told = [say(english, chinese) for count, english, chinese in parts if count]
        return say(", ", "，").join(told) or say("nothing new", "无新内容")


def count_night(records: Iterable[Record]) -> Night:
    """What the records of one run tell; what somebody edited by hand is no doing of the night."""
    records = list(records)
    added = sum(record.verdict == "admitted" and record.supersedes is None for record in records)
    replaced = sum(record.verdict == "superseded" and record.more.get("by") != "hand" for record in records)
    return Night(added, replaced, sum(record.verdict == "asked" for record in records))


def last_night(workspace: Workspace) -> tuple[str, Night] | None:
    """When tidying last changed long-term memory or asked something, and what it did; none where history knows no such run."""
    storage, shown = storage_of(workspace), workspace.relative(workspace.ledger)
    for operation in islice(history.latest(storage), _LATEST):
        written = [change.bytes for change in operation.carried_changes if change.path == shown and change.bytes]
        if operation.command not in ("tidy", "decay") or operation.state == history.UNDONE or not written:
            continue
        try:
            rows = [row.value for digest in written for row in parse_rows(storage.content(digest), shown).rows]
        except NotFound:
            return None  # what was kept of it was purged
        return operation.at, count_night(filter(None, map(ledger.record_from, rows)))
    return None
