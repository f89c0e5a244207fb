"""OpenClaw to mid-2026: one JSONL file for each session below ~/.openclaw/agents (OPENCLAW_STATE_DIR moves it)."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from nacre.model.session import Session
from nacre.sources.openclaw.events import AGENT, Taker, kind_of_key, owner_ids, session_of, tool_output
from nacre.sources.reading import Mark, Notes, Places, Reading, Source, Transcript, follow, list_files
from nacre.sources.registry import sign_of

_COPIES = (".trajectory.", ".checkpoint.", ".reset.", ".deleted.", ".bak", ".lock")


def find(places: Places) -> Iterator[Transcript]:
    """The sessions of every agent. Copies that OpenClaw itself puts aside are no sessions of their own."""
    root = places.root(AGENT, "OPENCLAW_STATE_DIR", ".openclaw") / "agents"
    for folder in sorted(root.glob("*/sessions")):
        keys = _session_keys(folder / "sessions.json")
        owners = owner_ids(keys.values())
        files = (path for path in sorted(folder.glob("*.jsonl")) if not any(sign in path.name for sign in _COPIES))
        for transcript in list_files(AGENT, files):
            key = keys.get(_session_id(transcript.path))
            facts = {"owners": owners} | ({"kind": kind_of_key(key), "chat": sign_of(key)} if key else {})
            yield replace(transcript, facts=facts)


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    """What was said after the mark and not after the moment."""

    def session(notes: Notes) -> Session:
        return session_of(notes, transcript.path.stem, transcript.facts)

    return follow(transcript.path, mark, until, Taker(transcript.facts), session, uninteresting=tool_output)


def _session_id(path: Path) -> str:
    return path.stem.partition("-topic-")[0]


def _session_keys(path: Path) -> dict[str, str]:
    """The key of each session that the index of sessions names: the newest of each key only."""
    if not path.is_file():
        return {}
    try:
        told: Any = json.loads(path.read_bytes().decode("utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError):
        return {}  # a session says itself what it is, only less surely
    if not isinstance(told, dict):
        return {}
    return {
        str(about["sessionId"]): key
        for key, about in told.items()
        if isinstance(about, dict) and about.get("sessionId")
    }


SOURCE = Source(AGENT, find, read)
