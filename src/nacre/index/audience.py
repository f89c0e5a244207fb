"""Who may hear a passage: the owner alone, the group in whose section of a log it stands, or everybody."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right

from nacre.text.blocks import HEADING, blocks
from nacre.text.stamps import stamp_of
from nacre.vault.packed import PACKED
from nacre.vault.workspace import DAY_NAME

PUBLIC = "*"
_LOGS = ("daily", "archive")  # where sections are stamped with the group they belong to
_OWNERS = frozenset({"MEMORY.MD", "USER.MD", "SESSION-STATE.MD", "IDENTITY.MD", "SOUL.MD", "AGENTS.MD", "TOOLS.MD"})


def is_itself(path: str, full: str) -> bool:
    """Whether a file lies where its path says. Through a link in a folder of logs or notes a private file would look like one
    of these, and what it says of itself would be believed."""
    real = os.path.realpath(full)
    if os.path.isabs(path):  # of the user's library, wherever that lies
        return os.path.basename(real) == os.path.basename(full)
    return full.endswith(path) and real == os.path.join(os.path.realpath(full[: -len(path)]), path)


def digest(data: bytes, *, private: bool = False) -> bytes:
    """By what the index knows whether a file changed: its bytes, and whether it may be shown to others at all."""
    return hashlib.blake2b(data, digest_size=16, key=b"private" if private else b"").digest()


def own_headings(path: str, layer: str, headings: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """The group that a section is stamped for, and the headings from its stamp inwards: what stands above is not the group's.

    Only the log of a day has such sections. A note that is named for a day may be a whole talk, in which anything can be said.
    The innermost stamp decides: a private section stays private whatever it was put below.
    """
    if layer in _LOGS and _is_log(path):
        for at in range(len(headings) - 1, -1, -1):
            if (stamp := stamp_of(headings[at])).time:
                return stamp.group, headings[at:] if stamp.group else headings
    return None, headings


def swallowed(lines: list[str]) -> list[tuple[int, int]]:
    """Where the heading of a section stands in a fence or comment that somebody left open: what follows was written for whoever
    that section is for. Up to the next real heading nothing of it is a group's. The spans do not overlap and are in order."""
    real = sorted(block.start for block in blocks(lines, strict=True) if block.kind == HEADING)
    known = set(real)
    found: list[tuple[int, int]] = []
    for number, line in enumerate(lines, 1):
        inside = found and number <= found[-1][1]
        if not inside and line.startswith("#") and number not in known and stamp_of(line.lstrip("#").strip()).time:
            after = bisect_right(real, number)
            found.append((number, (real[after] if after < len(real) else len(lines) + 1) - 1))
    return found


def may_be_public(path: str, layer: str) -> bool:
    """Whether a file can be opened to everybody by `public: true`: one that a person wrote as a note. Long-term memory,
    logs, digests and checkpoints hold what was said in private, and more of it is added to them."""
    name = path.rpartition("/")[2]
    return layer in ("note", "extra", "daily") and not _is_log(path) and name.upper() not in _OWNERS


def _is_log(path: str) -> bool:
    day = DAY_NAME.fullmatch(path.rpartition("/")[2].removesuffix(PACKED))
    return day is not None and not day[2]
