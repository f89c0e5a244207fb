"""What the tests of imports share: running one on a desk, and the files that other programs leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.capture.talks import Desk

from nacre.brain.local.judge import Judge
from nacre.capture.importing import import_
from nacre.capture.importing_exports import ImportReport


def bare_judge() -> Judge:
    return Judge(None)


def run(
    desk: Desk,
    what: str | Path,
    *,
    now: str | None = "2026-03-09",
    since: str | None = None,
    dry_run: bool = False,
    judge: Callable[[], Judge] = bare_judge,
    **more: Any,
) -> ImportReport:
    return import_(str(what), desk.setting(now).context, judge, since=since, dry_run=dry_run, **more)


def key() -> str:
    """A key of a vendor, as it may stand in a note; put together here so that nobody finds one in the tests."""
    return "sk-ant-" + "api03-" + "Zq8Kd73hfLs02mXwPv91bnTyRe45uGcJ" * 2
