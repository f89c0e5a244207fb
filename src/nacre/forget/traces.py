"""Searches the bytes of files for words: plain, escaped in JSON, compressed by zlib or gzip, in databases."""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


LARGEST = 500_000_000  # bytes that are unpacked of one stream
PIECE, OVERLAP = 1 << 25, 1 << 16  # bytes of a large file that are looked at together, and that neighbours share
UNREADABLE, NAME = "unreadable", "name"
_FEW = 64  # words; up to so many it is faster to look for each
DISTINCTIVE = 16  # bytes; words shorter than that may stand anywhere, and count only as a line of their own
_WINDOW = 8  # bytes that are compared first, all words at once
_SIGNS = re.compile(r"\A[\s>*+#-]*(?:\[[^\]]{1,12}\]\s*)?|[\s.,;:!?。，；：！？…\"”]+\Z")
_MARKS = re.compile(r"\]\([^()\n]{0,1000}\)|[*_`~\[\]]")  # of Markdown, with where a link leads
_STREAM = re.compile(rb"\x78[\x01\x5e\x9c\xda]")  # how zlib begins


@dataclass(frozen=True)
class Trace:
    """A place where words still stand. `inside` says how they are packed there, where they are, or that it cannot be read."""

    path: Path
    words: str
    line: int | None = None
    inside: str = ""


class Words:
    """Words to look for, whatever their case, the space and the marks of Markdown between them."""

    def __init__(self, words: Iterable[str]) -> None:
        import numpy as np

        self._long: dict[bytes, list[tuple[bytes, str]]] = {}
        self._short: dict[bytes, str] = {}
        for one in dict.fromkeys(words):
            for form in _forms(one):
                if len(form) < DISTINCTIVE:
                    self._short[form] = one
                else:
                    self._long.setdefault(form[:_WINDOW], []).append((form, one))
        heads = [int.from_bytes(head, "little") for head in self._long]
        self._heads = np.array(sorted(heads), np.uint64)

    def __bool__(self) -> bool:
        return bool(self._long or self._short)

    def found(self, data: bytes) -> list[str]:
        """Which of the words stand in the bytes."""
        met = [self._short[form] for form in self._lines(data)] if self._short else []
        text = data.decode("utf-8", "replace")
        for squeezed in dict.fromkeys((_squeezed(text), _squeezed(unmarked(text)))):
            met += [one for form, one in self._short.items() if _is_phrase(form) and _stands(form, squeezed)]
            met += self._long_in(squeezed)
        return list(dict.fromkeys(met))

    def hold(self, text: str) -> bool:
        """Whether any of the words stand in a text: short ones only as a line of it."""
        data = text.encode("utf-8", "replace")
        forms = (_squeezed(text), _squeezed(unmarked(text)))
        return any(True for _ in self._lines(data)) or any(self._long_in(form) for form in forms)

    def _long_in(self, squeezed: bytes) -> list[str]:
        if len(self._long) <= _FEW:
            return [one for forms in self._long.values() for form, one in forms if form in squeezed]
        return [
            one
            for head, at in self._candidates(squeezed)
            for form, one in self._long[head]
            if squeezed.startswith(form, at)
        ]

    def _lines(self, data: bytes) -> Iterator[bytes]:
        """The short words that are a line of their own."""
        for line in data.split(b"\n"):
            bare = _SIGNS.sub("", line.decode("utf-8", "replace"))
            for form in {_squeezed(bare), _squeezed(_SIGNS.sub("", unmarked(bare)))}:
                if form in self._short:
                    yield form

    def _candidates(self, data: bytes) -> Iterator[tuple[bytes, int]]:
        """Places where the first bytes of some words stand. All windows are compared at once: there may be thousands of words."""
        import numpy as np

        if len(data) < DISTINCTIVE or not len(self._heads):
            return
        padded = np.frombuffer(data + bytes(_WINDOW), np.uint8)
        windows = _windows(padded[: len(data) + _WINDOW])
        at = np.searchsorted(self._heads, windows)
        at[at == len(self._heads)] = 0
        for place in np.flatnonzero(self._heads[at] == windows).tolist():
            yield data[place : place + _WINDOW], place


def _windows(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Every run of eight bytes as a number."""
    import numpy as np

    count = len(data) - _WINDOW
    found = np.zeros(count, np.uint64)
    for step in range(_WINDOW):
        found |= data[step : step + count].astype(np.uint64) << np.uint64(8 * step)
    return found


def _squeezed(text: str) -> bytes:
    """A text as it is compared: case folded, space of any length as one."""
    return " ".join(text.casefold().split()).encode("utf-8", "replace")


def unmarked(text: str) -> str:
    """A text without the marks of Markdown: emphasis, code, links."""
    return _MARKS.sub("", text)


def _is_phrase(form: bytes) -> bool:
    """Whether short words say enough to be looked for within a line: several words, a number, some Chinese."""
    text = form.decode("utf-8", "replace")
    letters = [sign for sign in text if sign.isalnum()]
    wide = sum(sign > "\u2e7f" for sign in letters)
    return wide >= 4 or sum(map(str.isdigit, letters)) >= 4 or (len(text.split()) >= 2 and len(letters) >= 6)


def _stands(form: bytes, data: bytes) -> bool:
    """Whether short words stand somewhere, not as a part of longer ones."""
    at = data.find(form)
    while at >= 0:
        end = at + len(form)
        if not (_joined(data[at - 1 : at], form[:1]) or _joined(form[-1:], data[end : end + 1])):
            return True
        at = data.find(form, at + 1)
    return False


def _joined(one: bytes, other: bytes) -> bool:
    return one.isalnum() and other.isalnum()


def _forms(words: str) -> set[bytes]:
    """The words as they may stand in a file: as they are, and as JSON writes them in two ways."""
    bare = _SIGNS.sub("", words)
    spelled = (
        form
        for one in (bare, _SIGNS.sub("", unmarked(bare)))
        for form in (one, json.dumps(one, ensure_ascii=False)[1:-1], json.dumps(one)[1:-1])
    )
    return {form for one in spelled if (form := _squeezed(one))}


def scan(roots: Iterable[Path], words: Words, *, skip: Iterable[Path] = ()) -> Iterator[Trace]:
    """Every place below the roots where the words stand, once for each file and word: in it, or in its name. Links are not
    followed, and the history of git is left out."""
    skipped = {os.path.realpath(path) for path in skip}
    seen: set[str] = set()
    for root in roots:
        for path in below(root, skipped):
            if (real := os.path.realpath(path)) not in seen:
                seen.add(real)
                yield from (Trace(path, one, inside=NAME) for one in words.found(path.name.encode("utf-8", "replace")))
                yield from in_file(path, words)


def below(root: Path, skipped: Iterable[str] = ()) -> Iterator[Path]:
    """Every ordinary file below a folder, or the file itself; in order."""
    if _is_file(root):
        yield root
    for place, folders, names in os.walk(root):
        folders[:] = sorted(
            name for name in folders if name != ".git" and os.path.realpath(os.path.join(place, name)) not in skipped
        )
        yield from (path for name in sorted(names) if _is_file(path := Path(place, name)))


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def in_file(path: Path, words: Words) -> list[Trace]:
    """The words that stand in one file."""
    found: dict[str, Trace] = {}
    try:
        for how, content, whole in _of_file(path):
            for one in words.found(content):
                found.setdefault(one, Trace(path, one, _line_of(content, one) if whole else None, how))
    except FileNotFoundError:
        return []
    except OSError:
        return [Trace(path, "", inside=UNREADABLE)]
    return list(found.values())


def _of_file(path: Path) -> Iterator[tuple[str, bytes, bool]]:
    """What a file holds, how it is packed, and whether it is the whole file as it stands there."""
    with path.open("rb") as file:
        head = file.read(PIECE)
        if len(head) < PIECE:
            yield from ((how, content, not how) for how, content in contents(head))
            return
        packed = _is_packed(head)
        while len(head) > OVERLAP:
            yield "", head, False
            head = head[-OVERLAP:] + file.read(PIECE)
        if packed:
            file.seek(0)
            yield from ((how, content, False) for how, content in contents(file.read()) if how)


def _line_of(data: bytes, words: str) -> int | None:
    """The line that the words stand on; none in a database, or where they go over several."""
    if b"\0" in data[:4096]:
        return None
    wanted = Words([words])
    return next((number for number, line in enumerate(data.split(b"\n"), 1) if wanted.found(line)), None)


def _is_packed(head: bytes) -> bool:
    return head.startswith(b"\x1f\x8b") or bool(_STREAM.match(head))


def contents(data: bytes) -> Iterator[tuple[str, bytes]]:
    """What a file holds: its bytes, and what is packed in them."""
    yield "", data
    if data.startswith(b"\x1f\x8b"):
        try:
            yield "gzip", gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return
    elif _STREAM.match(data):
        yield from (("zlib", unpacked) for unpacked in _unpacked(data))


def _unpacked(data: bytes) -> Iterator[bytes]:
    """The stream that begins there; nothing where none does."""
    try:
        unpacked = zlib.decompressobj().decompress(data, LARGEST)
    except zlib.error:
        return
    if unpacked:
        yield unpacked
