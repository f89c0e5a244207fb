"""Chat exports into the daily logs: every conversation through sync, into the log of its day."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from nacre.capture import cursors
from nacre.capture.cursors import read_headings
from nacre.capture.importing_files import CAPTURE, CHANGE, CREATE, SKIP
from nacre.capture.read import Progress, SyncSetup
from nacre.capture.sync import PATIENCE, sync
from nacre.disk import hold
from nacre.errors import BadInput, NacreError
from nacre.i18n import say
from nacre.model import Message, Session, Step, Workspace
from nacre.sources.exports import export_at
from nacre.sources.transcript import Mark, Places, Reading, Source, Transcript, follow_list
from nacre.vault import daily
from nacre.vault.history import DONE, PARTLY, UNDONE, operation, read_history
from nacre.vault.storage import storage_of

COMMAND = "import"
BEGINNING = dt.datetime(1970, 1, 2, tzinfo=dt.UTC)


@dataclass(frozen=True)
class ImportReport:
    """What was imported, or would be."""

    kind: str  # "checkpoints", "notes", "workspace", "refcount", "settings" or "export"
    origin: str
    steps: tuple[Step, ...] = ()
    unreadable: tuple[str, ...] = ()
    paused: bool = False

    @property
    def changed(self) -> int:
        return sum(step.action != SKIP for step in self.steps)

    @property
    def wrote(self) -> bool:
        """Whether files of the workspace changed, so that the index must follow."""
        return any(step.action in (CREATE, CHANGE, CAPTURE) for step in self.steps)


def import_export(
    path: Path,
    setup: SyncSetup,
    *,
    since: dt.datetime | None = None,
    progress: Progress | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Capture every conversation of an export. Sync runs twice: a dry run that extracts, then one that writes everything as one
    operation."""
    sessions = list(_sessions(path, since))
    extract = cache(setup.extract)
    workspace = Workspace(setup.context.workspace.root)
    workspace.cursors = workspace.machine / "imports.json"  # apart: for sync it has not run
    context, source = replace(setup.context, workspace=workspace), source_of(path.name, sessions)
    importing = replace(
        setup,
        context=context,
        sources=(source,),
        wanted=lambda _: True,
        extract=lambda messages: extract(tuple(messages)),
        by_model=lambda *_: None,
    )
    with hold(workspace.machine / "sync.lock", timeout=PATIENCE):
        _drop_undone(workspace)
        report = sync(importing, since=BEGINNING, progress=progress, dry_run=True)
        if not dry_run and not report.paused:
            with operation(context, COMMAND):
                report = sync(importing, since=BEGINNING)
    least = context.config.sync.min_user_messages
    reasons = {
        "too few": say(f"fewer than {least} message{'' if least == 1 else 's'} from you", f"你的消息少于 {least} 条"),
        "left out": say("excluded by your settings", "已被你的设置排除"),
        "nothing new": say("already captured", "已经采集过"),
        "nothing to say": say("nothing worth remembering", "没有值得记住的内容"),
        "waits": say("just started: waiting for the session to continue", "刚开始：等待会话继续"),
    }
    reason = say("that day's conversations", "当天的对话")
    logs = (
        (workspace.relative(daily.log_path(workspace, section.day)), section.heading) for section in report.sections
    )
    steps = [Step(CAPTURE, log, reason, heading) for log, heading in logs]
    passed = Counter(report.passed_over)
    passed["nothing new"] += 0 if report.paused else len(sessions) - report.looked_at
    for why, number in passed.items():
        if number:
            counted = say(f"{number} conversation{'' if number == 1 else 's'}", f"{number} 个对话")
            steps.append(Step(SKIP, counted, reasons.get(why, why)))
    return ImportReport("export", str(path), tuple(steps), paused=report.paused)


def source_of(name: str, sessions: Sequence[Session]) -> Source:
    """Conversations as one agent's transcripts. What is new is recognised by their messages, not by the time of the file."""
    by_key = {f"import:{name}#{session.id}": session for session in sessions}

    def find(_: Places) -> Iterator[Transcript]:
        for key, session in by_key.items():
            last = max(message.at for message in session.messages).timestamp()
            stamp = (len(session.messages), int.from_bytes(_fingerprint(session.messages)[:6]))
            yield Transcript(session.agent, Path(name), key, stamp, last)

    def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
        session = by_key[transcript.key]
        messages = {message.id: message for message in session.messages}
        return follow_list(
            list(messages),
            messages.__getitem__,
            mark,
            until,
            take=lambda message, _at, _id, notes: notes.messages.append(message),
            make=lambda notes: replace(session, messages=tuple(notes.messages)),
            time=lambda message, _: message.at,
        )

    return Source(sessions[0].agent if sessions else "", find, read)


def _sessions(path: Path, since: dt.datetime | None) -> Iterator[Session]:
    try:
        sessions = export_at(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(f"{path} could not be read: {reason}.", f"无法读取 {path}：{reason}。") from error
    if sessions is None:
        raise BadInput(
            f"{path} contains no ChatGPT or Claude.ai conversations. Choose the downloaded zip, the folder it was unpacked into, or its conversations.json.",
            f"{path} 中没有 ChatGPT 或 Claude.ai 的对话。请指定下载的 zip、解压后的文件夹或其中的 conversations.json。",
        )
    for session in sessions:
        if session.id and (since is None or any(message.at >= since for message in session.messages)):
            yield session


def _fingerprint(messages: Sequence[Message]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for message in messages:
        fields = (message.id, message.at.isoformat(), message.speaker, message.text, "")
        digest.update("\0".join(fields).encode("utf-8", "surrogatepass"))
    return digest.digest()


def _drop_undone(workspace: Workspace) -> None:
    """Drop the cursors of what was imported and undone, so that it may be imported again."""
    undone: dict[str, bool] = {}  # by what the headings call a session: whether its last import was undone
    for operation_ in read_history(workspace).operations:
        if operation_.command != COMMAND or operation_.state not in (UNDONE, DONE, PARTLY):
            continue
        for change in operation_.changes:
            with suppress(NacreError):  # somebody thinned history out
                written = storage_of(workspace).content(change.bytes) if change.bytes is not None else None
                undone |= {heading.session: operation_.state == UNDONE for heading in read_headings(written)}
    if not any(undone.values()):
        return
    before = cursors.load_cursors(workspace)
    remaining = {key: cursor for key, cursor in before.transcripts.items() if not undone.get(cursor.name)}
    if len(remaining) < len(before.transcripts):
        cursors.save_cursors(workspace, replace(before, transcripts=remaining))
