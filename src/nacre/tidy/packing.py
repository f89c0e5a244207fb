"""A log that goes into the archive compressed: never before long-term memory has seen all that it says."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from nacre.tidy import archive
from nacre.tidy.days import Day, Log
from nacre.tidy.offered import STORY, Seen
from nacre.tidy.room import Room
from nacre.vault import atomic
from nacre.vault.operation import Operation
from nacre.vault.packed import PACKED, pack, unpack
from nacre.vault.rewrite import changed, expect, put, remove


@dataclass(frozen=True)
class Packing:
    """A log on its way into a compressed file, which must still be what was read; `data` is none where it holds the log already."""

    log: Log
    to: Path
    read: str | None
    data: bytes | None


def is_decided(log: Log, known: Seen) -> bool:
    """Whether long-term memory has seen all that a log says: what waits for room must stay where tidying reads it."""
    return all((one.day, one.mark) in known or STORY.match(one.words) for one in log.said)


def plan(room: Room, log: Log) -> Packing:
    """The log compressed; behind what was compressed of its day before."""
    to = archive.place(room, log)
    to = to.with_name(to.name + PACKED)
    new = expect(room.workspace, log.day.path, log.hash) or b""
    if os.path.islink(to):
        raise changed(room.workspace.relative(to))
    there = atomic.read_bytes(to)
    if there is None:
        return Packing(log, to, None, pack(new))
    old = unpack(there, room.workspace.relative(to))
    onto = Log(Day(log.day.date, to, archived=True, size=len(old)), atomic.digest(there), len(old), ())
    whole = None if old == new else archive.joined(room, onto, old, new)
    return Packing(log, to, onto.hash, None if whole is None else pack(whole))


def apply(op: Operation, one: Packing) -> None:
    """First the compressed file, then the living log goes: killed between the two, the next run finds it there and ends the work."""
    op.place(one.to)
    before = expect(op.workspace, one.to, one.read)
    expect(op.workspace, one.log.day.path, one.log.hash)
    if one.data is not None:
        put(op, one.to, before, one.data)
    remove(op, one.log.day.path, read=one.log.hash)
