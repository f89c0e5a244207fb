"""Our instructions in an agent's HEARTBEAT.md, between markers; written only when the user asks for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.errors import BadInput
from nacre.i18n import say
from nacre.jobs.installer import Machine, Planned, Setup, Shown, file_diff
from nacre.jobs.openclaw import BEGIN, END, heartbeat_block, shell_line
from nacre.jobs.schedule import HEARTBEAT
from nacre.vault import disk
from nacre.vault.history import operation
from nacre.vault.writing import remove_file as take_away
from nacre.vault.writing import rewrite


def file_of(setup: Setup) -> Path:
    return setup.workspace.root / "HEARTBEAT.md"


def install(setup: Setup, entry: Mapping[str, Any], *, complete: bool) -> Planned:
    """HEARTBEAT.md with our block up to date."""
    data = disk.read_bytes(file_of(setup))
    text = _text(setup, data or b"")
    newline = "\r\n" if "\r\n" in text else "\n"
    wanted = heartbeat_block(shell_line(setup, HEARTBEAT), setup.language).replace("\n", newline)
    found = _span(text)
    if found:
        lead = _lead(entry)
        after = text[: found[0]] + wanted + text[found[1] :]
    else:
        lead = newline * _missing(text, newline)
        after = text + lead + wanted
    noted = {"lead": lead, "made": entry.get("made") is True or data is None}
    if after == text:
        return Planned((), noted, ready=complete)
    told = say(
        "OpenClaw now takes a turn of the agent at every heartbeat, which costs tokens.",
        "OpenClaw 现在每次心跳都会让代理运行一轮，这会消耗 token。",
    )
    return Planned((HeartbeatStep(setup, data, after.encode()),), noted, (told,))


def remove(setup: Setup, entry: Mapping[str, Any]) -> Planned:
    """HEARTBEAT.md without our block, as it was before."""
    data = disk.read_bytes(file_of(setup))
    text = _text(setup, data or b"")
    found = _span(text)
    if data is None or not found:
        return Planned((), ready=True)
    head, rest = text[: found[0]], text[found[1] :]
    lead = _lead(entry)
    if lead and head.endswith(lead):
        # Where something was written below our block, a last line without an end keeps the one that it was given.
        head = head.removesuffix(lead) + (lead[: len(lead) // 2] if rest and len(lead.replace("\r", "")) > 1 else "")
    after = (head + rest).encode()
    return Planned((HeartbeatStep(setup, data, None if not after and entry.get("made") is True else after),))


@dataclass(frozen=True)
class HeartbeatStep:
    """The change of the file as an operation of the vault, so that it can be undone like any other."""

    setup: Setup
    before: bytes | None
    after: bytes | None

    def shown(self) -> Shown:
        return Shown("HEARTBEAT.md", file_diff("HEARTBEAT.md", self.before, self.after))

    def do(self, _machine: Machine) -> None:
        self._put(self.before, self.after)

    def back(self, _machine: Machine) -> None:
        if disk.read_bytes(file_of(self.setup)) == self.after:
            self._put(self.after, self.before)

    def _put(self, before: bytes | None, after: bytes | None) -> None:
        setup = self.setup
        with operation(setup.workspace, setup.clock, "jobs", setup.config) as op:
            if after is None:
                take_away(op, file_of(setup), read=disk.digest(before or b""))
            else:
                rewrite(op, file_of(setup), after, read=None if before is None else disk.digest(before))


def _text(setup: Setup, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as trouble:
        raise BadInput(
            say(
                f"{file_of(setup)} is not UTF-8 text, so it was left alone. Save it as UTF-8, or leave --heartbeat out.",
                f"{file_of(setup)} 不是 UTF-8 文本，因此未作改动。请另存为 UTF-8，或不使用 --heartbeat。",
            )
        ) from trouble


def _missing(text: str, newline: str) -> int:
    """How many line ends it takes until a blank line stands at the end of the text."""
    if not text:
        return 0
    if not text.endswith(newline):
        return 2
    return 0 if text.endswith(newline * 2) else 1


def _lead(entry: Mapping[str, Any]) -> str:
    lead = entry.get("lead")
    return lead if isinstance(lead, str) and not lead.strip("\r\n") else ""


def _span(text: str) -> tuple[int, int] | None:
    """From marker to marker, each on a line of its own; one that the user quotes, or without its other half, is the user's."""
    found = re.search(rf"^{BEGIN}\r?\n(?:(?!{BEGIN})[^\n]*\n)*?{END}(?:\r?\n|\Z)", text, re.MULTILINE)
    return found.span() if found else None
