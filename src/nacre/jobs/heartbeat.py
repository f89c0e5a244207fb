"""The light look every half hour: what expired goes, a lock that the dead hold is freed, what is nominated is told."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.errors import NacreError
from nacre.vault.lock import Flock, hold, system_flock
from nacre.words import say

if TYPE_CHECKING:
    from nacre.jobs.journal import Result
    from nacre.jobs.works import Outcome
    from nacre.memory import Memory

_LOCKS = ("lock", "sync.lock", "flush.lock")


@dataclass(frozen=True)
class Looked:
    """What a look found: cached sessions that expired, locks that were freed, checkpoints newly nominated, jobs that fail, what stops one."""

    expired: int = 0
    freed: int = 0
    nominated: int = 0
    failing: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()


def heartbeat(memory: Memory, dry_run: bool) -> Outcome:
    """Look, and set right what costs nothing."""
    from nacre.jobs.works import Outcome

    found = Looked(
        _expire(memory, dry_run=dry_run),
        free(memory, dry_run=dry_run),
        _nominate(memory, dry_run=dry_run),
        _failing(memory),
        _stopped(memory),
    )
    told = [
        (found.expired, say("sessions expired", "过期会话缓存")),
        (found.freed, say("locks freed", "释放锁")),
        (found.nominated, say("nominated for promotion", "晋升候选")),
    ]
    parts = [f"{words} {count}" for count, words in told if count]
    if found.failing:
        parts.append(say("failing: ", "失败任务：") + say(", ", "、").join(found.failing))
    parts += [one.rstrip(".。") for one in found.stopped]
    if not parts:
        return Outcome("nothing", say("All is well.", "一切正常。"), (found,))
    sentence = say(", ", "，").join(parts) + say(".", "。")
    changed = found.expired or found.freed or found.nominated
    result: Result = "partly" if found.stopped else "done" if changed else "nothing"
    return Outcome(result, sentence[0].upper() + sentence[1:], (found,))


def _expire(memory: Memory, *, dry_run: bool) -> int:
    """Take away the caches of sessions that are over, by the clock of the machine: a pretended moment deletes nothing."""
    from nacre.vault.sessioncache import open_cache, sweep, values

    try:
        cache = open_cache("default", memory.config.cache, memory.clock)
        values(cache)  # refuses a folder that is somebody else's
    except NacreError:
        return 0
    return sweep(cache.folder, cache.max_age, dry_run=dry_run)


def free(memory: Memory, *, dry_run: bool, flock: Flock = system_flock) -> int:
    """Free the locks of dead processes, where the file system has no locks of its own; to take one is to notice."""
    freed = 0
    for name in _LOCKS:
        path = memory.workspace.machine / name
        stand_in = path.with_name(f"{name}.held")
        if dry_run or not stand_in.exists():
            continue
        with contextlib.suppress(NacreError), hold(path, timeout=0, flock=flock):
            pass
        freed += not stand_in.exists()
    return freed


def _nominate(memory: Memory, *, dry_run: bool) -> int:
    """Write the report of promotion when somebody is nominated whom it does not name yet."""
    from nacre.lifecycle.nominate import nominees
    from nacre.vault import atomic

    found, _ = nominees(memory.workspace, memory.clock, memory.config)
    if not found:
        return 0
    told = (atomic.read_bytes(memory.workspace.root / "promote_report.md") or b"").decode("utf-8", "replace")
    paths = [memory.workspace.relative(one.family.lead.path) for one in found]
    new = sum(f"\n## {path}\n" not in told for path in paths)
    if new and not dry_run:
        memory.promote()
    return new


def _stopped(memory: Memory) -> tuple[str, ...]:
    """Counts that cannot be read let every run go through, and organise nothing."""
    from nacre.vault.stopped import counts

    return tuple(one.message for one in counts(memory.workspace, memory.config))


def _failing(memory: Memory) -> tuple[str, ...]:
    from nacre.jobs.journal import read
    from nacre.jobs.schedule import NAMES

    known = read(memory.workspace)
    return tuple(name for name in NAMES if known.failures(name))
