"""Checkpoints in their four layers: which lie where, what belongs together, how they are written and moved without overwriting anything."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from nacre import disk
from nacre.config.settings import Config
from nacre.disk import TIMEOUT, hold
from nacre.errors import BadInput, CannotWrite, NacreError
from nacre.model import Context, Problem, Storage, Stored, Workspace, problem
from nacre.vault import refcount
from nacre.vault.history import Operation, can_be_named, operation
from nacre.vault.storage import LARGEST, SUMMARY, TIERS, read, stem_of, storage_of
from nacre.vault.writing import REDACT, changed_outside, guarded, move_file, rewrite

HOT, WARM, GIST, FORGOTTEN = TIERS


class Checkpoint(NamedTuple):
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
        return self.layer == GIST or self.name.endswith(SUMMARY)

    @property
    def stem(self) -> str:
        return stem_of(self.name)


def place_of(layer: str, stem: str, *, summary: bool) -> str:
    """Where a file of a family lies when the family is in a layer: in gist the original stays in warm."""
    if layer == GIST:
        return f"{GIST if summary else WARM}/{stem}.md"
    return f"{layer}/{stem}{SUMMARY if summary else '.md'}"


class Family(NamedTuple):
    """A checkpoint and its summary; one of them may be missing."""

    stem: str
    original: Checkpoint | None = None
    summary: Checkpoint | None = None

    @property
    def pieces(self) -> tuple[Checkpoint, ...]:
        return tuple(piece for piece in (self.summary, self.original) if piece)

    @property
    def lead(self) -> Checkpoint:
        """The file whose content counts, and under whose place the recalls are counted."""
        return self.pieces[-1]

    @property
    def layer(self) -> str:
        if self.original and self.summary and (self.original.layer, self.summary.layer) == (WARM, GIST):
            return GIST
        return self.lead.layer


@contextlib.contextmanager
def layers_lock(workspace: Workspace, config: Config, *, timeout: float = TIMEOUT) -> Iterator[None]:
    """Hold layers that lie outside of the workspace: several may share them, and each has a lock of its own. Taken after that."""
    root = storage_of(workspace).real(layers_folder(workspace, config))
    with contextlib.ExitStack() as stack:
        if os.path.isdir(root) and os.path.isabs(root):
            with contextlib.suppress(CannotWrite):  # where no lock can be put, none of those who share them could
                stack.enter_context(hold(Path(root).parent / ".nacre-layers.lock", timeout=timeout))
        yield


def list_checkpoints(workspace: Workspace, config: Config) -> list[Checkpoint]:
    return survey_checkpoints(workspace, config)[0]


def survey_checkpoints(workspace: Workspace, config: Config) -> tuple[list[Checkpoint], list[Problem]]:
    """Every checkpoint and summary, and what lies among them that Nacre leaves alone."""
    storage, root = storage_of(workspace), layers_folder(workspace, config)
    if not config.tiers.path and os.path.isabs(storage.real(root)):
        return [], [_left_alone(root, "is a link that points outside the workspace", "是指向工作区之外的链接")]
    checkpoints: list[Checkpoint] = []
    problems: list[Problem] = []
    for layer in TIERS:
        folder = f"{root}/{layer}"
        if _is_link(storage, folder):  # two layers may be one folder then, or a layer the folder of the daily logs
            problems.append(_left_alone(folder, "is a link, not a real layer folder", "是链接，不是真正的文件夹"))
            continue
        for stored in sorted(storage.walk(folder, (".md",))):
            if checkpoint := _checkpoint(workspace, root, stored):
                checkpoints.append(checkpoint)
            else:
                size = LARGEST // 1_000_000
                english = f"is a link, is not a regular file of at most {size} MB, or has an unreadable name"
                chinese = f"是链接，或不是 {size} MB 以内的普通文件，或文件名无法识别"
                problems.append(_left_alone(stored.name, english, chinese))
    return checkpoints, problems


def layers_folder(workspace: Workspace, config: Config) -> str:
    return workspace.relative(workspace.tiers(config.tiers.path))


def checkpoints_named(workspace: Workspace, config: Config, name: str) -> list[Checkpoint]:
    """The files of a checkpoint's name in every layer, looked up by their paths without a walk."""
    storage, root = storage_of(workspace), layers_folder(workspace, config)
    stem = stem_of(name)
    places = dict.fromkeys(place_of(layer, stem, summary=summary) for layer in TIERS for summary in (False, True))
    files = (stored for place in places if (stored := storage.about(f"{root}/{place}")))
    return [checkpoint for stored in files if (checkpoint := _checkpoint(workspace, root, stored))]


def _checkpoint(workspace: Workspace, root: str, stored: Stored) -> Checkpoint | None:
    """The checkpoint; None where Nacre leaves alone what stands there. Neither history nor a terminal can name everything."""
    layer, _, name = stored.name[len(root) + 1 :].partition("/")
    if not can_be_named(name) or not stored.is_plain or stored.is_link or stored.size > LARGEST:
        return None
    return Checkpoint(layer, name, workspace.root / stored.name, stored.size, stored.modified)


def _is_link(storage: Storage, name: str) -> bool:
    stored = storage.about(name)
    return stored is not None and stored.is_link


def _left_alone(name: str, english: str, chinese: str) -> Problem:
    shown = os.fsencode(name).decode("utf-8", "backslashreplace")
    return problem(
        "left alone", f"{shown} {english}; it was left where it was.", f"{shown} {chinese}；仍留在原处。", shown
    )


def families(checkpoints: Iterable[Checkpoint]) -> list[Family]:
    """What belongs together. Files of one name in two layers are two checkpoints, unless one is the other's lost summary."""
    by_stem: dict[str, list[Checkpoint]] = {}
    for checkpoint in checkpoints:
        by_stem.setdefault(checkpoint.stem, []).append(checkpoint)
    grouped: list[Family] = []
    for stem, pieces in by_stem.items():
        # The summary that lies in gist itself is the one that counts, should there be another beside the original.
        summaries = [piece for piece in pieces if piece.is_summary]
        summaries.sort(key=lambda piece: (piece.layer != GIST, piece.name))
        of_stem: list[Family] = []
        for original in (piece for piece in pieces if not piece.is_summary):
            homes = (original.layer, GIST) if original.layer == WARM else (original.layer,)
            near = next((piece for piece in summaries if piece.layer in homes), None)
            if near:
                summaries.remove(near)
            of_stem.append(Family(stem, original, near))
        if len(of_stem) == 1 and of_stem[0].summary is None and summaries:  # a move that was cut short
            of_stem = [of_stem[0]._replace(summary=summaries.pop(0))]
        grouped += of_stem + [Family(stem, None, summary) for summary in summaries]
    return grouped


Moves = tuple[tuple[Checkpoint, Path], ...]  # files on their way to places where nothing stands


class LayerPlaces:
    """Finds places in the layers as they will be once every family that was placed so far has been moved."""

    def __init__(self, workspace: Workspace, config: Config) -> None:
        self.workspace = workspace
        self.root = workspace.tiers(config.tiers.path)
        self._taken: dict[Path, bool] = {}

    def place(self, family: Family, layer: str, *, with_summary: bool = False) -> tuple[Family, Moves]:
        """The family as it lies in a layer, numbered where its name is taken, and the moves for that."""
        if not with_summary and all(
            piece.place == place_of(layer, family.stem, summary=piece.is_summary) for piece in family.pieces
        ):
            return family, ()
        for folder in (self.root / name for name in ({GIST, WARM} if layer == GIST else {layer})):
            if _is_link(storage_of(self.workspace), self.workspace.relative(folder)):  # it may lead to another layer
                raise BadInput(
                    f"{folder} is a link, not a real layer folder; replace it with a real folder.",
                    f"{folder} 是链接，不是该层真正的文件夹；请换成真正的文件夹。",
                )
        paths = {piece.path for piece in family.pieces}
        kinds = {piece.is_summary for piece in family.pieces} | ({True} if with_summary else set())
        for number in count(1):
            stem = family.stem if number == 1 else f"{family.stem}-{number}"
            wanted = [self.root / place_of(layer, stem, summary=summary) for summary in kinds]
            if not any(self._is_taken(path) for path in wanted if path not in paths):
                break
        moved: dict[bool, Checkpoint] = {}
        moves: list[tuple[Checkpoint, Path]] = []
        for piece in family.pieces:
            place = place_of(layer, stem, summary=piece.is_summary)
            folder_name, _, name = place.partition("/")
            to = moved[piece.is_summary] = piece._replace(layer=folder_name, name=name, path=self.root / place)
            if piece.path != to.path:
                moves.append((piece, to.path))
        self.clear(family)
        self._taken |= dict.fromkeys(wanted, True)
        return Family(stem, moved.get(False), moved.get(True)), tuple(moves)

    def clear(self, family: Family) -> None:
        self._taken |= dict.fromkeys((piece.path for piece in family.pieces), False)

    def _is_taken(self, place: Path) -> bool:
        if place not in self._taken:
            self._taken[place] = storage_of(self.workspace).about(self.workspace.relative(place)) is not None
        return self._taken[place]


def checkpoint_bytes(workspace: Workspace, piece: Checkpoint) -> bytes:
    storage, name = storage_of(workspace), workspace.relative(piece.path)
    data, stored = storage.read(name), storage.about(name)
    if data is None or stored is None or (len(data), stored.modified) != (piece.size, piece.modified):
        raise changed_outside(name)
    return data


def write_checkpoint(context: Context, name: str, text: str) -> tuple[Path, bool]:
    """Write a checkpoint to hot, or bring back and renew the one of that name; its path, and whether it changed."""
    workspace, config = context.workspace, context.config
    path = workspace.tiers(config.tiers.path) / HOT / name
    data = (guarded(text, REDACT).rstrip("\n") + "\n").encode()
    with operation(context, "checkpoint") as op, layers_lock(workspace, config):
        named = [family for family in families(checkpoints_named(workspace, config, name)) if family.original]
        sunk = named[0] if named and all(family.layer != HOT for family in named) else None
        if sunk and sunk.original:
            if sunk.layer != FORGOTTEN and checkpoint_bytes(workspace, sunk.original) == data:
                return sunk.original.path, False
            bring_back(op, sunk, HOT)
        before = read(workspace, path)
        if before == data:
            return path, bool(sunk)
        rewrite(op, path, data, read=disk.hash_of(before))
    return path, True


def write_text_checkpoint(context: Context, name: str, text: str) -> tuple[Path, bool]:
    """Write a text as a checkpoint of its own: nothing else goes by its name, and the same text is not kept twice."""
    workspace, config = context.workspace, context.config
    data = (guarded(text, REDACT).rstrip("\n") + "\n").encode()
    with operation(context, "checkpoint") as op, layers_lock(workspace, config):
        for checkpoint in list_checkpoints(workspace, config):
            same_size = checkpoint.size == len(data) and checkpoint.layer != FORGOTTEN
            if same_size and read(workspace, checkpoint.path) == data:
                return checkpoint.path, False
        stem = name.removesuffix(".md")
        names = (f"{stem}{'' if number == 1 else f'-{number}'}.md" for number in count(1))
        free = next(name for name in names if not checkpoints_named(workspace, config, name))
        path = workspace.tiers(config.tiers.path) / HOT / free
        rewrite(op, path, data, read=None)
    return path, True


def bring_back(op: Operation, family: Family, layer: str, **marks: Any) -> Moves:
    """Move a family that has sunk, its counts with it, which get these marks; the moves that were made."""
    after, moves = LayerPlaces(op.workspace, op.config).place(family, layer)
    for piece, to in moves:
        move_file(op, piece.path, to, read=disk.digest(checkpoint_bytes(op.workspace, piece)))
    with contextlib.suppress(NacreError):  # organise says what is wrong with them, and finds the entry by its name
        counts = refcount.read_counts(op.workspace, op.config)
        keys = [piece.place for piece in family.pieces if isinstance(counts.entries.get(piece.place), dict)]
        if keys or marks:
            entry = refcount.merged_count([counts.entries[key] for key in keys]) | marks
            entry.pop(refcount.FORGOTTEN, None)
            refcount.write_counts(op, counts, refcount.with_counts(counts.entries, keys, {after.lead.place: entry}))
    return moves
