"""The layers of memory by name: where a passage comes from."""

from __future__ import annotations

LAYERS = ("longterm", "daily", "weekly", "archive", "note", "hot", "warm", "gist", "forgotten", "extra", "session")
