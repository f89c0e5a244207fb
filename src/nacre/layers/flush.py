"""The silent turn before compaction: when it is due, what is done with the answer, and whether reference files were touched."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nacre.clock import Clock
from nacre.config.settings import Config, FlushSettings
from nacre.errors import BadInput, CannotWrite, Locked, NacreError
from nacre.i18n import language, say
from nacre.layers.flush_prompts import LONGEST, MOST_LINES, REFERENCE, SILENCE, Prompts, flush_prompts
from nacre.model.entry import TYPES, Entry
from nacre.model.workspace import Workspace
from nacre.text.tokens import language_of
from nacre.vault import daily, disk
from nacre.vault import history as vault_history
from nacre.vault.history import DONE, Change, History, last_id, operation, read_history
from nacre.vault.lock import hold
from nacre.vault.merge import merge
from nacre.vault.writing import REDACT, expect, guarded, write_recorded

VERSION = 1
MOST_SESSIONS = 200  # sessions that are remembered, the newest
KEPT = dt.timedelta(days=7)  # and how long
_LARGEST = 1_000_000  # bytes; a file that is larger is none of ours


@dataclass(frozen=True)
class FlushState:
    """A session that got the prompts, for one cycle of its compaction."""

    at: dt.datetime
    tries: int = 1
    compactions: int | None = None  # how many there had been; unknown where nobody counts them
    over: bool = False  # the turn took place: it was answered, or looked at afterwards
    ended: bool = False  # the context has been compacted since: the next one is another cycle
    files: Mapping[str, str | None] = field(default_factory=dict)  # the hash of each reference file then
    operation: int = 0  # the last of history then: what Nacre did since is no doing of the agent's


FlushStates = dict[str, FlushState]


def state_file(workspace: Workspace) -> Path:
    return workspace.machine / "flush.json"


def session_key(session: str) -> str:
    """How a session is known: an id may be anything, also something that must be written nowhere."""
    return hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=8).hexdigest()


def load_states(workspace: Workspace) -> FlushStates:
    """What is remembered; nothing when the file is missing, or not ours to understand."""
    try:
        data = disk.read_bytes(state_file(workspace))
        if data is None or len(data) > _LARGEST:
            return {}
        told = json.loads(data)
        if told["version"] != VERSION:
            return {}
        return {str(key): _state_from_json(one) for key, one in told["sessions"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, NacreError):
        return {}


def save_states(workspace: Workspace, sessions: FlushStates, now: dt.datetime) -> None:
    """Put it on disk, without what is long over."""
    fresh = [(key, one) for key, one in sessions.items() if abs(now - one.at) <= KEPT]
    newest = sorted(fresh, key=lambda pair: pair[1].at)[-MOST_SESSIONS:]
    told = {"version": VERSION, "sessions": {key: _as_json(one) for key, one in newest}}
    data = json.dumps(told, separators=(",", ":")).encode()
    disk.write(state_file(workspace), data, root=workspace.root)


def flush_lock(workspace: Workspace) -> AbstractContextManager[None]:
    """One at a time; not the lock of the workspace, so that a long tidying keeps no agent waiting."""
    return hold(workspace.machine / "flush.lock", timeout=5.0)


def mark_done(workspace: Workspace, session: str, now: dt.datetime) -> FlushState | None:
    """Note that a session's turn took place; what is remembered of it. Where that cannot be written it is no trouble: at worst the
    session is asked once more."""
    key = session_key(session)
    with contextlib.suppress(CannotWrite, Locked), flush_lock(workspace):
        known = load_states(workspace)
        if key in known and not known[key].over:
            save_states(workspace, {**known, key: replace(known[key], over=True)}, now)
    return load_states(workspace).get(key)


def _as_json(one: FlushState) -> dict[str, Any]:
    told: dict[str, Any] = {"at": one.at.isoformat(), "tries": one.tries, "files": dict(one.files)}
    told |= {} if one.compactions is None else {"compactions": one.compactions}
    told |= {"operation": one.operation} if one.operation else {}
    return told | {name: True for name in ("over", "ended") if getattr(one, name)}


def _state_from_json(told: Mapping[str, Any]) -> FlushState:
    at = dt.datetime.fromisoformat(told["at"])
    count = told.get("compactions")
    if at.tzinfo is None or not (count is None or type(count) is int):
        raise ValueError(told)
    files = {str(path): None if one is None else str(one) for path, one in told["files"].items()}
    last = int(told.get("operation", 0))
    return FlushState(at, int(told["tries"]), count, bool(told.get("over")), bool(told.get("ended")), files, last)


# After the turn: whether the agent kept its hands off the reference files, and bringing back those that it did not.

LARGEST = 1_000_000  # bytes; a longer file is watched, and not kept
EDITED, REMOVED, MADE = "edited", "removed", "made"


@dataclass(frozen=True)
class ChangedFile:
    """A reference file that is no longer as it was when the prompts were handed out."""

    path: str
    how: str
    was: str | None
    now: str | None
    command: str = ""  # what brings it back; nothing where history does not have it
    back: bytes | None = field(default=None, repr=False)  # what that command would put there


@dataclass(frozen=True)
class FlushCheck:
    """What was found; `since` is none when the session was never asked."""

    since: dt.datetime | None = None
    touched: tuple[ChangedFile, ...] = ()


def reference_hashes(workspace: Workspace) -> dict[str, str | None]:
    """The reference files as they are; one that cannot be read is not watched."""
    found: dict[str, str | None] = {}
    for name in REFERENCE:
        with contextlib.suppress(NacreError):
            data = disk.read_bytes(workspace.root / name)
            found[name] = None if data is None else disk.digest(data)
    return found


def keep_reference_files(workspace: Workspace, files: Mapping[str, str | None]) -> None:
    """Have history keep these files as they are, so that they can be brought back."""
    for name, was in files.items():
        with contextlib.suppress(NacreError, OSError):  # the turn does not depend on it
            data = disk.read_bytes(workspace.root / name) if was else None
            if data is not None and len(data) <= LARGEST:
                vault_history.private_folder(workspace.history)
                vault_history.store_blob(workspace.history, data)


def check_flush(workspace: Workspace, clock: Clock, session: str) -> FlushCheck:
    """Compare the reference files with what they were, and note that the turn took place."""
    before = mark_done(workspace, session, clock.now())
    if before is None:
        return FlushCheck()
    now = reference_hashes(workspace)
    changed = [(path, was, now[path]) for path, was in before.files.items() if path in now and now[path] != was]
    touched = [ChangedFile(path, _how(was, is_now), was, is_now) for path, was, is_now in changed]
    return FlushCheck(before.at, tuple(_with_commands(workspace, before.operation, touched)))


def _how(was: str | None, now: str | None) -> str:
    return MADE if was is None else REMOVED if now is None else EDITED


def _with_commands(workspace: Workspace, last: int, touched: Sequence[ChangedFile]) -> list[ChangedFile]:
    """Nacre's own change is undone; an agent's is taken back from what history kept of the file."""
    if not touched:
        return []
    known = read_history(workspace)
    ours = {
        (change.path, change.after): one.id for one in known.operations if one.state == DONE for change in one.changes
    }
    found: list[ChangedFile] = []
    for one in touched:
        back = _without_the_turn(workspace, known, last, one)
        if back is not None and disk.digest(back) != one.now:
            found.append(replace(one, command="nacre flush --restore", back=back))
        elif number := ours.get((one.path, one.now)):
            found.append(replace(one, command=f"nacre undo {number}"))
        else:
            found.append(one)
    return found


def _without_the_turn(workspace: Workspace, known: History, last: int, one: ChangedFile) -> bytes | None:
    """The file as it was, with what Nacre itself has changed in it since: what was admitted or forgotten meanwhile stays so.

    None where history does not have it all, or where both changed the same lines.
    """
    ours = _own_changes(known, last, one)
    try:
        content = None if one.was is None else vault_history.load_blob(workspace.history, one.was)
        for change in ours:
            if change.after is None or (content is None) is not (change.before is None):
                return None
            after = vault_history.load_blob(workspace.history, change.after)
            before = b"" if change.before is None else vault_history.load_blob(workspace.history, change.before)
            content = after if content is None else merge(before, content, after)
            if content is None:
                return None
    except NacreError:
        return None
    return content


def _own_changes(known: History, last: int, one: ChangedFile) -> list[Change]:
    """What Nacre did to the file after the prompts were handed out, when `last` was its last operation."""
    found: list[Change] = []
    for operation_ in known.operations:
        for change, done in zip(operation_.changes, operation_.carried_out, strict=True):
            if operation_.id > last and done and change.path == one.path:
                found = [] if change.after == one.was else [*found, change]
    return found


def restore_files(
    workspace: Workspace, clock: Clock, config: Config, touched: Sequence[ChangedFile]
) -> tuple[str, ...]:
    """Put back what history has: one operation, undone as one. A file that the turn made stays; it may be wanted."""
    done: list[str] = []
    with operation(workspace, clock, "flush", config) as op:
        for one in touched:
            if one.back is None:
                continue
            path = workspace.root / one.path
            op.place(path)
            write_recorded(op, path, expect(workspace, path, one.now), one.back)
            done.append(one.path)
    return tuple(done)


def change_sentence(one: ChangedFile) -> str:
    """The finding in words, with the remedy where there is one."""
    how = {
        EDITED: say("was edited", "被修改"),
        REMOVED: say("was removed", "被删除"),
        MADE: say("was made", "被新建"),
    }[one.how]
    remedy = say(f'; "{one.command}" takes it back.', f"；可用“{one.command}”恢复。") if one.command else say(".", "。")
    return say(f"{one.path} {how} since the flush began", f"{one.path} 在压缩前记录开始后{how}") + remedy


# Before a context is compacted the agent gets one silent turn to write down what lasts: when it is due, and what it
# is told.

TRIES = 2  # times that the prompts are handed out in one cycle
AGAIN = dt.timedelta(minutes=10)  # after which a turn that nobody reported on counts as lost
LEAST = 4  # the flush never begins before a fourth of the window is full
DUE, BELOW, FLUSHED, WAITING = "due", "below", "done", "waiting"
DISABLED, READ_ONLY, GROUP, PAUSED = "disabled", "read-only", "group", "paused"


@dataclass(frozen=True)
class Flush:
    """Whether the turn is due; with the prompts and the log they name where it is, with the reason where it is not."""

    code: str
    reason: str
    threshold: int = 0
    path: str = ""
    prompts: Prompts | None = None
    tries: int = 0

    @property
    def due(self) -> bool:
        return self.code == DUE


def flush_threshold(window: int, settings: FlushSettings) -> int:
    """From how many tokens on the turn is due: the window without its reserve and the soft threshold.

    A window that is hardly larger than these would be due from the first word on, or before it; there it is a fourth of the window.
    """
    return max(window - settings.reserve_tokens - settings.soft_threshold_tokens, window // LEAST)


def decide_flush(tokens: int, limit: int, before: FlushState | None, compactions: int | None, now: dt.datetime) -> str:
    """Whether a session with so many tokens is to be asked, by what is remembered of it.

    Handing the prompts out counts, so that nobody is asked in a loop; but a turn that was neither answered nor looked at within ten
    minutes may have died with its process, and is offered once more.
    """
    if tokens < limit:
        return BELOW
    if before is None or _is_over(before, compactions):
        return DUE
    if before.over or before.tries >= TRIES:
        return FLUSHED
    return DUE if abs(now - before.at) >= AGAIN else WAITING


def _is_over(before: FlushState, compactions: int | None) -> bool:
    """Whether the cycle is another one: by the count of compactions, where both times had one."""
    if compactions is not None and before.compactions is not None:
        return compactions != before.compactions
    return before.ended


def ask_flush(
    workspace: Workspace,
    clock: Clock,
    config: Config,
    tokens: int,
    window: int,
    *,
    session: str,
    compactions: int | None = None,
    dry_run: bool = False,
) -> Flush:
    """Decide and, when the turn is due, hand the prompts out and remember that. A dry run remembers nothing."""
    if tokens < 0 or window < 1 or (compactions is not None and compactions < 0):
        raise BadInput(
            say("Tokens, window and compactions are counts; none is negative.", "token 数、窗口和压缩次数都不能为负。")
        )
    if kept := flush_blocked(workspace, clock, config):
        return kept
    limit, key, now = flush_threshold(window, config.flush), session_key(session), clock.now()
    try:
        with flush_lock(workspace):
            known = load_states(workspace)
            before = known.get(key)
            code = decide_flush(tokens, limit, before, compactions, now)
            after = _remembered(workspace, before, code, tokens, limit, compactions, now)
            if after != before and after is not None and not dry_run:
                save_states(workspace, {**known, key: after}, now)
                keep_reference_files(workspace, after.files if code == DUE and config.history.enabled else {})
    except CannotWrite as trouble:
        return Flush(READ_ONLY, str(trouble), limit)
    if code != DUE:
        return Flush(code, _reason(code, tokens, limit), limit)
    assert after is not None
    path, told = flush_prompts_for(workspace, clock, config)
    reason = say(f"{tokens} tokens of {window}", f"{tokens} / {window} 个 token")
    return Flush(DUE, reason, limit, path, told, after.tries)


def _remembered(
    workspace: Workspace,
    before: FlushState | None,
    code: str,
    tokens: int,
    limit: int,
    compactions: int | None,
    now: dt.datetime,
) -> FlushState | None:
    if code == DUE:
        again = before is not None and not _is_over(before, compactions)
        tries, last = before.tries + 1 if before and again else 1, _last_operation(workspace)
        return FlushState(now, tries, compactions, files=reference_hashes(workspace), operation=last)
    if before is None:
        return None
    counted = before.compactions if before.compactions is not None else compactions
    # Where nobody counts compactions, a context of less than half the threshold has been compacted.
    return replace(before, compactions=counted, ended=before.ended or 2 * tokens < limit)


def _last_operation(workspace: Workspace) -> int:
    try:
        return last_id(workspace)
    except OSError:  # a history that cannot be read brings nothing back, and stops nothing
        return 0


def flush_prompts_for(workspace: Workspace, clock: Clock, config: Config) -> tuple[str, Prompts]:
    """The log of the day, and the prompts that name it."""
    path = workspace.relative(workspace.day(clock.today()))
    tongue = _language(workspace, clock, config)
    return path, flush_prompts(path, tongue, system=config.flush.system_prompt, user=config.flush.prompt)


def _language(workspace: Workspace, clock: Clock, config: Config) -> str:
    """What the settings say; else the language of the last two days' logs, which is that of the talk."""
    if config.language in ("en", "zh"):
        return config.language
    for back in (0, 1):
        try:
            data = disk.read_bytes(workspace.day(clock.today() - dt.timedelta(days=back)))
        except (NacreError, OverflowError):
            continue
        if data and (text := data[-20_000:].decode("utf-8", "ignore").strip()):
            return language_of(text)
    return language()


def flush_blocked(workspace: Workspace, clock: Clock, config: Config) -> Flush | None:
    """Why nothing is to be written down here at all; none when nothing stands in the way."""
    if not config.flush.enabled:
        return Flush(DISABLED, say("The flush is switched off (flush.enabled).", "压缩前记录已关闭（flush.enabled）。"))
    if _is_paused(workspace, clock):
        return Flush(
            PAUSED, say('Capturing is paused; "nacre resume" ends that.', "记录已暂停；可用“nacre resume”恢复。")
        )
    if not _is_writable(workspace, clock.today()):
        return Flush(
            READ_ONLY,
            say(
                f"{workspace.root} cannot be written here, so there is nothing to flush to.",
                f"{workspace.root} 在此处不可写，无处记录。",
            ),
        )
    return None


def _is_paused(workspace: Workspace, clock: Clock) -> bool:
    from nacre.sources.consent import paused_at, pauses

    return paused_at(pauses(workspace), clock.now()) is not None


def _is_writable(workspace: Workspace, day: dt.date) -> bool:
    """Whether the day's log, and what we remember, could be written: inside the workspace, as ordinary files."""
    root, log = workspace.root, workspace.day(day)
    if disk.real(root) not in disk.real(log).parents:
        return False
    if log.exists():
        good = log.is_file() and os.access(log, os.W_OK)
    else:
        folder = workspace.memory if os.path.lexists(workspace.memory) else root
        good = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    machine = workspace.machine if workspace.machine.exists() else root
    return good and os.access(machine, os.W_OK | os.X_OK)


def _reason(code: str, tokens: int, limit: int) -> str:
    return {
        BELOW: say(
            f"{tokens} tokens; the flush begins at {limit}.", f"{tokens} 个 token；达到 {limit} 时才进行压缩前记录。"
        ),
        FLUSHED: say("This compaction cycle has had its flush.", "本压缩周期已经记录过。"),
        WAITING: say("The prompts have been handed out; the turn is under way.", "提示词已发出；本轮正在进行。"),
    }[code]


# What the agent answers in the turn before compaction goes into the day's log, line by line, and nowhere else.

MOST_CHARACTERS = 200_000  # an answer that is longer is no answer but the talk itself
_SILENT = re.compile(rf"[\W_]*{SILENCE}[\W_]*", re.IGNORECASE)
_TYPED = re.compile(rf"\[(?:{'|'.join(TYPES)})\]\s*\S")
_MARKER = re.compile(r"\A(?:[-*+>]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_FENCE = re.compile(r"\A(?:```|~~~)")
_HEADING = re.compile(r"\A#{1,6}(?:\s|\Z)")
_LABEL = re.compile(rf"\A\[(?:{'|'.join(TYPES)})\]\s+")
_SENTENCE = re.compile(r"[。！？；]|[.!?;](?=\s)")


@dataclass(frozen=True)
class ParsedAnswer:
    """An answer taken apart: what is to be written, and what there was no room for."""

    lines: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    silent: bool = False


@dataclass(frozen=True)
class FlushAnswer:
    """What became of an answer."""

    path: str
    written: tuple[Entry, ...] = ()
    already: int = 0  # lines that stand in the log
    forgotten: int = 0  # lines that say what the user had forgotten
    over: tuple[str, ...] = ()  # lines beyond what one turn may write
    silent: bool = False


def parse_answer(text: str) -> ParsedAnswer:
    """The lines of an answer: secrets blacked out, headings and the signs of code left out, long ones folded.

    `NO_REPLY` as the whole, the first or the last line is silence, and then only lines that carry a type are taken: an agent that
    wrote some and closed with it meant both.
    """
    if len(text) > MOST_CHARACTERS:
        raise BadInput(
            say(
                f"The answer has {len(text)} characters; one turn may write {MOST_LINES} lines of {LONGEST}. Nothing was written.",
                f"回答有 {len(text)} 个字符；一轮最多写 {MOST_LINES} 行，每行 {LONGEST} 个字符。未写入任何内容。",
            )
        )
    whole = [line.strip() for line in guarded(text, REDACT).split("\n") if line.strip()]
    silent = any(_SILENT.fullmatch(line) for line in (*whole[:1], *whole[-1:]))
    said = [words for line in whole if not _SILENT.fullmatch(line) and (words := _words(line))]
    if silent:
        said = [words for words in said if _TYPED.match(words)]
    lines = [part for words in dict.fromkeys(said) for part in _folded(words)]
    return ParsedAnswer(tuple(lines[:MOST_LINES]), tuple(lines[MOST_LINES:]), silent)


def _words(line: str) -> str:
    """What a line says, without its marker. Nothing where it is a heading, a rule, or opens or closes code: none of these could
    be told from the log's own."""
    while marker := _MARKER.match(line):
        line = line[marker.end() :]
    if _FENCE.match(line) or _HEADING.match(line) or not any(sign.isalnum() for sign in line):
        return ""
    return line


def _folded(words: str) -> list[str]:
    """A long line as several: cut behind a sentence, else between words, else where it must be. The type stands on the first."""
    label = _LABEL.match(words)
    head = label[0] if label else ""
    rest = words[len(head) :]
    parts: list[str] = []
    while len(head) + len(rest) > LONGEST:
        room = LONGEST - len(head) - 1
        ends = [found.end() for found in _SENTENCE.finditer(rest, 0, room)]
        space = rest.rfind(" ", room // 2, room)
        cut = ends[-1] if ends and ends[-1] >= room // 2 else space if space > 0 else room
        parts.append(head + rest[:cut].rstrip())
        head, rest = "…", rest[cut:].lstrip()
    return [*parts, head + rest] if rest else parts


def take_answer(
    workspace: Workspace, clock: Clock, config: Config, text: str, *, session: str, dry_run: bool = False
) -> FlushAnswer:
    """Append the answer to today's log under `## HH:MM note`, as one operation. What stands there is not written again."""
    if paused := _paused(workspace, clock):
        raise paused
    answer = parse_answer(text)
    path = workspace.relative(daily.log_path(workspace, clock.today()))
    lines = _not_forgotten(workspace, answer.lines)
    gone = len(answer.lines) - len(lines)
    if dry_run:
        shown = tuple(Entry(words, path, 0) for words in lines)
        return FlushAnswer(path, shown, 0, gone, answer.over, answer.silent)
    written = daily.append_notes(workspace, clock, "flush", lines, by_agent=True, config=config) if lines else ()
    mark_done(workspace, session, clock.now())
    return FlushAnswer(path, written, len(lines) - len(written), gone, answer.over, answer.silent)


def _paused(workspace: Workspace, clock: Clock) -> BadInput | None:
    """While the user wants nothing captured, an agent's summary of the talk is not wanted either."""
    from nacre.sources.consent import paused_at, pauses

    if paused_at(pauses(workspace), clock.now()) is None:
        return None
    return BadInput(
        say(
            'Nothing was written: capturing is paused; "nacre resume" ends that.',
            "未写入任何内容：记录已暂停；可用“nacre resume”恢复。",
        )
    )


def _not_forgotten(workspace: Workspace, lines: tuple[str, ...]) -> list[str]:
    """An agent does not know what its user had forgotten; what is in its context must not bring it back."""
    from nacre.vault import tombstones

    stones = tombstones.load_tombstones(workspace) if lines else None
    if not stones:
        return list(lines)
    from nacre.capture.dedupe import are_forgotten

    met = are_forgotten(stones, list(lines))
    return [line for line, gone in zip(lines, met, strict=True) if not gone]
