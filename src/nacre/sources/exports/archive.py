"""An export as it came: a zip, the folder it was unpacked into, or its one file; its conversations, one after the other."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from nacre.sources.reading import LONGEST, parse_json

_NAME = re.compile(r"conversations(?:-\d+)?\.json")
_BLOCK = 1 << 18
_OUTSIDE = re.compile(rb'["{}\[\]]')  # what matters between strings
_STRING_END = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def conversations_in(path: Path) -> Iterator[dict[str, Any]]:
    """Every object that an export lists, whatever it is. What cannot be understood is passed over."""
    for file in _files(path):
        with file:
            try:
                yield from _listed(file)
            except (zipfile.BadZipFile, zlib.error, EOFError):
                continue  # the zip is damaged from here on


def _files(path: Path) -> Iterator[IO[bytes]]:
    if path.is_dir():
        for part in sorted(path.glob("conversations*.json")):
            if _NAME.fullmatch(part.name):
                yield part.open("rb")
        return
    if not zipfile.is_zipfile(path):
        yield path.open("rb")
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if _NAME.fullmatch(PurePosixPath(name).name):
                    yield archive.open(name)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, KeyError):
        return  # damaged, packed in a way this Python does not know, or encrypted


def _listed(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The objects of a JSON array, one in memory at a time; for a single object, those it lists itself, or it alone."""
    first = file.read(_BLOCK).lstrip(b"\xef\xbb\xbf \t\r\n")
    if first.startswith(b"["):
        for raw in _objects(file, first[1:]):
            if told := parse_json(raw):
                yield told
    elif first.startswith(b"{"):
        told = parse_json(first + file.read(LONGEST)) or {}
        inside = told.get("conversations")
        yield from (one for one in (inside if isinstance(inside, list) else [told]) if isinstance(one, dict))


def _objects(file: IO[bytes], block: bytes) -> Iterator[bytes]:
    """The text of each object in an array. The standard library parses whole documents only, and exports are large.

    An object longer than any conversation is passed over without being kept.
    """
    kept: list[bytes] = []
    size = depth = 0
    in_string = False
    while block:
        place = begin = 0  # where the part of the object in this block begins
        while place < len(block):
            if in_string:
                end = _STRING_END.match(block, place)
                if end is None:
                    break
                in_string, place = False, end.end()
                continue
            found = _OUTSIDE.search(block, place)
            if found is None:
                break
            sign, place = found[0], found.end()
            if sign == b'"':
                in_string = True
            elif sign in (b"{", b"["):
                begin = found.start() if depth == 0 else begin
                depth += 1
            elif depth == 0:
                return  # the end of the array
            else:
                depth -= 1
                if depth == 0:
                    if size + place - begin <= LONGEST:
                        yield b"".join((*kept, block[begin:place]))
                    kept, size, begin = [], 0, place
        rest = b""
        if in_string and (len(block) - len(block.rstrip(b"\\"))) % 2:
            rest, block = block[-1:], block[:-1]  # what it makes of the next sign, only the next block tells
        if depth:
            part = block[begin:]
            size += len(part)
            if size <= LONGEST:
                kept.append(part)
            else:
                kept = []
        more = file.read(_BLOCK)
        block = rest + more if more else b""
