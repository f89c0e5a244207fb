"""Taking operations back: newest first, planned as a whole before any file is touched, and itself an operation to take back."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, ChangedOutside, NacreError, NotFound, PartlyDone, PathEscape
from nacre.i18n import say
from nacre.model.report import Plan, Step
from nacre.model.workspace import Workspace
from nacre.vault import disk, ledger, provenance, refcount, writing
from nacre.vault import history as vault_history
from nacre.vault.checkpoints import layers_lock
from nacre.vault.history import (
    APPEND,
    CREATE,
    DELETE,
    DONE,
    MOVE,
    NOT_CARRIED_OUT,
    PARTLY,
    REWRITE,
    UNDONE,
    Change,
    History,
    Operation,
    Recorded,
    content_now,
    is_daily,
    merge,
    merge_records,
    operation,
    places_of,
    read_history,
)
from nacre.vault.lock import lock
from nacre.vault.provenance import Offered

_NAMED = 5  # files that a sentence names


@dataclass(frozen=True)
class Restore:
    """A file as it will be; `data` None: it will be gone. `before` is what stands there now.

    `source` is where the file stands now when it is moved back, with its mode and its time; `before` is then what stands there.
    """

    path: str
    before: bytes | None
    data: bytes | None
    mode: int | None = None
    modified: int | None = None  # the file time of what is moved back
    source: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,) if self.source is None else (self.source, self.path)


def restore_files(op: Operation, restores: Sequence[Restore], *, recorded: bool = False) -> None:
    """Record and do all of them; what others changed since the plan is left as they wrote it, and told (`PartlyDone`).

    `recorded`: an undo that was stopped goes on, whose record names them already.
    """
    work = _Work(op)
    if not recorded:
        for one in restores:
            work.expect(one)
        changes = [change for one in restores for change in _changes(op, one)]
        edited = [one for one in restores if one.source is None or one.data != one.before]
        op.record(changes, [data for one in edited for data in (one.before, one.data) if data is not None])
    # What comes back before what goes: killed in between, a file stands in both places, never in none. What is only moved
    # needs no room on the disk, and comes first.
    coming, going = [one for one in restores if one.data is not None], [one for one in restores if one.data is None]
    work.do(sorted(coming, key=lambda one: one.source is None), of=len(restores))
    if not work.left:  # else the last that there is of a file might go
        work.do(going, of=len(restores))
    if work.left:
        raise _left_error(work.left, work.done, len(restores))


def _changes(op: Operation, one: Restore) -> list[Change]:
    """What the record says of it."""
    read, after = (None if data is None else disk.digest(data) for data in (one.before, one.data))
    moved = [] if one.source is None else [Change(one.source, MOVE, read, read, to=one.path)]
    if moved and after == read:
        return moved
    if after is None:
        mode = (op.workspace.root / one.path).stat().st_mode & 0o7777
        return [Change(one.path, DELETE, read, None, mode=mode)]
    return [*moved, Change(one.path, CREATE if read is None else REWRITE, read, after)]


class _Work:
    def __init__(self, op: Operation) -> None:
        self.op = op
        self.done = 0
        self.left: dict[str, ChangedOutside] = {}

    def do(self, restores: Sequence[Restore], *, of: int) -> None:
        with disk.folders_once():
            for one in restores:
                try:
                    self._do(one)
                    self.done += 1
                except ChangedOutside as trouble:
                    self.left[self._in_the_way(one)] = trouble
                except NacreError as trouble:
                    if self.done:
                        raise _stopped_error(trouble, self.done, of) from trouble
                    raise

    def _in_the_way(self, one: Restore) -> str:
        """The file that somebody changed: the one to be moved, unless something stands where it was to go."""
        taken = os.path.lexists(self.op.workspace.root / one.path)
        return one.path if one.source is None or taken else one.source

    def expect(self, one: Restore) -> None:
        """`ChangedOutside` unless the file is still what was read. To a log others may have appended: that stays."""
        workspace = self.op.workspace
        path = workspace.root / (one.source or one.path)
        if one.source is not None and os.path.lexists(workspace.root / one.path):
            raise writing.changed_outside(one.path)
        now = disk.read_bytes(path)
        if now != one.before and not (writing.is_log(workspace, path) and (now or b"").startswith(one.before or b"")):
            raise writing.changed_outside(workspace.relative(path))

    def _do(self, one: Restore) -> None:
        # Others may have come while the files before it were put back: each is looked at again just before it is touched.
        path = self.op.workspace.root / one.path
        self.expect(one)
        if one.data is None:
            writing.take_away(self.op, path, one.before or b"")
            return
        if one.source is not None:
            disk.rename(self.op.workspace.root / one.source, path)
        if one.source is None or one.data != one.before:
            writing.write_over(self.op, path, one.before, one.data, mode=one.mode)
            if one.modified is not None:
                disk.keep_time(path, one.modified)


def _stopped_error(trouble: NacreError, done: int, of: int) -> PartlyDone:
    return PartlyDone(
        say(
            f"{trouble} {done} of {of} files were taken back and nothing is lost. Once that is mended, "
            'run "nacre undo" again: it goes on where it stopped.',
            f"{trouble} 已撤销 {of} 个文件中的 {done} 个，没有丢失任何内容。解决该问题后再次运行“nacre undo”，会从停下的地方继续。",
        )
    )


def _left_error(left: dict[str, ChangedOutside], done: int, of: int) -> NacreError:
    if not done:
        return next(iter(left.values()))
    names = list(left)
    more = len(names) - _NAMED
    english, chinese = ", ".join(names[:_NAMED]), "、".join(names[:_NAMED])
    if more > 0:
        english, chinese = f"{english} and {more} more", f"{chinese} 等 {len(names)} 个文件"
    return PartlyDone(
        say(
            f"Changed by someone else meanwhile and left as they are now: {english}. {done} of {of} files were taken back and "
            'nothing is lost. Run "nacre undo" again: it goes on with the rest.',
            f"在此期间被他人修改，保持现状：{chinese}。已撤销 {of} 个文件中的 {done} 个，没有丢失任何内容。"
            "请再次运行“nacre undo”，会继续处理其余文件。",
        )
    )


# Taking operations back: newest first, planned as a whole before any file is touched, and itself an operation to take
# back.

_ORDERS = 20  # earlier contents that are looked at for the order of lines


@dataclass(frozen=True)
class UndoPlan:
    """Which operations are taken back, what that does to each file, and the steps to show."""

    undoes: tuple[int, ...]
    restores: tuple[Restore, ...]
    plan: Plan
    resumes: int | None = None  # the undo that was stopped and goes on


def plan_undo(
    workspace: Workspace, clock: Clock, config: Config | None = None, number: int | None = None, *, last: int = 1
) -> UndoPlan:
    """What undoing an operation by its number would do, also one that was itself an undo; without a number, the last ones.

    Undos and operations already undone or never carried out are passed over when counting. An undo that was stopped goes on
    first, alone. Raises `ChangedOutside` when a file was changed since in the same place.
    """
    config = config or Config()
    if not config.history.enabled:
        raise BadInput(
            say(
                'History is switched off, so nothing can be undone; "nacre config set history.enabled true" switches it on.',
                "历史记录已关闭，无法撤销；可用“nacre config set history.enabled true”开启。",
            )
        )
    if last < 1:
        raise BadInput(say("The number of operations to undo must be 1 or more.", "要撤销的操作数必须大于等于 1。"))
    past = read_history(workspace)
    files = _Files(workspace, config, past)
    if stopped := _stopped_undo(past, number):
        steps = files.go_on(stopped)
        return UndoPlan(stopped.undoes, files.restores(), Plan(tuple(steps)), stopped.id)
    chosen = [past.find(number)] if number is not None else _last(past, last)
    steps = []
    for one in chosen:
        if one.state == UNDONE:
            raise BadInput(
                say(
                    f'Operation {one.id} was already undone by operation {one.undone_by}; "nacre undo {one.undone_by}" takes '
                    "that back.",
                    f"操作 {one.id} 已被操作 {one.undone_by} 撤销；“nacre undo {one.undone_by}”可撤回该撤销。",
                )
            )
        later = [other for other in past.operations if other.id > one.id and other not in chosen]
        for change, carried_out in reversed(list(zip(one.changes, one.carried_out, strict=True))):
            if carried_out:
                steps += files.take_back(one, change, later)
    if not any(one.undoes for one in chosen):  # what an undo noted, its record brings back
        files.note_what_leaves_memory(clock)
    taken = tuple(one.id for one in chosen if one.state != NOT_CARRIED_OUT)
    return UndoPlan(taken, files.restores(), Plan(tuple(steps)))


def _last(past: History, count: int) -> list[Recorded]:
    """The last operations that are neither undos nor undone, nor being undone, newest first."""
    # The making of the workspace itself is not a step back anyone means; it can be named by its number.
    begun = {number for one in past.operations if _is_stopped(past, one) for number in one.undoes}
    standing = [one for one in past.operations if _stands(one) and one.command != "init" and one.id not in begun]
    if not standing:
        raise NotFound(say("There is nothing to undo.", "没有可撤销的操作。"))
    return standing[::-1][:count]


def _stands(one: Recorded) -> bool:
    return not one.undoes and one.state not in (UNDONE, NOT_CARRIED_OUT)


def _stopped_undo(past: History, number: int | None) -> Recorded | None:
    """The undo that has still to be completed: of this operation, or of any that nothing came after."""
    for one in reversed(past.operations):
        if _is_stopped(past, one) and (number is None or number in one.undoes):
            return one
        if number is None and _stands(one):
            return None
    return None


def _is_stopped(past: History, one: Recorded) -> bool:
    """Whether it is an undo that never said it was done, and did not do everything, or was the last thing done."""
    if not one.undoes or one.finished:
        return False
    if one.state == PARTLY:
        return not {other.id for other in past.operations if other.state == UNDONE}.issuperset(one.undoes)
    return one.state == DONE and one == past.operations[-1]


def apply_undo(workspace: Workspace, clock: Clock, undo_plan: UndoPlan, config: Config | None = None) -> int | None:
    """Carry the plan out; the number of the undo itself, None when there was nothing to take back.

    Changes that cancel each other out touch no file, but are undone all the same, and recorded so.
    """
    if not undo_plan.undoes:
        return None
    config = config or Config()
    number = undo_plan.resumes
    with contextlib.ExitStack() as stack:
        op = stack.enter_context(operation(workspace, clock, "undo", config, undoes=undo_plan.undoes, number=number))
        if _leaves(workspace, undo_plan):
            stack.enter_context(layers_lock(workspace, config))
        restore_files(op, undo_plan.restores, recorded=number is not None)
        return op.id


def _leaves(workspace: Workspace, undo_plan: UndoPlan) -> bool:
    """Whether it touches layers that lie outside of the workspace, which others may share."""
    root = disk.real(workspace.root)
    return any(root not in disk.real(root / path).parents for one in undo_plan.restores for path in one.paths)


def undo(
    workspace: Workspace, clock: Clock, config: Config | None = None, number: int | None = None, *, last: int = 1
) -> UndoPlan:
    """Plan and apply in one, so that nothing of ours comes between."""
    with lock(workspace):
        made = plan_undo(workspace, clock, config, number, last=last)
        if not _leaves(workspace, made):
            apply_undo(workspace, clock, made, config)
            return made
        with layers_lock(workspace, config or Config()):  # who shares the layers may have moved files until now
            made = plan_undo(workspace, clock, config, number, last=last)
            apply_undo(workspace, clock, made, config)
            return made


class _Files:
    """The files as they would be after the changes taken back so far."""

    def __init__(self, workspace: Workspace, config: Config, past: History) -> None:
        self.workspace = workspace
        self.config = config
        self.past = past
        self.now: dict[str, bytes | None] = {}
        self.then: dict[str, bytes | None] = {}
        self.modes: dict[str, int | None] = {}
        self.times: dict[str, int | None] = {}
        self.sources: dict[str, str] = {}  # where a file that is moved back stands now

    def read(self, path: str) -> bytes | None:
        if path not in self.then:
            self._must_be_ours(path)
            self.now[path] = self.then[path] = content_now(self.workspace, path)
        return self.then[path]

    def _must_be_ours(self, path: str) -> None:
        """A record may have come with a clone: it must not lead an undo out of the workspace."""
        real = disk.real(self.workspace.root / path)
        counts = self.workspace.refcount(self.config.tiers.path)
        if real == disk.real(counts.parent) / counts.name:
            return
        tiers = disk.real(self.workspace.tiers(self.config.tiers.path))
        # The layers may lie below a hidden folder, such as OpenClaw's own; what counts is where a file lies in them.
        parts = real.relative_to(tiers).parts if tiers in real.parents else Path(path).parts
        hidden = any(part.startswith(".") and part != ".gitignore" for part in parts)
        packed = path.startswith("memory/archive/") and path.endswith(".md.gz")
        ours = path == ".gitignore" or path.endswith((".md", ".jsonl")) or ".md.bak-" in path or packed
        outside = disk.real(self.workspace.root) not in real.parents and tiers not in real.parents
        if outside or hidden or not ours:
            raise PathEscape(
                say(
                    f"{path} is no memory file of this workspace; it is not touched.",
                    f"{path} 不是此工作区的记忆文件，不会改动。",
                )
            )

    def restores(self) -> tuple[Restore, ...]:
        moved = {path: source for path, source in self.sources.items() if self._is_a_move(path, source)}
        left = set(moved.values())
        return tuple(
            Restore(
                path,
                self.now[moved.get(path, path)],
                data,
                self.modes.get(path),
                self.times.get(path),
                moved.get(path),
            )
            for path, data in self.then.items()
            if data != self.now[path] and path not in left
        )

    def _is_a_move(self, path: str, source: str) -> bool:
        """Whether all in all a file gets another name: nothing stands there now, and nothing is to stand where it came from."""
        free = self.now[path] is None and self.then[source] is None
        there = self.now[source] is not None and self.then[path] is not None
        return free and there and not (self.workspace.root / source).is_symlink()

    def take_back(self, one: Recorded, change: Change, later: Sequence[Recorded]) -> list[Step]:
        if change.kind == MOVE:
            return self._move_back(one, change)
        change = replace(change, path=_moved_since(change.path, later))
        now = self.read(change.path)
        wanted = self._cut(change, now) if change.bytes is not None else self._earlier(one, change, now)
        if wanted == now:
            return []
        self.then[change.path] = wanted
        if wanted is None:
            self.sources.pop(change.path, None)
        if change.kind == DELETE:
            self.modes[change.path] = None if change.mode is None else change.mode & 0o666
        return [_step(one, change, now, wanted)]

    def go_on(self, undo: Recorded) -> list[Step]:
        """What is left of an undo that was stopped: its record tells what each file was, and what it is to be."""
        steps: list[Step] = []
        for change in undo.changes:
            if change.kind == MOVE:
                steps += self._go_on_moving(undo, change)
                continue
            now = self.read(change.path)
            found = None if now is None else disk.digest(now)
            if found == change.after:
                continue
            wanted = self._left_to_do(change, now)
            if wanted == now:
                continue
            self.then[change.path] = wanted
            if now is None:
                self._as_it_lay(undo, change)
            steps.append(_step(undo, change, now, wanted))
        return steps

    def _left_to_do(self, change: Change, now: bytes | None) -> bytes | None:
        """The file as an undo wanted it, keeping what others changed elsewhere in it since."""
        before, after = self._kept(change.before), self._kept(change.after)
        return after if now == before else self._merged(change.path, before, now, after)

    def _kept(self, name: str | None) -> bytes | None:
        return None if name is None else vault_history.load_blob(self.workspace.history, name)

    def _merged(self, path: str, base: bytes | None, now: bytes | None, wanted: bytes | None) -> bytes | None:
        """What stands there now with what leads from one content to another; `ChangedOutside` when it touches the same lines."""
        if path.endswith(".jsonl"):
            merged = merge_records(base or b"", now or b"", wanted or b"", earlier=self._earlier_contents(path))
            return merged or (None if wanted is None else b"")
        if Path(path).name == refcount.REFCOUNT_NAME:
            return refcount.merge_counts(Path(path), base, now, wanted)
        if is_daily(path):
            shared = _title(now or b"", wanted or b"") if base is None else base
            joined = merge(shared, now or b"", wanted or b"", log=True, earlier=self._earlier_contents(path))
            if joined is not None:
                return joined or None
        elif now is None:
            raise _gone_error(path)
        elif base is not None and wanted is not None:
            joined = merge(base, now, wanted, earlier=self._earlier_contents(path))
            if joined is not None:
                return joined
        raise _conflict_error(path)

    def _earlier_contents(self, path: str) -> list[bytes]:
        """What the file was before the last undos that touched it: the order in which its lines stood."""
        names = [
            change.before for one in self.past.operations if one.undoes for change in one.changes if change.path == path
        ]
        found: list[bytes] = []
        for name in filter(None, names[-_ORDERS:]):
            with contextlib.suppress(NotFound):
                found.append(vault_history.load_blob(self.workspace.history, name))
        return found

    def note_what_leaves_memory(self, clock: Clock) -> None:
        """Entries of long-term memory that go with the operations are not added again unasked: the trail says so."""
        path, noted = (self.workspace.relative(one) for one in (self.workspace.ledger, self.workspace.trail))
        if path not in self.then or self.then[path] == self.now[path]:
            return
        gone = sorted(ledger.admitted(self.now[path] or b"") - ledger.admitted(self.then[path] or b""))
        if gone:
            line = provenance.provenance_line(
                Offered(clock.today().isoformat(), tuple(map(provenance.undone_mark, gone)))
            )
            data = self.read(noted) or b""
            self.then[noted] = data + (b"" if data.endswith(b"\n") or not data else b"\n") + line.encode()

    def _as_it_lay(self, undo: Recorded, back: Change) -> None:
        """Mode and time of a file that comes back, from the place it was moved to: that goes last, so it is still there."""
        for one in undo.changes:
            if one.kind == DELETE and one.before == back.after:
                with contextlib.suppress(OSError):
                    about = (self.workspace.root / one.path).stat()
                    self.modes[back.path], self.times[back.path] = about.st_mode & 0o7777, about.st_mtime_ns
                    return

    def _cut(self, change: Change, now: bytes | None) -> bytes | None:
        """The log without the appended bytes; of a file of records, without those of them that are still there."""
        records = change.path.endswith(".jsonl")
        if now is None and records:
            return None
        if now is None:
            raise _gone_error(change.path)
        places = places_of(self.workspace, change, now)
        if not places and records:
            return merge_records(self._kept(change.bytes) or b"", now, b"") or None
        if not places:
            raise _conflict_error(change.path)
        start, end = places[0], places[0] + (change.length or 0)
        kept = _still_needed(now[start:end], now[end:])
        return now[:start] + kept + now[end:] or None

    def _earlier(self, one: Recorded, change: Change, now: bytes | None) -> bytes | None:
        """The file as it was before the change, keeping what others changed elsewhere in it since."""
        found = None if now is None else disk.digest(now)
        if found == change.before:
            return now
        before = self._kept(change.before)
        if found == change.after:
            return before
        after = self._kept(change.after)
        try:
            return self._merged(change.path, after, now, before)
        except ChangedOutside:
            known = before is not None and now is not None and after is not None
            if one.finished or not known or merge(before or b"", now or b"", after or b"") is None:
                raise
            return now  # it was killed before it wrote; what stands there never held the change

    def _move_back(self, one: Recorded, change: Change) -> list[Step]:
        to = change.to or ""
        moved, stands = self.read(to), self.read(change.path)
        if moved is None and stands is not None and disk.digest(stands) == change.before:
            return []  # somebody moved it back by hand
        if moved is None:
            raise _gone_error(to)
        if stands is not None:
            raise _conflict_error(change.path)
        return [self._moved(one, to, change.path)]

    def _go_on_moving(self, undo: Recorded, change: Change) -> list[Step]:
        """A move back that an undo had still to do; nothing when it did it, or when the file was since taken away by hand."""
        to = change.to or ""
        if self.read(change.path) is None:
            return []
        if self.read(to) is not None:
            raise _conflict_error(to)
        return [self._moved(undo, change.path, to)]

    def _moved(self, one: Recorded, path: str, to: str) -> Step:
        self.then[to], self.then[path] = self.then[path], None
        self.sources[to] = self.sources.pop(path, path)
        if path in self.modes:  # it comes back within this undo, and goes on
            self.modes[to], self.times[to] = self.modes[path], self.times.get(path)
        else:
            about = (self.workspace.root / path).stat()
            self.modes[to], self.times[to] = about.st_mode & 0o7777, about.st_mtime_ns
        return Step("move back", path, _reason(one), to)


def _moved_since(path: str, later: Sequence[Recorded]) -> str:
    """Where a file stands after the operations that came later and moved it."""
    for one in later:
        for change, carried_out in zip(one.changes, one.carried_out, strict=True):
            if carried_out and change.kind == MOVE and change.path == path:
                path = change.to or path
    return path


def _title(*logs: bytes) -> bytes:
    """The first line, where both logs begin with the same one."""
    first, second = (log[: log.find(b"\n") + 1] for log in logs)
    return first if first == second else b""


def _still_needed(cut: bytes, after: bytes) -> bytes:
    """The headings of the cut lines, when entries that came later stand under them.

    Without its own heading an entry would fall under the one before: another time, another session, even a group's.
    """
    following = next((line for line in after.splitlines() if line.strip()), b"#")
    if following.lstrip().startswith(b"#"):
        return b""
    lines = cut.splitlines(keepends=True)
    entries = next(
        (at for at, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(b"#")), len(lines)
    )
    return b"".join(lines[:entries])


def _step(one: Recorded, change: Change, now: bytes | None, wanted: bytes | None) -> Step:
    if wanted is None:
        action = "remove"
    elif now is None:
        action = "bring back"
    else:
        action = "cut" if change.kind in (APPEND, CREATE) else "restore"
    return Step(action, change.path, _reason(one), f"{len(now or b'')} → {len(wanted or b'')} bytes")


def _reason(one: Recorded) -> str:
    return say(f"undo of operation {one.id} ({one.command})", f"撤销操作 {one.id}（{one.command}）")


def _conflict_error(path: str) -> ChangedOutside:
    return ChangedOutside(
        say(
            f"{path} was changed in the same place since; nothing was undone. Change it back by hand, or undo another "
            'operation by its number ("nacre history").',
            f"{path} 的同一处之后被修改过；未撤销任何内容。请手动改回，或按编号撤销其他操作（“nacre history”）。",
        )
    )


def _gone_error(path: str) -> ChangedOutside:
    return ChangedOutside(
        say(
            f"{path} was moved or deleted since; nothing was undone. Put it back by hand, or undo another operation by its "
            'number ("nacre history").',
            f"{path} 之后被移动或删除；未撤销任何内容。请手动放回，或按编号撤销其他操作（“nacre history”）。",
        )
    )
