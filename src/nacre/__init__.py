"""Memory for AI agents, laid down in layers."""

from __future__ import annotations

__version__ = "0.1.0"
