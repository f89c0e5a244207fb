"""What there is to see afterwards, read from the workspace and asked of it: nothing of it is written down beforehand."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nacre.demo.stage import SECRET, Stage
from nacre.memory import Memory
from nacre.model.context import Scope
from nacre.model.hit import Hit
from nacre.vault import checkpoints, ledger
from nacre.vault.markdown import open_document

QUESTIONS = {
    "en": ("who checks the invoices?", "陈伟怎么收款？"),
    "zh": ("发票找谁核对？", "how should I write to Lucas?"),
}
# As its sessions are stamped: what it is called, and the sign of its chat.
GROUPS = {"en": ("rowing-club-b8dcdc", "who brings the oars?"), "zh": ("划船队-f2b47c", "谁带备用桨？")}
UNSAID = {"en": "present for Mara", "zh": "礼物"}
_LOG_DAY = "2026-03-12"
_SHOWN = 3  # of each kind


@dataclass(frozen=True)
class Answer:
    """A question, and the best hit, if anything answers."""

    question: str
    hit: Hit | None


@dataclass(frozen=True)
class Reason:
    """An entry of MEMORY.md: what would go wrong without it, and the words that it goes back to."""

    words: str
    without_it: str
    day: str
    said: str


@dataclass(frozen=True)
class Story:
    """Two weeks, as somebody sees them who looks into the workspace."""

    log: tuple[str, Sequence[str]]  # the path of a day's log, and its lines
    week: tuple[str, Sequence[str]]
    entries: Sequence[str]  # of MEMORY.md
    reason: Reason | None
    refused: Sequence[tuple[str, str]]  # a line, and the tests that it failed
    refusals: int
    redacted: str  # the line that held a secret
    searched: int  # files of the workspace in which the secret was looked for
    secret_in: Sequence[str]
    unsaid_in: Sequence[str]  # files that hold what the user asked not to remember
    changed: tuple[str, str, str] | None  # the old fact, until when it held, the new one
    answers: Sequence[Answer]
    private: Answer  # a private question, asked from within a group
    shared: Answer  # the group's own
    layers: Mapping[str, int]  # whole sessions by layer
    context_tokens: int
    context_parts: Sequence[str]


def tell_story(stage: Stage, memory: Memory) -> Story:
    """Look at everything once. Asks the real commands' functions, in the language of the sessions."""
    workspace, language = stage.workspace, stage.config.language
    known = open_document(workspace.longterm)
    records = ledger.read_ledger(workspace).records
    refused = [(one.text or "", one.failed or "") for one in records if one.verdict == "refused"]
    files = [path for path in sorted(workspace.root.rglob("*")) if path.is_file()]
    log = workspace.memory / f"{_LOG_DAY}.md"
    week = next(iter(sorted(workspace.weekly.glob("*.md"))), log)
    pack = memory.context()
    group, of_the_group = GROUPS[language]
    with Memory(replace(memory.opened, scope=Scope(group))) as listener:
        private, shared = _asked(listener, QUESTIONS[language][0]), _asked(listener, of_the_group)
    return Story(
        log=(workspace.relative(log), _lines(log)[1:]),
        week=(workspace.relative(week), [line for line in _lines(week) if line.startswith("[")]),
        entries=[entry.words for entry in known.entries] if known else [],
        reason=_reason(memory, records),
        refused=_various(refused),
        refusals=len(refused),
        redacted=next((line for path in files for line in _lines(path) if "[redacted:" in line), ""),
        searched=len(files),
        secret_in=_holding(files, SECRET),
        unsaid_in=_holding(files, UNSAID[language]),
        changed=_changed(records),
        answers=[_asked(memory, question) for question in QUESTIONS[language]],
        private=private,
        shared=shared,
        layers=Counter(
            family.layer for family in checkpoints.families(checkpoints.list_checkpoints(workspace, stage.config))
        ),
        context_tokens=pack.tokens,
        context_parts=list(dict.fromkeys(part.path for part in pack.parts)),
    )


def _lines(path: Path) -> list[str]:
    if path.suffix != ".md":
        return []
    return [line for line in path.read_text("utf-8").splitlines() if line.strip()]


def _asked(memory: Memory, question: str) -> Answer:
    return Answer(question, next(iter(memory.search(question, 1)), None))


def _holding(files: Sequence[Path], words: str) -> list[str]:
    """The files whose bytes hold the words, whatever kind of file they are; what history packs is unpacked."""
    return [path.name for path in files if words.encode() in _unpacked(path.read_bytes())]


def _unpacked(data: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error:
        return data


def _various(refused: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """A few refusals, each for another reason where there are as many."""
    by_reason = {failed: (text, failed) for text, failed in refused if "[redacted" not in text}
    return list(by_reason.values())[:_SHOWN]


def _reason(memory: Memory, records: Sequence[ledger.Record]) -> Reason | None:
    """Why one entry is there: of an entry that was admitted, and still stands."""
    for record in records:
        if record.verdict != "admitted" or not record.without_it or not record.text:
            continue
        found = memory.why(record.id)
        said = [link.text for link in found.chain if link.kind == "message"]
        day = next((link.path for link in found.chain if link.kind == "daily"), "")
        if said and any(link.kind == "longterm" and link.path == "MEMORY.md" for link in found.chain):
            return Reason(record.text, record.without_it, day, said[0])
    return None


def _changed(records: Sequence[ledger.Record]) -> tuple[str, str, str] | None:
    """A fact that was superseded by another."""
    by_id = {record.id: record for record in records if record.text}
    for record in records:
        older = by_id.get(record.supersedes or "")
        if older and record.text:
            return older.text or "", (record.valid_from or record.at)[:10], record.text
    return None
