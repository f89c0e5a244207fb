"""What the tests of the readers share: writing a transcript, and reading it at once or while it grows."""

from __future__ import annotations

import datetime as dt
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from nacre.model import Message
from nacre.sources.transcript import Mark, Reading, Transcript, list_files

Read = Callable[[Transcript, Mark | None, dt.datetime | None], Reading]
NOON = dt.datetime(2026, 3, 2, 12, 0, tzinfo=dt.UTC)


def stamp(seconds: float) -> str:
    return (NOON + dt.timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def line(entry: object) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def lines(*entries: object) -> bytes:
    return b"".join(line(entry) for entry in entries)


def transcript(path: Path) -> Transcript:
    return next(list_files("test", iter([path])))


def read(reader: Read, path: Path, mark: Mark | None = None, until: dt.datetime | None = None) -> Reading:
    return reader(transcript(path), mark, until)


def said(reading: Reading) -> list[tuple[str, str]]:
    assert reading.session is not None
    return [(message.speaker.value, message.text) for message in reading.session.messages]


def as_kept(mark: Mark) -> Mark:
    """A mark as it comes back from the file where it was kept."""
    return Mark(mark.offset, mark.fingerprint, json.loads(json.dumps(dict(mark.facts))))


def in_steps(reader: Read, name: str, pieces: Sequence[bytes]) -> list[Message]:
    """All that was said, read after each piece was appended. A rewritten transcript begins anew."""
    messages: list[Message] = []
    mark: Mark | None = None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        for piece in pieces:
            with path.open("ab") as file:
                file.write(piece)
            os.utime(path, (NOON.timestamp(), NOON.timestamp()))
            reading = read(reader, path, mark)
            mark = as_kept(reading.mark)
            assert reading.session is not None
            messages = [] if reading.rewritten else messages
            messages += reading.session.messages
    return messages


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    """Data in pieces, cut at some of its bytes."""
    at = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[begin:end] for begin, end in pairwise(at)]


def write(path: Path, data: bytes | dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data, ensure_ascii=False).encode())
    return path
