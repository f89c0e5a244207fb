"""Checkpoints in their four layers: which lie where, what belongs together, how they are written and moved without overwriting anything."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, CannotWrite, NacreError, raise_unless_absent
from nacre.i18n import say
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.vault import disk, refcount
from nacre.vault.files import LARGEST, TIERS
from nacre.vault.history import Operation, can_be_named, operation
from nacre.vault.lock import TIMEOUT, hold
from nacre.vault.writing import REDACT, Batch, changed_outside, guarded, move_file, remove_file, rewrite

HOT, WARM, GIST, FORGOTTEN = TIERS
_SUMMARY = ".gist.md"
_LONGEST = 255  # bytes of a name, on every file system in use


@dataclass(frozen=True)
class Checkpoint:
    """A Markdown file of a layer, as the walk saw it. `name` is its path below the layer, with "/"."""

    layer: str
    name: str
    path: Path
    size: int = -1
    modified: int = 0  # nanoseconds since 1970

    @property
    def place(self) -> str:
        return f"{self.layer}/{self.name}"

    @property
    def is_summary(self) -> bool:
        return is_summary(self.layer, self.name)

    @property
    def stem(self) -> str:
        return stem_of(self.name)


def is_summary(layer: str, name: str) -> bool:
    return layer == GIST or name.endswith(_SUMMARY)


def stem_of(name: str) -> str:
    """A checkpoint and its summary go by one name: `x.md` and `x.gist.md`."""
    return name.removesuffix(_SUMMARY) if name.endswith(_SUMMARY) else name.removesuffix(".md")


def place_of(layer: str, stem: str, *, summary: bool) -> str:
    """Where a file of a family lies when the family is in a layer: in gist the original stays in warm."""
    if layer == GIST:
        return f"{GIST if summary else WARM}/{stem}.md"
    return f"{layer}/{stem}{_SUMMARY if summary else '.md'}"


@dataclass(frozen=True)
class Family:
    """A checkpoint and its summary; one of them may be missing."""

    stem: str
    original: Checkpoint | None = None
    summary: Checkpoint | None = None

    @property
    def pieces(self) -> tuple[Checkpoint, ...]:
        return tuple(one for one in (self.summary, self.original) if one)

    @property
    def lead(self) -> Checkpoint:
        """The file whose content counts, and under whose place the recalls are counted."""
        lead = self.original or self.summary
        assert lead is not None
        return lead

    @property
    def layer(self) -> str:
        if self.original and self.summary and (self.original.layer, self.summary.layer) == (WARM, GIST):
            return GIST
        return self.lead.layer


@contextlib.contextmanager
def layers_lock(workspace: Workspace, config: Config, *, timeout: float = TIMEOUT) -> Iterator[None]:
    """Hold layers that lie outside of the workspace: several may share them, and each has a lock of its own. Taken after that."""
    root = disk.real(workspace.tiers(config.tiers.path))
    if disk.real(workspace.root) in root.parents or not root.is_dir():
        yield
        return
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(CannotWrite):  # where no lock can be put, none of those who share them could
            stack.enter_context(hold(root.parent / ".nacre-layers.lock", timeout=timeout))
        yield


def list_checkpoints(workspace: Workspace, config: Config) -> list[Checkpoint]:
    """Every checkpoint and summary of the layers, those of hot first."""
    return survey_checkpoints(workspace, config)[0]


def survey_checkpoints(workspace: Workspace, config: Config) -> tuple[list[Checkpoint], list[Problem]]:
    """Every checkpoint and summary, and what lies among them that Nacre leaves alone."""
    root = workspace.tiers(config.tiers.path)
    inside = disk.real(workspace.root)
    if not config.tiers.path and root.is_symlink() and inside not in disk.real(root).parents:
        return [], [
            _left_alone(workspace, root, say("is a link that leads out of the workspace", "是指向工作区之外的链接"))
        ]
    found: list[Checkpoint] = []
    problems: list[Problem] = []
    for layer in TIERS:
        folder = root / layer
        if folder.is_symlink():  # two layers may be one folder then, or a layer the folder of the daily logs
            problems.append(
                _left_alone(workspace, folder, say("is a link, no layer of its own", "是链接，不是独立的层"))
            )
            continue
        for name, full in sorted(_markdown(str(folder))):
            seen = _checkpoint_at(layer, name, full)
            if isinstance(seen, Checkpoint):
                found.append(seen)
            else:
                problems.append(_left_alone(workspace, Path(full), seen))
    return found, problems


def checkpoints_named(workspace: Workspace, config: Config, name: str) -> list[Checkpoint]:
    """What goes by a checkpoint's name, in any layer: looked up, not searched for."""
    root, found = workspace.tiers(config.tiers.path), []
    for layer in TIERS:
        for summary in (False, True):
            lies, _, below = place_of(layer, stem_of(name), summary=summary).partition("/")
            full = os.path.join(root, lies, below)
            seen = _checkpoint_at(lies, below, full) if os.path.lexists(full) else ""
            if isinstance(seen, Checkpoint) and seen not in found:
                found.append(seen)
    return found


def _markdown(folder: str) -> Iterator[tuple[str, str]]:
    """Each Markdown file by its name below the folder, and its full path; links to folders are not followed."""

    def refuse(error: OSError) -> None:
        raise_unless_absent(folder, error)

    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if name[0] != "."]
        below = "" if place == folder else f"{os.path.relpath(place, folder)}/".replace(os.sep, "/")
        for name in names:
            if name[0] != "." and name.endswith(".md"):
                yield below + name, os.path.join(place, name)


def _checkpoint_at(layer: str, name: str, full: str) -> Checkpoint | str:
    """The file, or why it is left alone."""
    if not can_be_named(name):  # neither history nor a terminal could name it
        return say("has a name that is no readable text; rename it", "的文件名不是可读文本；请重命名")
    try:
        about = os.lstat(full)
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        return say(f"cannot be read: {reason}", f"无法读取：{reason}")
    if stat.S_ISLNK(about.st_mode):
        return say("is a link; put the real file in its place", "是链接；请换成真正的文件")
    if not stat.S_ISREG(about.st_mode):
        return say("is no ordinary file; move it away", "不是普通文件；请将其移走")
    if about.st_size > LARGEST:
        size = LARGEST // 1_000_000
        return say(f"is larger than {size} MB; move it away or divide it", f"大于 {size} MB；请移走或拆分")
    return Checkpoint(layer, name, Path(full), about.st_size, about.st_mtime_ns)


def _left_alone(workspace: Workspace, path: Path, why: str) -> Problem:
    shown = workspace.relative(path)
    if not can_be_named(shown):
        shown = "".join(sign if can_be_named(sign) else ascii(sign)[1:-1] for sign in shown)
    return Problem("left alone", say(f"{shown} {why}; it stays where it is.", f"{shown} {why}；保持原位。"), shown)


def families(checkpoints: Iterable[Checkpoint]) -> list[Family]:
    """What belongs together. Files of one name in two layers are two checkpoints, unless one is the other's lost summary."""
    by_stem: dict[str, list[Checkpoint]] = {}
    for one in checkpoints:
        by_stem.setdefault(one.stem, []).append(one)
    return [family for stem, pieces in by_stem.items() for family in _divided(stem, pieces)]


def _divided(stem: str, pieces: list[Checkpoint]) -> list[Family]:
    # The summary that lies in gist itself is the one that counts, should there be another beside the original.
    summaries = sorted((one for one in pieces if one.is_summary), key=lambda one: (one.layer != GIST, one.name))
    found: list[Family] = []
    for original in (one for one in pieces if not one.is_summary):
        near = next((one for one in summaries if _home(one) == original.layer), None)
        if near:
            summaries.remove(near)
        found.append(Family(stem, original, near))
    if len(found) == 1 and found[0].summary is None and summaries:  # a move that was cut short
        found[0] = replace(found[0], summary=summaries.pop(0))
    return found + [Family(stem, None, one) for one in summaries]


def _home(one: Checkpoint) -> str:
    return WARM if one.layer == GIST else one.layer


@dataclass(frozen=True)
class FileMove:
    """One file on its way: to a place where nothing stands, or away because `to` holds the same bytes already."""

    piece: Checkpoint
    to: Path
    is_there: bool = False


@dataclass(frozen=True)
class Settled:
    """A family in the layer where it is to lie, and what has to be done for that."""

    family: Family
    deeds: tuple[FileMove, ...]


class Shelf:
    """The layers as they will be once everything that was settled so far is done."""

    def __init__(self, workspace: Workspace, config: Config) -> None:
        self.root = workspace.tiers(config.tiers.path)
        self._changed: dict[Path, Path | None] = {}  # place → the file whose bytes will stand there

    def settle(self, family: Family, layer: str, *, with_summary: bool = False) -> Settled:
        """Give a family its places in a layer; under another number where its name is taken by something else.

        `with_summary` keeps a place for a summary that is still to be made.
        """
        if not with_summary and all(
            one.place == place_of(layer, family.stem, summary=one.is_summary) for one in family.pieces
        ):
            return Settled(family, ())
        self._must_be_a_layer(layer)
        for number in count(1):
            stem = family.stem if number == 1 else _numbered(family.stem, number)
            if number == 1 and not _can_lie(family, layer, with_summary=with_summary):
                continue
            if with_summary and self._standing(self.root / place_of(layer, stem, summary=True)) is not None:
                continue
            after = [self._placed(one, layer, stem) for one in family.pieces]
            if all(self._fits(one, to.path) for one, to in zip(family.pieces, after, strict=True)):
                break
        deeds: list[FileMove] = []
        for one, to in zip(family.pieces, after, strict=True):
            if one.path != to.path:
                deeds.append(FileMove(one, to.path, is_there=self._standing(to.path) is not None))
                self._changed |= {to.path: self._standing(to.path) or self._standing(one.path), one.path: None}
        summary = next((one for one in after if one.is_summary), None)
        original = next((one for one in after if not one.is_summary), None)
        return Settled(Family(stem, original, summary), tuple(deeds))

    def _must_be_a_layer(self, layer: str) -> None:
        """A link in the place of a layer may lead to another one: a file would lie beside itself, and be taken for its double."""
        for folder in (self.root / one for one in ({GIST, WARM} if layer == GIST else {layer})):
            if folder.is_symlink():
                raise BadInput(
                    say(
                        f"{folder} is a link, no layer of its own; put a real folder in its place.",
                        f"{folder} 是链接，不是独立的层；请换成真正的文件夹。",
                    )
                )

    def clear(self, family: Family) -> None:
        """The family will be gone."""
        self._changed |= dict.fromkeys((one.path for one in family.pieces), None)

    def _placed(self, one: Checkpoint, layer: str, stem: str) -> Checkpoint:
        place = place_of(layer, stem, summary=one.is_summary)
        lies, _, name = place.partition("/")
        return replace(one, layer=lies, name=name, path=self.root / place)

    def _standing(self, place: Path) -> Path | None:
        if place in self._changed:
            return self._changed[place]
        return place if os.path.lexists(place) else None

    def _fits(self, one: Checkpoint, to: Path) -> bool:
        standing = self._standing(to)
        return one.path == to or standing is None or _same_bytes(one.path, standing)


def _can_lie(family: Family, layer: str, *, with_summary: bool) -> bool:
    """Whether a file system takes the names that the family gets in a layer: a summary's may be longer than its original's."""
    kinds = {one.is_summary for one in family.pieces} | ({True} if with_summary else set())
    places = (place_of(layer, family.stem, summary=summary) for summary in kinds)
    return all(len(os.fsencode(place.rpartition("/")[2])) <= _LONGEST for place in places)


def _numbered(stem: str, number: int) -> str:
    """The name with a number; its end is left out where it would be too long for a summary in any layer."""
    folder, slash, name = stem.rpartition("/")
    room = _LONGEST - len(f"-{number}{_SUMMARY}")
    return f"{folder}{slash}{os.fsencode(name)[:room].decode('utf-8', 'ignore')}-{number}"


def _same_bytes(one: Path, other: Path) -> bool:
    try:
        if other.is_symlink() or not other.is_file() or one.stat().st_size != other.stat().st_size:
            return False
        return one.read_bytes() == other.read_bytes()
    except OSError:
        return False


def apply_move(op: Operation, deed: FileMove) -> None:
    """Move the file, or take it away beside its double; `ChangedOutside` when something is no longer as it was seen."""
    data = checkpoint_bytes(op.workspace, deed.piece)
    if not deed.is_there:
        move_file(op, deed.piece.path, deed.to, read=disk.digest(data))
        return
    if disk.read_bytes(deed.to) != data:
        raise changed_outside(op.workspace.relative(deed.to))
    remove_file(op, deed.piece.path, read=disk.digest(data))


def add_to_batch(batch: Batch, who: int, deed: FileMove, read: str | None = None) -> None:
    """The same, to be done together with others. `read` is the hash of what will stand there by then, if not what was seen."""
    found = read or disk.digest(checkpoint_bytes(batch.op.workspace, deed.piece))
    if deed.is_there:
        batch.remove(who, deed.piece.path, read=found, beside=(deed.to, found))
    else:
        batch.move(who, deed.piece.path, deed.to, read=found)


def checkpoint_bytes(workspace: Workspace, piece: Checkpoint) -> bytes:
    """The bytes of a file that is still what the walk saw."""
    try:
        data, modified = disk.read_bytes(piece.path), piece.path.stat().st_mtime_ns
    except FileNotFoundError:  # it went between the two
        data, modified = None, 0
    if data is None or len(data) != piece.size or modified != piece.modified:
        raise changed_outside(workspace.relative(piece.path))
    return data


# Checkpoints: whole conversations in the hot layer, secrets blacked out.


def write_checkpoint(workspace: Workspace, clock: Clock, name: str, text: str, config: Config) -> tuple[Path, bool]:
    """Write a checkpoint, or bring one of that name up to date; where it lies, and whether anything changed.

    One that has sunk into a colder layer comes back to hot, unless there is nothing new and it is not about to go.
    """
    path = workspace.tiers(config.tiers.path) / HOT / name
    data = (guarded(text, REDACT).rstrip("\n") + "\n").encode()
    with operation(workspace, clock, "checkpoint", config) as op, layers_lock(workspace, config):
        sunk = _sunk(workspace, config, name)
        if sunk and sunk.original:
            if sunk.layer != FORGOTTEN and checkpoint_bytes(workspace, sunk.original) == data:
                return sunk.original.path, False
            _bring_back(op, sunk)
        before = disk.read_bytes(path)
        if before == data:
            return path, bool(sunk)
        rewrite(op, path, data, read=None if before is None else disk.digest(before))
    return path, True


def write_text_checkpoint(
    workspace: Workspace, clock: Clock, name: str, text: str, config: Config
) -> tuple[Path, bool]:
    """Write a text as a checkpoint of its own: nothing else goes by its name, and the same text is not kept twice."""
    data = (guarded(text, REDACT).rstrip("\n") + "\n").encode()
    with operation(workspace, clock, "checkpoint", config) as op, layers_lock(workspace, config):
        for one in list_checkpoints(workspace, config):
            if one.size == len(data) and one.layer != FORGOTTEN and disk.read_bytes(one.path) == data:
                return one.path, False
        stem = name.removesuffix(".md")
        free = (f"{stem}{'' if number == 1 else f'-{number}'}.md" for number in count(1))
        path = (
            workspace.tiers(config.tiers.path)
            / HOT
            / next(one for one in free if not checkpoints_named(workspace, config, one))
        )
        rewrite(op, path, data, read=None)
    return path, True


def _sunk(workspace: Workspace, config: Config, name: str) -> Family | None:
    """The checkpoint of that name in a colder layer, when none is in hot."""
    found = [one for one in families(checkpoints_named(workspace, config, name)) if one.original]
    return None if not found or any(one.layer == HOT for one in found) else found[0]


def _bring_back(op: Operation, sunk: Family) -> None:
    settled = Shelf(op.workspace, op.config).settle(sunk, HOT)
    for deed in settled.deeds:
        apply_move(op, deed)
    try:
        counts = refcount.read_counts(op.workspace, op.config)
    except NacreError:
        return  # organise says what is wrong with it, and finds the entry by its name once it is mended
    keys = [one.place for one in sunk.pieces if isinstance(counts.entries.get(one.place), dict)]
    for key in keys[-1:]:  # that of the original, where both were counted
        entry = {name: value for name, value in counts.entries[key].items() if name != refcount.FORGOTTEN}
        refcount.write_counts(op, counts, refcount.move_counts(counts.entries, [key], settled.family.lead.place, entry))
