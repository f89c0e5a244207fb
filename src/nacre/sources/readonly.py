"""Databases of programs that run meanwhile: looked into, never written, never waited for."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE = 0.25  # seconds; who holds the database longer than that is asked again the next time


@contextmanager
def looking_into(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that can only read. Not `immutable`: that would miss what the program has not yet moved into the file."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)
    connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
    try:
        yield connection
    finally:
        connection.close()


def written(path: Path) -> float:
    """When a database was last written to, in seconds since 1970, its log included; 0 when there is none."""
    moments = [0.0]
    for place in (path, path.with_name(f"{path.name}-wal")):
        try:
            moments.append(place.stat().st_mtime)
        except OSError:
            continue  # no log, or no database at all
    return max(moments)
