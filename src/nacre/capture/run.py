"""A run of sync with everything it needs: where the agents are, what the settings leave out, who extracts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from nacre.brain.local.extract import extract
from nacre.brain.local.judge import Judge
from nacre.capture.forgotten import without_forgotten
from nacre.capture.sync import LONGEST, Progress, Setting, SyncReport, sync
from nacre.capture.untold import by_meaning
from nacre.clock import Clock, duration
from nacre.config import Config
from nacre.errors import BadInput
from nacre.model.bullet import Bullet
from nacre.model.session import Message
from nacre.sources.registry import sources
from nacre.sources.whose import belongs_to, places_of
from nacre.vault.workspace import Workspace
from nacre.words import say


def run(
    workspace: Workspace,
    config: Config,
    clock: Clock,
    judge: Callable[[], Judge],
    *,
    since: str | None = None,
    exclude: Sequence[str] = (),
    progress: Progress | None = None,
    dry_run: bool = False,
) -> SyncReport:
    """Capture what is new. The judge is made only when there is something to judge."""
    setting = setting_of(workspace, config, clock, judge, exclude=exclude)
    return sync(
        setting, since=moment_of(since, clock) if since is not None else None, progress=progress, dry_run=dry_run
    )


def setting_of(
    workspace: Workspace, config: Config, clock: Clock, judge: Callable[[], Judge], *, exclude: Sequence[str] = ()
) -> Setting:
    rules = config.sync

    def bullets(messages: Sequence[Message]) -> list[Bullet]:
        return extract(messages, judge(), least=min(rules.min_bullets, rules.max_bullets), most=rules.max_bullets)

    return Setting(
        workspace,
        config,
        clock,
        places_of(config),
        sources(),
        without_forgotten(workspace, bullets),
        exclude,
        belongs_to(workspace, config),
        by_meaning(judge),
    )


def moment_of(since: str, clock: Clock) -> dt.datetime:
    """What `--since` names: a length of time before now such as "4h", a day from its beginning, a moment, or all there is."""
    since = since.strip()
    if since.lower() == "all":
        return dt.datetime(1970, 1, 2, tzinfo=dt.UTC)
    try:
        if since[:1].isdigit() and since[-1:].isalpha() and "T" not in since:
            return clock.now() - min(duration(since), LONGEST)
        moment = clock.parse(since)
    except BadInput as trouble:
        raise BadInput(
            say(
                f'"{since}" says no time to look back to; write it as 4h, 7d, 2026-02-14 or "all".',
                f"“{since}”不是可回溯的时间；请写成 4h、7d、2026-02-14 或 all。",
            )
        ) from trouble
    is_day = len(since) <= len("2026-02-14")
    return moment.replace(hour=0, minute=0, second=0) if is_day else moment
