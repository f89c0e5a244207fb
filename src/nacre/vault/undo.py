"""Taking operations back: newest first, planned as a whole before any file is touched, and itself an operation to take back."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nacre import disk
from nacre.errors import BadInput, ChangedOutside, NacreError, NotFound, PartlyDone, PathEscape
from nacre.i18n import say
from nacre.model import Context, Plan, Step
from nacre.vault import history, ledger, provenance, refcount, writing
from nacre.vault.checkpoints import layers_lock
from nacre.vault.history import Change, Operation, Recorded, operation
from nacre.vault.merge import merge, merge_records
from nacre.vault.provenance import Offered
from nacre.vault.storage import is_daily, storage_of
from nacre.vault.writing import Pending

_ORDERS = 20  # earlier contents that are looked at for the order of lines,
_SEARCHED = 1000  # and operations among which they are sought


@dataclass(frozen=True)
class UndoPlan:
    """Which operations are taken back, what that does to each file, and the steps to show."""

    undoes: tuple[int, ...]
    changes: tuple[Pending, ...]
    plan: Plan
    resumes: int | None = None  # the undo that was stopped and goes on


def undo(context: Context, number: int | None = None, *, last: int = 1) -> UndoPlan:
    """Plan and apply in one, so that nothing of ours comes between."""
    with storage_of(context.workspace).hold(), layers_lock(context.workspace, context.config):
        undo_plan = plan_undo(context, number, last=last)
        apply_undo(context, undo_plan)
        return undo_plan


def plan_undo(context: Context, number: int | None = None, *, last: int = 1) -> UndoPlan:
    """What undoing an operation by its number would do, also one that was itself an undo; without a number, the last ones, undos and
    what was undone or never carried out not counted. An undo that was stopped goes on first, alone."""
    if not context.config.history.enabled:
        raise BadInput(
            'History is turned off, so nothing can be undone; turn it on with "nacre config set history.enabled true".',
            "历史记录已关闭，无法撤销；可用“nacre config set history.enabled true”开启。",
        )
    if last < 1:
        raise BadInput("The number of operations to undo must be at least 1.", "要撤销的操作数至少为 1。")
    files = _Files(context)
    past: list[Recorded] = []  # the latest first, as far back as is needed
    chosen: list[Recorded] = []
    begun: set[int] = set()  # what undos that were stopped were to take back
    for done in history.latest(files.storage):
        past.append(done)
        if _is_stopped(done, past):
            if (number is None and not chosen) or number in done.undoes:
                steps = files.resume(done)
                return UndoPlan(done.undoes, files.changes(), Plan(tuple(steps)), done.id)
            begun.update(done.undoes)
        if number is not None:
            if done.id <= number:
                break
        # The making of the workspace itself is not a step back anyone means; it can be named by its number.
        elif not done.undoes and done.state not in (history.UNDONE, history.NOT_CARRIED_OUT) and done.command != "init":
            chosen += [done] if done.id not in begun else []
            if len(chosen) == last:
                break
    if number is not None:
        chosen = [done for done in past[-1:] if done.id == number]
        if not chosen:
            raise history.no_operation(number)
    if not chosen:
        raise NotFound("There is nothing to undo.", "没有可撤销的操作。")
    steps = []
    for undone in chosen:
        if undone.state == history.UNDONE:
            raise BadInput(
                f'Operation {undone.id} has already been undone by operation {undone.undone_by}; "nacre undo {undone.undone_by}" reverts that.',
                f"操作 {undone.id} 已被操作 {undone.undone_by} 撤销；“nacre undo {undone.undone_by}”可取消该次撤销。",
            )
        later = [other for other in reversed(past) if other.id > undone.id and other not in chosen]
        try:
            for change in reversed(undone.carried_changes):
                steps += files.take_back(undone, change, later)
        except NotFound as error:
            what, chinese = f"Operation {undone.id} ({undone.command})", f"操作 {undone.id}（{undone.command}）"
            raise NotFound(
                f'{what} cannot be undone: what it changed was purged from history. Undo another one by its number ("nacre history").',
                f"{chinese}无法撤销：它改动的内容已从历史中彻底清除。可按编号撤销其他操作（“nacre history”）。",
            ) from error
    if not any(undone.undoes for undone in chosen):  # what an undo noted, its record brings back
        files.note_what_leaves_memory()
    taken = tuple(undone.id for undone in chosen if undone.state != history.NOT_CARRIED_OUT)
    return UndoPlan(taken, files.changes(), Plan(tuple(steps)))


def _is_stopped(done: Recorded, past: Sequence[Recorded]) -> bool:
    """Whether it is an undo that never said it was done, and did not do everything, or was the last thing done."""
    if not done.undoes or done.finished or done.state != history.PARTLY:
        return bool(done.undoes) and not done.finished and done.state == history.DONE and len(past) == 1
    return not {n for other in past if other.state == history.DONE for n in other.undoes}.issuperset(done.undoes)


def apply_undo(context: Context, undo_plan: UndoPlan) -> None:
    """Carry the plan out. Changes that cancel each other out touch no file, but are undone all the same, and recorded so."""
    if undo_plan.undoes:
        number = undo_plan.resumes
        with operation(context, "undo", undoes=undo_plan.undoes, number=number) as op:
            _make_changes(op, undo_plan.changes, is_recorded=number is not None)


# Planning: the files as they would be after the changes taken back so far.


class _Files:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.workspace = context.workspace
        self.storage = storage_of(context.workspace)
        self.now: dict[str, bytes | None] = {}
        self.then: dict[str, bytes | None] = {}
        self.sources: dict[str, str] = {}  # where a file that is moved back stands now

    def read(self, path: str) -> bytes | None:
        if path not in self.then:
            self._must_be_ours(path)
            self.now[path] = self.then[path] = history.content_now(self.storage, path)
        return self.then[path]

    def _must_be_ours(self, path: str) -> None:
        """A record may have come with a clone: it must not lead an undo out of the workspace."""
        layers = self.storage.real(self.workspace.relative(self.workspace.tiers(self.context.config.tiers.path)))
        # The layers may lie below a hidden folder, such as OpenClaw's own; what counts is where a file lies in them.
        real = self.storage.real(path)
        below = real.removeprefix(f"{layers}/") if real.startswith(f"{layers}/") else path
        is_hidden = any(part.startswith(".") for part in below.split("/")) and path != ".gitignore"
        is_memory = path.endswith((".md", ".jsonl", ".md.gz", ".gitignore")) or ".md.bak-" in path
        is_ours = Path(path).name == refcount.REFCOUNT_NAME or (is_memory and not is_hidden)
        if not is_ours or history.leads_out(self.context, path):
            raise PathEscape(
                f"{path} is not a memory file of this workspace, so it was not changed.",
                f"{path} 不是此工作区的记忆文件，未作改动。",
            )

    def changes(self) -> tuple[Pending, ...]:
        # All in all a file gets another name when nothing stands there now, and nothing is to stand where it came from.
        moved = {
            path: source
            for path, source in self.sources.items()
            if self.now[path] is None is self.then[source] and self.now[source] is not None is not self.then[path]
        }
        changes: list[Pending] = []
        for path, data in self.then.items():
            if (source := moved.get(path)) is not None:
                before = self.now[source]
                changes.append(Pending(source, before, None if data == before else data, to=path))
            elif data != self.now[path] and path not in moved.values():
                changes.append(Pending(path, self.now[path], data))
        return tuple(changes)

    def take_back(self, undone: Recorded, change: Change, later: Sequence[Recorded]) -> list[Step]:
        if change.kind == history.MOVE:
            to = change.to or ""
            moved, current = self.read(to), self.read(change.path)
            if moved is None and current is not None and disk.digest(current) == change.before:
                return []  # somebody moved it back by hand
            if moved is None:
                raise _conflict_error(to, gone=True)
            if current is not None:
                raise _conflict_error(change.path)
            return [self._move(undone, to, change.path)]
        for moving in (moving for done in later for moving in done.carried_changes):
            if moving.kind == history.MOVE and moving.path == change.path:
                change = change._replace(path=moving.to or change.path)
        now = self.read(change.path)
        data = self._cut(change, now) if change.bytes is not None else self._earlier(change, now)
        if data == now:
            return []
        self.then[change.path] = data
        if data is None:
            self.sources.pop(change.path, None)
        return [_step(undone, change, now, data)]

    def resume(self, undo: Recorded) -> list[Step]:
        """What is left of an undo that was stopped: its record tells what each file was, and what it is to be."""
        steps: list[Step] = []
        for change in undo.changes:
            now = self.read(change.path)
            if change.kind == history.MOVE:
                if now is None:
                    continue  # it was moved, or since taken away by hand
                if self.read(change.to or "") is not None:
                    raise _conflict_error(change.to or "")
                steps.append(self._move(undo, change.path, change.to or ""))
                continue
            if disk.hash_of(now) == change.after:
                continue
            before, after = self._load(change.before), self._load(change.after)
            data = after if now == before else self._merged(change.path, before, now, after)
            if data == now:
                continue
            self.then[change.path] = data
            steps.append(_step(undo, change, now, data))
        return steps

    def note_what_leaves_memory(self) -> None:
        """Entries of long-term memory that go with the operations are not added again unasked: the provenance says so."""
        path, trail = (self.workspace.relative(file) for file in (self.workspace.ledger, self.workspace.trail))
        if path not in self.then or self.then[path] == self.now[path]:
            return
        removed = sorted(ledger.admitted(self.now[path] or b"") - ledger.admitted(self.then[path] or b""))
        if removed:
            line = provenance.provenance_line(
                Offered(self.context.clock.today().isoformat(), tuple(map(provenance.undone_mark, removed)))
            )
            data = self.read(trail) or b""
            self.then[trail] = data + (b"" if data.endswith(b"\n") or not data else b"\n") + line.encode()

    def _load(self, digest: str | None) -> bytes | None:
        return None if digest is None else self.storage.content(digest)

    def _merged(self, path: str, base: bytes | None, now: bytes | None, after: bytes | None) -> bytes | None:
        """What stands there now with the changes from `base` to `after`; `ChangedOutside` when they touch the same lines."""
        if Path(path).name == refcount.REFCOUNT_NAME:
            return refcount.merge_counts(Path(path), base, now, after)
        # What the file was before the last undos that touched it: the order in which its lines stood.
        undos = (done for done in islice(history.recorded(self.storage), _SEARCHED) if done.undoes)
        changes = (change for done in undos for change in done.changes if change.path == path and change.before)
        earlier: list[bytes] = []
        for change in islice(changes, _ORDERS):
            with contextlib.suppress(NotFound):
                earlier.append(self.storage.content(change.before or ""))
        if path.endswith(".jsonl"):
            records = merge_records(base or b"", now or b"", after or b"", earlier=earlier)
            return records or (None if after is None else b"")
        merged: bytes | None = None
        if is_daily(path):
            if base is None:  # the first line, where both begin with the same one
                first, second = (log[: log.find(b"\n") + 1] for log in (now or b"", after or b""))
                base = first if first == second else b""
            merged = merge(base, now or b"", after or b"", log=True, earlier=earlier)
            if merged is not None:
                return merged or None
        elif now is None:
            raise _conflict_error(path, gone=True)
        elif base is not None and after is not None:
            merged = merge(base, now, after, earlier=earlier)
        if merged is None:
            raise _conflict_error(path)
        return merged

    def _cut(self, change: Change, now: bytes | None) -> bytes | None:
        """The log without the appended bytes; of a file of records, without those of them that are still there."""
        records = change.path.endswith(".jsonl")
        if now is None:
            if records:
                return None
            raise _conflict_error(change.path, gone=True)
        places = history.places_of(self.storage, change, now)
        if not places and records:
            return merge_records(self._load(change.bytes) or b"", now, b"") or None
        if not places:
            raise _conflict_error(change.path)
        start, end = places[0], places[0] + (change.length or 0)
        return now[:start] + _needed_headings(now[start:end], now[end:]) + now[end:] or None

    def _earlier(self, change: Change, now: bytes | None) -> bytes | None:
        """The file as it was before the change, keeping what others changed elsewhere in it since."""
        name = disk.hash_of(now)
        if name == change.before:
            return now
        before = self._load(change.before)
        if name == change.after:
            return before
        return self._merged(change.path, self._load(change.after), now, before)

    def _move(self, undone: Recorded, path: str, to: str) -> Step:
        self.then[to], self.then[path] = self.then[path], None
        self.sources[to] = self.sources.pop(path, path)
        return Step("move back", path, _reason(undone), to)


def _needed_headings(cut: bytes, after: bytes) -> bytes:
    """The headings of the cut lines, when entries that came later stand under them: else they would fall under another one, even a group's."""
    following = next((line for line in after.splitlines() if line.strip()), b"#")
    if following.lstrip().startswith(b"#"):
        return b""
    lines: list[bytes] = cut.splitlines(keepends=True)
    is_entry = [bool(line.strip()) and not line.lstrip().startswith(b"#") for line in lines]
    return b"".join(lines[: is_entry.index(True)] if any(is_entry) else lines)


def _step(undone: Recorded, change: Change, now: bytes | None, data: bytes | None) -> Step:
    if data is None:
        action = "remove"
    elif now is None:
        action = "bring back"
    else:
        action = "cut" if change.kind in (history.APPEND, history.CREATE) else "restore"
    return Step(action, change.path, _reason(undone), f"{len(now or b'')} → {len(data or b'')} bytes")


def _reason(undone: Recorded) -> str:
    return say(f"undo of operation {undone.id} ({undone.command})", f"撤销操作 {undone.id}（{undone.command}）")


def _conflict_error(path: str, *, gone: bool = False) -> ChangedOutside:
    what, way = ("moved or deleted", "Put it back") if gone else ("changed in the same place", "Change it back")
    what_chinese, way_chinese = ("之后被移动或删除", "放回") if gone else ("的同一处之后被修改过", "改回")
    return ChangedOutside(
        f'{path} has been {what} since that operation; nothing was undone. {way} by hand and try again, or undo another operation by its number ("nacre history").',
        f"{path} {what_chinese}；未撤销任何内容。请手动{way_chinese}，或按编号撤销其他操作（“nacre history”）。",
    )


# Applying.


def _make_changes(op: Operation, changes: Sequence[Pending], *, is_recorded: bool) -> None:
    """Record and make all of them; what others changed since the plan is left as they wrote it, and told (`PartlyDone`).
    `is_recorded`: an undo that was stopped goes on, whose record names them already."""
    if not is_recorded:
        for change in changes:
            change.check(op.storage)
        writing.record(op, changes)
    # What comes back before what goes: killed in between, a file stands in both places, never in none. What is only moved
    # needs no room on the disk, and comes first.
    going = [change for change in changes if change.data is None is change.to]
    coming = sorted((change for change in changes if change not in going), key=lambda change: change.to is None)
    done = 0
    left: dict[str, NacreError] = {}
    for group in (coming, going):
        if left:
            break  # else the last that there is of a file might go
        with op.storage.together():
            for change in group:
                try:
                    change.make(op.storage)
                    done += 1
                except NacreError as error:
                    left[change.to if change.to and op.storage.about(change.to) else change.name] = error
    if not left:
        return
    first = next(iter(left.values()))
    if not done:
        raise first
    of, reason = len(changes), str(first)
    if isinstance(first, ChangedOutside):
        english = f"Not restored, because changed by another program in the meantime: {', '.join(left)}."
        reason = say(english, f"以下文件在此期间被其他程序修改，未还原：{', '.join(left)}。")
    raise PartlyDone(
        f'{reason} Restored {done} of {of} files; nothing is lost. Run "nacre undo" again to continue with the rest.',
        f"{reason} 已还原 {of} 个文件中的 {done} 个，没有丢失任何内容。请再次运行“nacre undo”继续处理其余文件。",
    ) from first
