"""Reading other people's folders: Markdown files alone, no links that lead out, nothing too large; and making them safe."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from nacre.errors import BadInput, SecretRefused
from nacre.guard.sanitise import clean
from nacre.guard.secrets import redact
from nacre.vault.files import LARGEST
from nacre.vault.rewrite import guard_added
from nacre.words import say

MOST = 5000  # notes of one folder; more is a library, which is searched where it lies
_NOT_NOTES = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


class Content(NamedTuple):
    """What a file holds, and the time of that."""

    data: bytes
    modified: int


class Unreadable(NamedTuple):
    """Why a file is passed over. Trouble is worth another try; the others are as they should be."""

    reason: str
    trouble: bool = False


def markdown_below(folder: Path, *, leave_out: Callable[[Path], bool] = lambda _: False) -> list[Path]:
    """Every Markdown file below a folder, hidden ones and programs' own folders aside, in order."""
    found: list[Path] = []
    for path in _walk(folder, leave_out):
        found.append(path)
        if len(found) > MOST:
            raise BadInput(
                say(
                    f"{folder} holds more than {MOST} notes. Name the folder that you mean, or have it searched where it "
                    f"lies: nacre config set --user index.extra_paths '[\"{folder}\"]'",
                    f"{folder} 中的笔记超过 {MOST} 篇。请指定更具体的文件夹，或直接在原处搜索："
                    f"nacre config set --user index.extra_paths '[\"{folder}\"]'",
                )
            )
    return sorted(found)


def _walk(folder: Path, leave_out: Callable[[Path], bool]) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = [name for name in folders if _is_open(name) and not leave_out(here / name)]
        for name in names:
            if name.endswith(".md") and name[0] != ".":
                yield here / name


def _is_open(name: str) -> bool:
    return name[0] != "." and name not in _NOT_NOTES


def content_of(path: Path, root: Path | None = None) -> Content | Unreadable:
    """The bytes of an ordinary file that lies below the root, where one is given, also once links are followed."""
    named = str(path.relative_to(root)) if root is not None and root in path.parents else path.name
    if not named.isprintable():  # a byte that is no text is not printable either
        return Unreadable(say("its name is no readable text", "文件名不是可读文本"))
    if root is not None and os.path.realpath(root) not in (str(one) for one in Path(os.path.realpath(path)).parents):
        return Unreadable(say("a link that leads elsewhere", "指向别处的链接"))
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            return Unreadable(say("no ordinary file", "不是普通文件"))
        if about.st_size > LARGEST:
            return Unreadable(say(f"larger than {LARGEST // 1_000_000} MB", f"大于 {LARGEST // 1_000_000} MB"))
        return Content(path.read_bytes(), about.st_mtime_ns)
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        return Unreadable(say(f"cannot be read: {reason}", f"无法读取：{reason}"), trouble=True)


def safe(data: bytes) -> bytes:
    """The bytes as the vault will write them: secrets blacked out, nothing unseen; where there is neither, as they are.

    Writing them changes nothing more, so that what was imported is recognised the next time.
    """
    found = redact(clean(data.decode("utf-8", errors="replace")))
    if found.findings:
        data = found.text.encode()
    try:
        return guard_added(b"", data)
    except SecretRefused:  # one that shows only where the lines between are empty
        lines = [line for line in data.decode("utf-8", errors="replace").splitlines() if line.strip()]
        return guard_added(b"", redact(clean("\n".join(lines))).text.encode() + b"\n")


def shown_path(path: Path, home: Path) -> str:
    """A path for people, with the home folder as ~; signs that cannot be shown are spelled out."""
    shown = f"~/{path.relative_to(home).as_posix()}" if home in path.parents else str(path)
    if shown.isprintable():
        return shown
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in shown)


def with_number(name: str, number: int) -> str:
    """`x.md`, `x-2.md`, `x-3.md`; a summary stays one: `x-2.gist.md`."""
    if number == 1:
        return name
    end = ".gist.md" if name.endswith(".gist.md") else ".md"
    return f"{name.removesuffix(end)}-{number}{end}"
