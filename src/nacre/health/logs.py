"""The logs and digests by their days: which days there are, and whether a line or a session still stands in one."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterator
from pathlib import Path

from nacre.clock import monday
from nacre.errors import NacreError
from nacre.health.desk import Desk
from nacre.text.stamps import real_day
from nacre.tidy import days
from nacre.vault import atomic, weekly
from nacre.vault.trail import mark_of

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})\.md")
_ITEM = re.compile(r"^[-*+] .*$", re.MULTILINE)


class Logs:
    """Every day that left something behind; its text is read when first asked for."""

    def __init__(self, desk: Desk) -> None:
        self._paths: dict[str, list[Path]] = {}
        for one in desk.days:
            self._paths.setdefault(one.date.isoformat(), []).append(one.path)
        self.days = frozenset(_named(desk)) | self._paths.keys()
        self._digests = weekly.files(desk.workspace)
        self._read: dict[str, tuple[str, str]] = {}

    def has_session(self, day: str, session: str) -> bool:
        return day not in self._paths or f"session:{session}" in self._texts(day)[0]

    def says(self, day: str, mark: str) -> bool:
        """Whether a line of this mark stands in the log or the digest of a day. A log that is compressed, or cannot be read, is
        believed."""
        log, digest = self._texts(day)
        if mark in _quickly(log) or mark in {mark_of(line) for line in digest.split("\n")}:
            return True
        if any(one.mark == mark for one in days.said(day, log.encode("utf-8", "replace"))):
            return True
        return day in self.days and day not in self._paths

    def _texts(self, day: str) -> tuple[str, str]:
        if day not in self._read:
            digest = self._digests.get(monday(dt.date.fromisoformat(day))) if real_day(day) else None
            log = "\n".join(map(_text, self._paths.get(day, ())))
            self._read[day] = log, _text(digest) if digest else ""
        return self._read[day]


def _quickly(log: str) -> set[str]:
    """The marks of the lines that are a statement by themselves, as nearly all are: no need to parse for these."""
    return {mark_of(line) for line in _ITEM.findall(log)}


def _text(path: Path) -> str:
    try:
        return (atomic.read_bytes(path) or b"").decode("utf-8", "replace")
    except NacreError:
        return ""  # doctor names it


def _named(desk: Desk) -> Iterator[str]:
    """The days that a file is named for, whatever it is: a compressed log is a log too."""
    for folder in (desk.workspace.memory, *_folders(desk.workspace.archive)):
        for name in _names(folder):
            if found := _DAY.match(name):
                yield found[1]


def _folders(archive: Path) -> list[Path]:
    return [archive / name for name in _names(archive)]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
