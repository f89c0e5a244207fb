"""Trouble in a user's file or set-up as a value: shown as a row, never raised."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """What is wrong, where, and what to do about it."""

    kind: str
    message: str
    path: str = ""
    line: int | None = None
    remedy: str = ""
    severity: str = "warning"  # "error" when Nacre cannot do its work because of it
