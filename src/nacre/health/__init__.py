"""How well memory is kept: what it holds, what is wrong with that, which command mends it, and what fades next."""

from __future__ import annotations

from nacre.health.checkup import Health, report

__all__ = ["Health", "report"]
