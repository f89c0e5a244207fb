"""Before a context is compacted the agent gets one silent turn to write down what lasts: when it is due, and what it is told."""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass, replace

from nacre.clock import Clock
from nacre.config import Config, FlushSettings
from nacre.errors import BadInput, CannotWrite, NacreError
from nacre.lifecycle import flushes
from nacre.lifecycle.flushcheck import hashes_of, keep
from nacre.lifecycle.flushes import Asked
from nacre.lifecycle.flushwords import Prompts, prompts
from nacre.text.language import language_of
from nacre.vault import atomic
from nacre.vault.history import last_id
from nacre.vault.workspace import Workspace
from nacre.words import language, say

TRIES = 2  # times that the prompts are handed out in one cycle
AGAIN = dt.timedelta(minutes=10)  # after which a turn that nobody reported on counts as lost
LEAST = 4  # the flush never begins before a fourth of the window is full
DUE, BELOW, DONE, WAITING = "due", "below", "done", "waiting"
DISABLED, READ_ONLY, GROUP, PAUSED = "disabled", "read-only", "group", "paused"


@dataclass(frozen=True)
class Flush:
    """Whether the turn is due; with the prompts and the log they name where it is, with the reason where it is not."""

    code: str
    reason: str
    threshold: int = 0
    path: str = ""
    prompts: Prompts | None = None
    tries: int = 0

    @property
    def due(self) -> bool:
        return self.code == DUE


def threshold(window: int, settings: FlushSettings) -> int:
    """From how many tokens on the turn is due: the window without its reserve and the soft threshold.

    A window that is hardly larger than these would be due from the first word on, or before it; there it is a fourth of the window.
    """
    return max(window - settings.reserve_tokens - settings.soft_threshold_tokens, window // LEAST)


def decide(tokens: int, limit: int, before: Asked | None, compactions: int | None, now: dt.datetime) -> str:
    """Whether a session with so many tokens is to be asked, by what is remembered of it.

    Handing the prompts out counts, so that nobody is asked in a loop; but a turn that was neither answered nor looked at within ten
    minutes may have died with its process, and is offered once more.
    """
    if tokens < limit:
        return BELOW
    if before is None or _is_over(before, compactions):
        return DUE
    if before.over or before.tries >= TRIES:
        return DONE
    return DUE if abs(now - before.at) >= AGAIN else WAITING


def _is_over(before: Asked, compactions: int | None) -> bool:
    """Whether the cycle is another one: by the count of compactions, where both times had one."""
    if compactions is not None and before.compactions is not None:
        return compactions != before.compactions
    return before.ended


def ask(
    workspace: Workspace,
    clock: Clock,
    config: Config,
    tokens: int,
    window: int,
    *,
    session: str,
    compactions: int | None = None,
    dry_run: bool = False,
) -> Flush:
    """Decide and, when the turn is due, hand the prompts out and remember that. A dry run remembers nothing."""
    if tokens < 0 or window < 1 or (compactions is not None and compactions < 0):
        raise BadInput(
            say("Tokens, window and compactions are counts; none is negative.", "token 数、窗口和压缩次数都不能为负。")
        )
    if kept := hindrance(workspace, clock, config):
        return kept
    limit, key, now = threshold(window, config.flush), flushes.key_of(session), clock.now()
    try:
        with flushes.held(workspace):
            known = flushes.load(workspace)
            before = known.get(key)
            code = decide(tokens, limit, before, compactions, now)
            after = _remembered(workspace, before, code, tokens, limit, compactions, now)
            if after != before and after is not None and not dry_run:
                flushes.save(workspace, {**known, key: after}, now)
                keep(workspace, after.files if code == DUE and config.history.enabled else {})
    except CannotWrite as trouble:
        return Flush(READ_ONLY, str(trouble), limit)
    if code != DUE:
        return Flush(code, _reason(code, tokens, limit), limit)
    assert after is not None
    path, told = handed_out(workspace, clock, config)
    reason = say(f"{tokens} tokens of {window}", f"{tokens} / {window} 个 token")
    return Flush(DUE, reason, limit, path, told, after.tries)


def _remembered(
    workspace: Workspace,
    before: Asked | None,
    code: str,
    tokens: int,
    limit: int,
    compactions: int | None,
    now: dt.datetime,
) -> Asked | None:
    if code == DUE:
        again = before is not None and not _is_over(before, compactions)
        tries, last = before.tries + 1 if before and again else 1, _last_operation(workspace)
        return Asked(now, tries, compactions, files=hashes_of(workspace), operation=last)
    if before is None:
        return None
    counted = before.compactions if before.compactions is not None else compactions
    # Where nobody counts compactions, a context of less than half the threshold has been compacted.
    return replace(before, compactions=counted, ended=before.ended or 2 * tokens < limit)


def _last_operation(workspace: Workspace) -> int:
    try:
        return last_id(workspace)
    except OSError:  # a history that cannot be read brings nothing back, and stops nothing
        return 0


def handed_out(workspace: Workspace, clock: Clock, config: Config) -> tuple[str, Prompts]:
    """The log of the day, and the prompts that name it."""
    path = workspace.relative(workspace.day(clock.today()))
    tongue = _language(workspace, clock, config)
    return path, prompts(path, tongue, system=config.flush.system_prompt, user=config.flush.prompt)


def _language(workspace: Workspace, clock: Clock, config: Config) -> str:
    """What the settings say; else the language of the last two days' logs, which is that of the talk."""
    if config.language in ("en", "zh"):
        return config.language
    for back in (0, 1):
        try:
            data = atomic.read_bytes(workspace.day(clock.today() - dt.timedelta(days=back)))
        except (NacreError, OverflowError):
            continue
        if data and (text := data[-20_000:].decode("utf-8", "ignore").strip()):
            return language_of(text)
    return language()


def hindrance(workspace: Workspace, clock: Clock, config: Config) -> Flush | None:
    """Why nothing is to be written down here at all; none when nothing stands in the way."""
    if not config.flush.enabled:
        return Flush(DISABLED, say("The flush is switched off (flush.enabled).", "压缩前记录已关闭（flush.enabled）。"))
    if _is_paused(workspace, clock):
        return Flush(
            PAUSED, say('Capturing is paused; "nacre resume" ends that.', "记录已暂停；可用“nacre resume”恢复。")
        )
    if not _is_writable(workspace, clock.today()):
        return Flush(
            READ_ONLY,
            say(
                f"{workspace.root} cannot be written here, so there is nothing to flush to.",
                f"{workspace.root} 在此处不可写，无处记录。",
            ),
        )
    return None


def _is_paused(workspace: Workspace, clock: Clock) -> bool:
    from nacre.sources.consent import paused_at, pauses

    return paused_at(pauses(workspace), clock.now()) is not None


def _is_writable(workspace: Workspace, day: dt.date) -> bool:
    """Whether the day's log, and what we remember, could be written: inside the workspace, as ordinary files."""
    root, log = workspace.root, workspace.day(day)
    if atomic.real(root) not in atomic.real(log).parents:
        return False
    if log.exists():
        good = log.is_file() and os.access(log, os.W_OK)
    else:
        folder = workspace.memory if os.path.lexists(workspace.memory) else root
        good = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    machine = workspace.machine if workspace.machine.exists() else root
    return good and os.access(machine, os.W_OK | os.X_OK)


def _reason(code: str, tokens: int, limit: int) -> str:
    return {
        BELOW: say(
            f"{tokens} tokens; the flush begins at {limit}.", f"{tokens} 个 token；达到 {limit} 时才进行压缩前记录。"
        ),
        DONE: say("This compaction cycle has had its flush.", "本压缩周期已经记录过。"),
        WAITING: say("The prompts have been handed out; the turn is under way.", "提示词已发出；本轮正在进行。"),
    }[code]
