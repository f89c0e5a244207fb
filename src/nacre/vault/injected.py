"""The context packs that sessions were given: the last packs with their parts, the words of the newest, and why a prompt was given nothing."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from nacre.errors import NacreError
from nacre.model.workspace import Workspace
from nacre.vault import disk, spool
from nacre.vault.entries import line_digest

KEPT = 20  # packs


class Log(NamedTuple):
    """The packs, newest last, the words of the newest, none where these were taken out, and the last prompt that was given nothing."""

    packs: tuple[Mapping[str, Any], ...] = ()
    text: str = ""
    silence: Mapping[str, Any] | None = None


def read_injected(workspace: Workspace) -> Log:
    """The log as far as it can be understood: it is a convenience, and never a reason to stop."""
    stored = spool.read_json(str(workspace.given))
    packs, text, silence = stored.get("packs"), stored.get("text"), stored.get("silence")
    if not isinstance(packs, list):
        return Log()
    packs = [pack for pack in packs if isinstance(pack, dict) and isinstance(pack.get("scope"), str)]
    return Log(tuple(packs), str(text or ""), silence if isinstance(silence, dict) else None)


def _session_file(workspace: Workspace, session: str) -> tuple[str, str]:
    """The folder and the name of the file in which a session's hooks note, by digests, which lines they gave it."""
    name = hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return str(workspace.machine / "hooks"), f"{name}.json"


MOST_LINES = 2000  # digests of a session; the oldest are forgotten first
MOST_SESSIONS = 200
OLDEST = 14 * 86_400.0  # seconds, after which a session that comes back is told everything anew


class Delivered(NamedTuple):
    """When a session was last given its context, and digests of the lines that it knows."""

    at: float = 0.0
    lines: tuple[str, ...] = ()

    def knows(self, lines: Iterable[str]) -> list[bool]:
        digests = set(self.lines)
        return [line_digest(line) in digests for line in lines]

    def with_lines(self, text: str, at: float | None = None) -> Delivered:
        """This and the lines of a text."""
        digests = filter(None, map(line_digest, text.splitlines()))
        return Delivered(self.at if at is None else at, tuple(dict.fromkeys((*self.lines, *digests)))[-MOST_LINES:])


def load_delivered(workspace: Workspace, session: str) -> Delivered:
    """What a session was given; nothing where that is not known."""
    row = spool.read_json(os.path.join(*_session_file(workspace, session))) if session else {}
    at, lines = row.get("at"), row.get("lines")
    if not isinstance(at, int | float) or not isinstance(lines, list):
        return Delivered()
    return Delivered(float(at), tuple(line for line in lines if isinstance(line, str))[-MOST_LINES:])


def save_delivered(workspace: Workspace, session: str, delivered: Delivered, now: float) -> None:
    """Keep it; files of long ago go. Where nothing can be written it is told again: giving counts."""
    if not session:
        return
    folder, name = _session_file(workspace, session)
    with contextlib.suppress(OSError):
        new = not os.path.exists(os.path.join(folder, name))
        spool.put_json(folder, name, {"at": delivered.at, "lines": delivered.lines})
        if new or delivered.at == now:  # once a session, not with every prompt
            spool.sweep(folder, older_than=OLDEST, most=MOST_SESSIONS, now=now)


def lines_given_to(workspace: Workspace, session: str, texts: Callable[[], Iterable[str]]) -> list[str]:
    """Those lines of some texts that a session was given by its hooks."""
    known = set(load_delivered(workspace, session).lines)
    return [line for text in texts() for line in text.splitlines() if line_digest(line) in known] if known else []


def last_pack(workspace: Workspace, scope: str) -> tuple[Mapping[str, Any], str] | None:
    """The newest pack, with its words. A group is told of its own alone, and of those words only that it was given."""
    packs, text, _ = read_injected(workspace)
    own = [pack for pack in packs if scope in ("main", pack["scope"])]
    return (own[-1], text if own[-1] is packs[-1] else "") if own else None


def write_pack(workspace: Workspace, pack: Mapping[str, Any], text: str) -> None:
    """Add a pack to the log. A workspace that cannot be written to keeps none: giving is what counts."""
    log = read_injected(workspace)
    _write_log(workspace, log._replace(packs=(*log.packs, dict(pack))[-KEPT:], text=text))


def write_silence(workspace: Workspace, prompt: Mapping[str, Any]) -> None:
    _write_log(workspace, read_injected(workspace)._replace(silence=dict(prompt)))


def _write_log(workspace: Workspace, log: Log) -> None:
    with contextlib.suppress(NacreError, OSError):  # nor does anybody wait for the disk: an agent waits for us
        spool.put(str(workspace.machine), workspace.given.name, _log_bytes(log))


def redact_injected(workspace: Workspace, held: Callable[[str], bool]) -> None:
    """Take out the words of the newest pack where they hold what is to be gone, and the words that prompts shared with memories."""
    log = read_injected(workspace)
    packs: list[Mapping[str, Any]] = []
    for pack in log.packs:
        listed = pack.get("hits")
        hits = [hit for hit in listed if isinstance(hit, dict)] if isinstance(listed, list) else []
        bare = [{name: value for name, value in hit.items() if name != "terms"} for hit in hits]
        packs.append({**pack, "hits": bare} if isinstance(listed, list) else pack)
    redacted = log._replace(packs=tuple(packs), text="" if held(log.text) else log.text)
    if redacted != log:
        disk.write(workspace.given, _log_bytes(redacted), root=workspace.root)
    # What sessions know goes too, by whose digests a line could still be recognised.
    spool.sweep(str(workspace.machine / "hooks"), older_than=0, most=0, now=math.inf)


def _log_bytes(log: Log) -> bytes:
    stored = {"packs": log.packs, "text": log.text} | ({"silence": log.silence} if log.silence else {})
    return json.dumps(stored, ensure_ascii=False).encode("utf-8", "replace")
