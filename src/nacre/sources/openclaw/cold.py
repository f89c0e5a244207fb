"""Sessions that OpenClaw put aside: after a month of rest, where its user wants it so, their events leave the database.

Each goes into `sessions/cold/<sha256 of the file>.jsonl.zst`: a line that names the session and its generation, then one
for each event with its number, then lines of no interest here. The small tables of the database keep what else is known.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nacre.sources.openclaw.payload import zstandard
from nacre.sources.reading import LONGEST, as_text, parse_json

_NAME = re.compile(r"(?P<digest>[0-9a-f]{64})\.jsonl\.zst")
_FIRST = 4096  # bytes; the first line is short
_MOST = 67_108_864  # bytes that OpenClaw puts into one file, unpacked


class Cold(NamedTuple):
    """A file in cold storage, by its first line."""

    path: Path
    session: str
    generation: str
    size: int
    changed_ns: int


def stored(database: Path) -> dict[str, Cold]:
    """The sessions in cold storage beside a database; of two files of one session, the newer."""
    found: dict[str, Cold] = {}
    folder = database.parent.parent / "sessions" / "cold"
    for path in sorted(folder.glob("*.jsonl.zst")):
        one = _look(path) if _NAME.fullmatch(path.name) else None
        if one and (one.session not in found or found[one.session].changed_ns < one.changed_ns):
            found[one.session] = one
    return found


def database_of(path: Path) -> Path:
    """The database that a file in cold storage belongs to."""
    return path.parent.parent.parent / "agent" / "openclaw-agent.sqlite"


def rows(path: Path, begin: int) -> Iterator[dict[str, Any]]:
    """The events of a file from a number on, as rows of the database. A file that is not what its name says is damaged."""
    name = _NAME.fullmatch(path.name)
    with path.open("rb") as file:
        if name is None or hashlib.file_digest(file, "sha256").hexdigest() != name["digest"]:
            raise OSError(f"{path} was damaged in cold storage")
    for line in _lines(path):
        told = parse_json(line)
        row = told.get("row") if told and told.get("kind") == "event" else None
        if isinstance(row, dict) and isinstance(seq := row.get("seq"), int) and seq >= begin:
            yield row


def _look(path: Path) -> Cold | None:
    try:
        about = path.stat()
        line = next(_lines(path, _FIRST), b"")
    except OSError:
        return None  # vanished meanwhile, or not what its name says
    told = parse_json(line) or {}
    session = as_text(told.get("sessionId"))
    if told.get("kind") != "header" or told.get("version") != 1 or not session:
        return None
    return Cold(path, session, as_text(told.get("generation")), about.st_size, about.st_mtime_ns)


def _lines(path: Path, longest: int = LONGEST) -> Iterator[bytes]:
    try:
        zstd = zstandard()
    except ImportError as error:
        raise OSError(f"{path} cannot be unpacked here: install backports.zstd") from error
    read = 0
    try:
        with zstd.open(path, "rb") as file:
            while read < _MOST and (line := file.readline(longest)):
                read += len(line)
                yield line
    except (zstd.ZstdError, EOFError) as error:
        raise OSError(f"{path} is no zstd file") from error
