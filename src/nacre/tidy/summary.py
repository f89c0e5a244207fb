"""What a tidy run did to long-term memory: in one line, and line by line; of a run, or of the last one that history knows."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from nacre.errors import NotFound
from nacre.guard.secrets import legible
from nacre.i18n import say
from nacre.model import Workspace
from nacre.text.layout import age
from nacre.text.tokens import language_of
from nacre.vault import history, ledger
from nacre.vault.history import Recorded
from nacre.vault.ledger import Record
from nacre.vault.storage import parse_rows, storage_of

_EVENING, _MORNING = 3, 6  # hours before and after midnight between which it is night
_LATEST = 500  # operations among which the last run is looked for


class MemoryChanges(NamedTuple):
    """What one run did: how many entries were added or replaced by newer ones, and how many questions were put."""

    added: int = 0
    replaced: int = 0
    questions: int = 0

    @property
    def line(self) -> str:
        asked = f"{self.questions} question{'s' * (self.questions > 1)}"
        parts = [
            (self.added, f"+{self.added}", f"新增 {self.added} 条"),
            (self.replaced, f"{self.replaced} replaced", f"替换 {self.replaced} 条"),
            (self.questions, asked, f"待确认 {self.questions} 条"),
        ]
        return _listed(parts) or say("nothing new", "无新内容")

    def sentence(self, at: str, now: dt.datetime) -> str:
        """The same for somebody who did not ask: in a notification, or at the head of a session."""
        waits = "1 question waits" if self.questions == 1 else f"{self.questions} questions wait"
        parts = [
            (self.added, f"{self.added} kept", f"记住 {self.added} 条"),
            (self.replaced, f"{self.replaced} replaced", f"更新 {self.replaced} 条"),
            (self.questions, f"{waits} for you (nacre review)", f"{self.questions} 个问题等你回答（nacre review）"),
        ]
        return title(at, now) + say(": ", "：") + _listed(parts) + say(".", "。")


def _listed(parts: Iterable[tuple[int, str, str]]) -> str:
    return say(", ", "，").join(say(english, chinese) for count, english, chinese in parts if count)


def title(at: str, now: dt.datetime) -> str:
    """What a run is called: the last night where it was in the night before today, else the last tidy, with its age."""
    moment = dt.datetime.fromisoformat(at).astimezone(now.tzinfo)
    begin = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if begin - dt.timedelta(hours=_EVENING) <= moment < begin + dt.timedelta(hours=_MORNING):
        return say("Last night", "昨夜")
    return say(f"Last tidy, {age(moment, now)}", f"上次整理（{age(moment, now)}）")


def count_changes(records: Iterable[Record]) -> MemoryChanges:
    """What the records of one run add up to; edits by hand do not count."""
    records = list(records)
    added = sum(record.verdict == "admitted" and record.supersedes is None for record in records)
    by_run = (record.more for record in records if record.verdict == "superseded" and record.more.get("by") != "hand")
    replaced = sum("kind" not in more for more in by_run)  # the record of a withdrawn question has a kind
    return MemoryChanges(added, replaced, sum(record.verdict == "asked" for record in records))


def last_run(workspace: Workspace, since: str = "") -> tuple[Recorded, list[Record]] | None:
    """The last run of tidying that changed long-term memory or asked something, and what it wrote into the ledger; none where history
    knows no such run, or none since that day."""
    storage, shown = storage_of(workspace), workspace.relative(workspace.ledger)
    for operation in islice(history.latest(storage), _LATEST):
        if operation.at < since:
            return None
        written = [change.bytes for change in operation.carried_changes if change.path == shown and change.bytes]
        if operation.command not in ("tidy", "decay") or operation.state == history.UNDONE or not written:
            continue
        try:
            rows = [row.value for digest in written for row in parse_rows(storage.content(digest), shown).rows]
        except NotFound:
            return None  # what was kept of it was purged
        return operation, list(filter(None, map(ledger.record_from, rows)))
    return None


def last_changes(workspace: Workspace, since: str = "") -> tuple[str, MemoryChanges] | None:
    """When tidying last changed long-term memory or asked something, and what it did."""
    run = last_run(workspace, since)
    return (run[0].at, count_changes(run[1])) if run else None


class Decision(NamedTuple):
    """What a run decided on one line, as it may be shown: what took whose place, and why."""

    action: str  # "kept", "replaced", "moved out", "refused" or "asked"
    id: str
    text: str
    before: str | None  # the words that it replaced
    file: str
    section: str | None
    reason: str
    source: Mapping[str, str]


_MOST = 60  # decisions of one action: a first run looks at months
_ACTIONS = {"admitted": "kept", "refused": "refused", "asked": "asked", "demoted": "moved out"}


def decisions(workspace: Workspace, records: Iterable[Record]) -> tuple[list[Decision], Counter[str]]:
    """What the records of one run decided, and how many of each action are too many to be among them; lines that only say the same
    once more are left out."""
    states, made, counts = ledger.LedgerStates(workspace), [], Counter[str]()
    for record in records:
        text = record.text or (state.text if (state := states.get(record.id)) else None)
        if record.verdict not in _ACTIONS or not text:
            continue
        old = states.get(record.supersedes) if record.supersedes else None
        action = "replaced" if old and record.verdict == "admitted" else _ACTIONS[record.verdict]
        counts[action] += 1
        if counts[action] > _MOST:
            continue
        made.append(
            Decision(
                action,
                record.id,
                legible(text),
                before=legible(old.text) if old and old.text else None,
                file=str(record.more.get("file") or "MEMORY.md"),
                section=record.section,
                reason=_reason(record),
                source=record.source,
            )
        )
    return made, counts - Counter(dict.fromkeys(counts, _MOST))


def _reason(record: Record) -> str:
    """Why a line was kept or not, as a sentence for people."""
    kept = say("worth keeping", "值得保留") if record.verdict == "admitted" else ""
    return consequence(legible(record.without_it or "")) or failure(record.failed or "") or kept


def consequence(without_it: str | None) -> str:
    """What the reverse check found, led in by words of its own language."""
    if not without_it:
        return ""
    return f"否则{without_it}" if language_of(without_it) == "zh" else f"without it, {without_it}"


_OUTCOMES = {
    "admitted": ("kept", "收录"),
    "adopted": ("written by hand", "手动写入"),
    "asked": ("asked", "询问"),
    "refused": ("rejected", "拒绝"),
    "superseded": ("replaced", "被取代"),
    "merged": ("merged", "合并"),
    "demoted": ("moved out", "移出"),
    "forgotten": ("forgotten", "忘记"),
    "restored": ("restored", "恢复"),
}
_FAILURES = {
    "prevents_error": ("nothing would go wrong without it", "没有它也不会出错"),
    "broad": ("too narrow for long-term memory", "适用范围太窄，不必长期记住"),
    "self_contained": ("unclear on its own", "脱离上下文看不懂"),
    "novel": ("already in memory", "已经记住"),
    "secret": ("it contains a secret", "含有敏感信息"),
    "superseded": ("a later statement may replace it", "后来的说法可能取代了它"),
    "unanswered": ("not answered for 30 days", "30 天没有答复"),
    "user": ("your decision", "你的决定"),
    "agent": ("an agent's decision", "智能体的决定"),
    "asked enough": ("there were already three questions that day", "当天已提出三个问题"),
}


def outcome(verdict: str) -> str:
    """What became of a line, as the ledger names it, for people."""
    return say(*_OUTCOMES.get(verdict, (verdict, verdict)))


def failure(failed: str) -> str:
    """Why a line was not kept, as the ledger names it, for people."""
    return say(*_FAILURES.get(failed, (failed, failed)))
