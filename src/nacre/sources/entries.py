"""Transcripts that are lists, not files that grow: how many of their entries were read, and whether those still stand."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from nacre.sources.transcript import Mark


def digest(ids: Sequence[str]) -> str:
    """A short digest of the entries that were read, by their ids; empty for none."""
    if not ids:
        return ""
    return hashlib.blake2b("\0".join(ids).encode("utf-8", errors="replace"), digest_size=8).hexdigest()


def read_before(ids: Sequence[str], mark: Mark | None) -> tuple[int, bool]:
    """How many of the entries an earlier reading gave out, and whether they were rewritten since (then: none)."""
    if mark is None or mark.offset == 0:
        return 0, False
    if mark.offset <= len(ids) and digest(ids[: mark.offset]) == mark.fingerprint:
        return mark.offset, False
    return 0, True
