"""By what a group is known in headings and to whoever listens there: its name, and a sign of the chat that nobody can choose."""

from __future__ import annotations

import hashlib
import re

from nacre.guard.secrets import redact
from nacre.vault.workspace import slug_of

GROUP = "group"
_AGENT = re.compile(r"\Aagent:[^:]*:")
_WITHIN = re.compile(r":(?:topic|thread):.*\Z", re.DOTALL)  # of one chat: the same people read it


def sign_of(key: str) -> str:
    """A few signs for the chat of a session's key: the same for every agent and topic in it, and not its id."""
    chat = _WITHIN.sub("", _AGENT.sub("", key))
    return hashlib.blake2b(chat.encode("utf-8", "replace"), digest_size=3).hexdigest() if chat else ""


def group_stamp(group: str, sign: str) -> str:
    """What stands after `group:`. The name is for people: its members choose it, and two groups may have the same."""
    name = slug_of(redact(group or GROUP).text)
    return f"{name}-{sign}" if sign else name
