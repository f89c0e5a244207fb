"""Chat exports into the daily logs: conversations in batches through sync, each into the log of its day."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from nacre.capture import cursors
from nacre.capture.importing_notes import CAPTURE, COMMAND, SKIP, ImportReport
from nacre.capture.read import Extract
from nacre.capture.sections import read_headings
from nacre.capture.sync import PATIENCE, Progress, SyncReport, SyncSetup, sync
from nacre.errors import BadInput, NacreError
from nacre.i18n import say
from nacre.model.entry import Bullet
from nacre.model.report import Step
from nacre.model.session import Message, Session
from nacre.model.workspace import Workspace
from nacre.sources.exports.which import export_at
from nacre.sources.reading import Mark, Places, Reading, Source, Transcript, digest_of, resume_at
from nacre.vault import daily
from nacre.vault import history as vault_history
from nacre.vault.history import DONE, PARTLY, UNDONE, operation, read_history
from nacre.vault.lock import hold

BATCH = 200  # conversations that are in memory at a time
BEGINNING = dt.datetime(1970, 1, 2, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Importing(Workspace):
    """The workspace, with a file of its own for how far exports were read: sync is not told that it has run."""

    @property
    def cursors(self) -> Path:
        return self.machine / "imports.json"


@dataclass
class _Kept:
    """Bullets that were found while nobody was kept waiting, for the writing that follows."""

    extract: Extract
    found: dict[bytes, list[Bullet]] = field(default_factory=dict)

    def __call__(self, messages: Sequence[Message]) -> list[Bullet]:
        key = _fingerprint(messages)
        if key not in self.found:
            self.found[key] = self.extract(messages)
        return self.found[key]


@dataclass
class _Tally:
    """What the batches gave together."""

    steps: list[Step] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)
    conversations: int = 0
    looked_at: int = 0
    paused: bool = False

    def add(self, report: SyncReport, workspace: Workspace, size: int) -> None:
        self.conversations += size
        self.looked_at += report.looked_at
        self.passed.update(report.passed_over)
        self.paused |= report.paused
        for one in report.sections:
            shown = workspace.relative(daily.log_path(workspace, one.day))
            self.steps.append(Step(CAPTURE, shown, say("what was said that day", "当天的对话"), one.heading))


def import_export(
    path: Path,
    given: SyncSetup,
    *,
    since: dt.datetime | None = None,
    progress: Progress | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Capture every conversation of an export.

    All is read twice: first to find what is worth a line, which takes long, then to write it, for which others have to wait.
    Only the lines themselves are kept in between.
    """
    sessions = _sessions(path, since)
    if sessions is None:
        raise BadInput(
            say(
                f"{path} holds no conversations of ChatGPT or Claude.ai. Name the zip as it was downloaded, the folder it "
                "was unpacked into, or its conversations.json.",
                f"{path} 中没有 ChatGPT 或 Claude.ai 的对话。请指定下载的 zip、解压后的文件夹或其中的 conversations.json。",
            )
        )
    total = sum(1 for _ in sessions)
    given = replace(
        given,
        workspace=Importing(given.workspace.root),
        extract=_Kept(given.extract),
        wanted=lambda _: True,
    )
    runs = 1 if dry_run else 2
    seen = 0

    def told(size: int) -> None:
        nonlocal seen
        seen += size
        if progress:
            progress(seen, total * runs)

    with hold(given.workspace.machine / "sync.lock", timeout=PATIENCE):
        _forget_what_was_undone(given.workspace)
        tally = _run(path, given, since, told, dry_run=True)
        if not dry_run and not tally.paused:
            with operation(given.workspace, given.clock, COMMAND, given.config):
                tally = _run(path, given, since, told, dry_run=False)
    return ImportReport("export", str(path), (*tally.steps, *_passed(tally, given)), paused=tally.paused)


def _run(
    path: Path, given: SyncSetup, since: dt.datetime | None, told: Callable[[int], None], *, dry_run: bool
) -> _Tally:
    tally = _Tally()
    for batch in _batches(_sessions(path, since) or ()):
        setting = replace(given, sources=(source_of(path.name, batch),))
        report = sync(setting, since=BEGINNING, dry_run=dry_run)
        tally.add(report, given.workspace, len(batch))
        told(len(batch))
        if report.paused:
            break
    return tally


def source_of(name: str, sessions: Sequence[Session]) -> Source:
    """Conversations as one agent's transcripts. They are told from before by their messages, not by the time of the file."""
    by_key = {f"import:{name}#{session.id}": session for session in sessions}

    def find(_: Places) -> Iterator[Transcript]:
        for key, session in by_key.items():
            last = max(message.at for message in session.messages).timestamp()
            stamp = (len(session.messages), int.from_bytes(_fingerprint(session.messages)[:6]))
            yield Transcript(session.agent, Path(name), key, stamp, last)

    def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
        session = by_key[transcript.key]
        ids = [message.id for message in session.messages]
        begin, rewritten = resume_at(ids, mark)
        end = begin
        while end < len(ids) and (until is None or session.messages[end].at <= until):
            end += 1
        part = replace(session, messages=session.messages[begin:end])
        return Reading(part, Mark(end, digest_of(ids[:end])), end == len(ids), rewritten=rewritten)

    return Source(sessions[0].agent, find, read)


def _sessions(path: Path, since: dt.datetime | None) -> Iterator[Session] | None:
    try:
        found = export_at(path)
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        raise BadInput(say(f"{path} cannot be read: {reason}.", f"{path} 无法读取：{reason}。")) from trouble
    if found is None:
        return None
    return (one for one in found if one.id and (since is None or any(message.at >= since for message in one.messages)))


def _batches(sessions: Iterable[Session]) -> Iterator[list[Session]]:
    rest = iter(sessions)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _fingerprint(messages: Sequence[Message]) -> bytes:
    said = hashlib.blake2b(digest_size=16)
    for one in messages:
        said.update(f"{one.id}\0{one.at.isoformat()}\0{one.speaker}\0{one.text}\0".encode("utf-8", "surrogatepass"))
    return said.digest()


def _passed(tally: _Tally, given: SyncSetup) -> list[Step]:
    """Why conversations gave nothing, each reason once with their number."""
    least = given.config.sync.min_user_messages
    reasons = {
        "too few": say(f"fewer than {least} messages of yours", f"您的消息少于 {least} 条"),
        "left out": say("left out by your settings", "按您的设置已排除"),
        "nothing new": say("captured before", "之前已采集"),
        "nothing to say": say("nothing in them would be missed", "没有值得记住的内容"),
        "waits": say("just begun: one remark waits for the talk to go on", "刚开始：等待对话继续"),
    }
    counts = Counter({reasons.get(why, why): number for why, number in tally.passed.items()})
    if not tally.paused:
        counts[reasons["nothing new"]] += tally.conversations - tally.looked_at
    return [
        Step(SKIP, say(f"{number} conversations", f"{number} 个对话"), why)
        for why, number in counts.items()
        if number > 0
    ]


def _forget_what_was_undone(workspace: Workspace) -> None:
    """An import that was taken back may be imported again: what stood in it no longer counts as captured."""
    undone = _undone(workspace)
    if not undone:
        return
    known = cursors.load_cursors(workspace)
    kept = {key: one for key, one in known.transcripts.items() if one.name not in undone}
    if len(kept) < len(known.transcripts):
        cursors.save_cursors(workspace, replace(known, transcripts=kept))


def _undone(workspace: Workspace) -> Mapping[str, int]:
    """The sessions whose last import was undone, by how their headings name them."""
    sessions: dict[str, int] = {}
    for one in read_history(workspace).operations:
        if one.command != COMMAND or one.state not in (UNDONE, DONE, PARTLY):
            continue
        for change in one.changes:
            if change.bytes is None:
                continue
            for heading in read_headings(_kept_of(workspace, change.bytes)):
                if one.state == UNDONE:
                    sessions[heading.session] = one.id
                else:
                    sessions.pop(heading.session, None)
    return sessions


def _kept_of(workspace: Workspace, name: str) -> bytes | None:
    try:
        return vault_history.load_blob(workspace.history, name)
    except NacreError:  # somebody thinned history out
        return None
