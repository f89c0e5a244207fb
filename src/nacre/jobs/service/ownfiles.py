"""Files of ours in folders that others use too: written and removed only while they are what we wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nacre.jobs.service.common import FileStep, changed
from nacre.vault import atomic

Recognise = Callable[[bytes], bool]  # whether bytes look as we would have written them; asked where the record was lost


def steps(
    folder: Path, wanted: Mapping[str, bytes], possible: Sequence[str], entry: Mapping[str, Any], recognise: Recognise
) -> list[FileStep]:
    """What brings the folder from what we wrote earlier to what is wanted; `ChangedOutside` where somebody edited a file."""
    made = []
    for name in dict.fromkeys((*wanted, *possible)):
        before, after = atomic.read_bytes(folder / name), wanted.get(name)
        if before == after:
            continue
        if before is not None and not _is_ours(before, name, entry, recognise):
            raise changed(folder / name)
        made.append(FileStep(folder / name, before, after))
    return made


def removals(
    folder: Path, possible: Sequence[str], entry: Mapping[str, Any], recognise: Recognise
) -> tuple[list[FileStep], list[str]]:
    """The files of ours that are there, and a sentence for each that somebody edited, which stays."""
    made, left = [], []
    for name in possible:
        before = atomic.read_bytes(folder / name)
        if before is None:
            continue
        if _is_ours(before, name, entry, recognise):
            made.append(FileStep(folder / name, before, None))
        else:
            left.append(str(changed(folder / name)))
    return made, left


def noted(wanted: Mapping[str, bytes]) -> dict[str, Any]:
    """What the record says of the files: their names and hashes."""
    return {"files": {name: [atomic.digest(data)] for name, data in wanted.items()}}


def under_way(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What the record says while files are being written: each may be what it was, or what it is to be."""
    before, after = _hashes(old), _hashes(new)
    if not before and not after:
        return dict(new)
    return {**new, "files": {name: [*before.get(name, ()), *after.get(name, ())] for name in {**before, **after}}}


def _is_ours(data: bytes, name: str, entry: Mapping[str, Any], recognise: Recognise) -> bool:
    known = _hashes(entry)
    return atomic.digest(data) in known[name] if name in known else recognise(data)


def _hashes(entry: Mapping[str, Any]) -> dict[str, list[str]]:
    found = entry.get("files")
    found = found if isinstance(found, dict) else {}
    return {
        name: [one for one in some if isinstance(one, str)] for name, some in found.items() if isinstance(some, list)
    }
